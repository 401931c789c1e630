"""Convolution Slicing Analysis: tile sets of channels, windows and filters for three caches, and which operand stays in L1.

V. Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023 (SConv), section
4.1. A tile of the image holds W whole windows of N_c channels, a tile of filters N_f whole filters; both have as many taps. Five
loops visit all pairs: channel sets; sets of K3 stationary tiles, which stay in L3; sets of K2 streamed tiles, which stay in L2;
the stationary tiles of a set, each of which stays in L1; the streamed tiles of a set. Input-stationary, tiles of the image stay;
weight-stationary, tiles of filters do. With S and T for the stationary and the streamed tiles, O for the tile of outputs, sizes
in bytes, and a1 to a3 for the share of each cache that tiles may take:

    1      |I| = W taps N_c s        |F| = N_f taps N_c s        |O| = W N_f s
    2      the largest N_c <= C with |I| + |F| + |O| <= a1 L1
    3      n_I = ceil(HO WO / W)     n_F = ceil(F / N_f)         n_cs = ceil(C / N_c)
    4      the largest K2 <= n_T with |S| + K2 (|T| + |O|) <= a2 L2
    5      the largest K3 <= n_S with K3 |S| + K2 |T| + K2 K3 |O| <= a3 L3
    6      cost = c2 A2 + c3 A3 + cm Am, cycles
    7, 8   Am = cold + extra         cold = n_cs ceil((n_I |I| + n_F |F|) / line)
    9-11   extra = n_cs min(ceil(n_T / K2) - 1, 1) (ceil(n_S / K3) - 1) ceil(n_T |T| / line)
    12,13  A3 = n_cs (ceil(n_T / K2) - 1) ceil(n_S |S| / line)
    14     A2 = n_cs (n_S - 1) ceil(n_T |T| / line)

A2 counts every load of a streamed tile but the first, those of `extra` among them: what comes from memory passes through L2.
Three corrections are ours. Channel sets are balanced: each has ceil(C / n_cs) channels, so that none is nearly empty. `reloads`
are counted: with n_cs > 1 every output comes back n_cs - 1 times, from the nearest cache behind L1 that holds all that is touched
in between (the paper leaves them out, as both orders have them alike; they do decide how many channels a set is worth). And
`exact_slicing` tries every N_c and K2, where the paper halves each from its largest value until it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from tilewright.errors import PlanningError
from tilewright.machine.machine import Machine
from tilewright.records import record


class Stationary(StrEnum):
    """The operand whose tile stays in L1 while tiles of the other operand stream past."""

    INPUT = "input-stationary"
    WEIGHT = "weight-stationary"


@record
class ConvolutionSizes:
    """A convolution of one group and one image, in elements: all outputs of a filter, filters, channels, taps of a window."""

    windows: int
    filters: int
    channels: int
    taps: int
    element_bytes: int = 4


@record
class SlicingMachine:
    """What the analysis knows of a machine. Triples are of L1, L2, L3 (capacities) and of L2, L3 and what is behind (cycles)."""

    capacities_bytes: tuple[float, float, float]
    """Of each cache the share that tiles may take: a1 L1, a2 L2, a3 L3."""
    cycles_per_line: tuple[float, float, float]
    """What an access costs that L2, L3 or the level behind serves: c2, c3, cm."""
    tile_windows: int
    """W, of the micro kernel."""
    tile_filters: int
    """N_f, of the micro kernel."""
    line_bytes: int = 64

    @classmethod
    def of(cls, machine: Machine, tile_windows: int, tile_filters: int, share: float | None = None) -> SlicingMachine:
        """A machine's nearest three caches, and the cycles that its bandwidths take for a line.

        Tiles take `share` of each cache (default: what the planner takes to be usable).

        Raises `PlanningError` for machines with fewer caches.
        """
        caches, behind = machine.levels[:3], machine.levels[1:4]
        if len(behind) < 3:
            raise PlanningError(
                f"convolution slicing needs three caches, and {machine.name} has {len(machine.levels) - 1}",
                hint="name a machine with an L3 as the target",
            )
        sizes = [cache.usable_bytes if share is None else share * cache.size_bytes for cache in caches]
        line = caches[0].line_bytes
        cycles = [line * machine.frequency_hz / level.bandwidth_bytes_per_s for level in behind]
        return cls((sizes[0], sizes[1], sizes[2]), (cycles[0], cycles[1], cycles[2]), tile_windows, tile_filters, line)


@record
class Tiles:
    """The tiles of an operand: how many, and the bytes of one with the channels of a set."""

    count: int
    size_bytes: int

    @property
    def total_bytes(self) -> int:
        """Of all of them."""
        return self.count * self.size_bytes


@record
class Slicing:
    """Tile sets of one order of the loops, and the figures of Equations 1 to 14. Tiles are counted, accesses are lines."""

    sizes: ConvolutionSizes
    machine: SlicingMachine
    stationary: Stationary
    channels: int
    """N_c, of a channel set."""
    streamed_in_l2: int = 1
    """K2."""
    stationary_in_l3: int = 1
    """K3."""
    counts_reloads: bool = False
    """Whether the cost has the reloads of outputs."""

    @property
    def channel_sets(self) -> int:
        """n_cs."""
        return -(-self.sizes.channels // self.channels)

    @property
    def image(self) -> Tiles:
        """The tiles of the input, Equations 1 and 3."""
        return self._tiles(self.sizes.windows, self.machine.tile_windows)

    @property
    def filters(self) -> Tiles:
        """The tiles of the filters, Equations 1 and 3."""
        return self._tiles(self.sizes.filters, self.machine.tile_filters)

    @property
    def stays(self) -> Tiles:
        """The stationary tiles."""
        return self.image if self.stationary is Stationary.INPUT else self.filters

    @property
    def streams(self) -> Tiles:
        """The streamed tiles."""
        return self.filters if self.stationary is Stationary.INPUT else self.image

    @property
    def output_tile_bytes(self) -> int:
        """|O|."""
        return self.machine.tile_windows * self.machine.tile_filters * self.sizes.element_bytes

    def most_in_l2(self) -> int:
        """Equation 4, the largest K2; at least 1, as L1 holds one tile of each."""
        room = self.machine.capacities_bytes[1] - self.stays.size_bytes
        return max(min(int(room // (self.streams.size_bytes + self.output_tile_bytes)), self.streams.count), 1)

    def most_in_l3(self) -> int:
        """Equation 5, the largest K3; at least 1."""
        streamed = self.streamed_in_l2
        room = self.machine.capacities_bytes[2] - streamed * self.streams.size_bytes
        most = int(room // (self.stays.size_bytes + streamed * self.output_tile_bytes))
        return max(min(most, self.stays.count), 1)

    @property
    def l2_accesses(self) -> int:
        """A2, Equation 14."""
        return self.channel_sets * (self.stays.count - 1) * self._lines(self.streams.total_bytes)

    @property
    def l3_accesses(self) -> int:
        """A3, Equations 12 and 13."""
        return self.channel_sets * (self._streamed_sets - 1) * self._lines(self.stays.total_bytes)

    @property
    def cold_accesses(self) -> int:
        """Equations 7 and 8."""
        return self.channel_sets * self._lines(self.image.total_bytes + self.filters.total_bytes)

    @property
    def extra_accesses(self) -> int:
        """Equations 9 to 11."""
        stationary_sets = -(-self.stays.count // self.stationary_in_l3)
        lines = self._lines(self.streams.total_bytes)
        return self.channel_sets * min(self._streamed_sets - 1, 1) * (stationary_sets - 1) * lines

    @property
    def memory_accesses(self) -> int:
        """Am, lines that the paper's tiles bring from memory; outputs are not among them."""
        return self.cold_accesses + self.extra_accesses

    @property
    def reloads(self) -> tuple[int, int, int]:
        """Accesses of outputs that come back for another channel set, which L2, L3 and memory serve.

        Between two visits of an output, all tiles of a channel set and all outputs pass by.
        """
        output_bytes = self.sizes.windows * self.sizes.filters * self.sizes.element_bytes
        lines = (self.channel_sets - 1) * self._lines(output_bytes)
        _, l2, l3 = self.machine.capacities_bytes
        touched = self.image.total_bytes + self.filters.total_bytes + output_bytes
        return (lines, 0, 0) if touched <= l2 else (0, lines, 0) if touched <= l3 else (0, 0, lines)

    @property
    def cost_cycles(self) -> float:
        """Equation 6."""
        served = self.l2_accesses, self.l3_accesses, self.memory_accesses
        reloads = self.reloads if self.counts_reloads else (0, 0, 0)
        counted = map(sum, zip(served, reloads, strict=True))
        return sum(cycles * lines for cycles, lines in zip(self.machine.cycles_per_line, counted, strict=True))

    @property
    def _streamed_sets(self) -> int:
        return -(-self.streams.count // self.streamed_in_l2)

    def _tiles(self, total: int, of_tile: int) -> Tiles:
        return Tiles(-(-total // of_tile), of_tile * self.sizes.taps * self.channels * self.sizes.element_bytes)

    def _lines(self, size_bytes: int) -> int:
        return -(-size_bytes // self.machine.line_bytes)


def balanced(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary, most_channels: int) -> Slicing:
    """As few channel sets as `most_channels` allow, and as many channels in each as in the others; one tile in L2 and L3."""
    return Slicing(sizes, machine, stationary, -(-sizes.channels // -(-sizes.channels // most_channels)))


def exact_slicing(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary) -> Slicing:
    """The least cost of one order over all channel sets and all K2; of equal costs the fewest sets and the largest K2.

    More stationary tiles in L3 never cost anything, so that K3 is the largest that fits. Raises `PlanningError` where not even
    one channel fits.
    """
    return min(_all(sizes, machine, stationary), key=lambda slicing: slicing.cost_cycles)


def halved_slicing(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary) -> Slicing:
    """The paper's heuristic: N_c, K2 and K3 in turn, each halved from its largest value until it fits; no reloads counted.

    Raises `PlanningError` where not even one channel fits.
    """
    found = balanced(sizes, machine, stationary, _halved(sizes.channels, largest_channels(sizes, machine)))
    found = replace(found, streamed_in_l2=_halved(found.streams.count, found.most_in_l2()))
    return replace(found, stationary_in_l3=_halved(found.stays.count, found.most_in_l3()))


def largest_channels(sizes: ConvolutionSizes, machine: SlicingMachine) -> int:
    """Equation 2: the most channels of which a tile of windows, of filters and of outputs fit L1 together."""
    outputs = machine.tile_windows * machine.tile_filters * sizes.element_bytes
    channel = (machine.tile_windows + machine.tile_filters) * sizes.taps * sizes.element_bytes
    most = int((machine.capacities_bytes[0] - outputs) // channel)
    if most < 1:
        tile = f"{machine.tile_windows} windows and {machine.tile_filters} filters of {sizes.taps} taps"
        raise PlanningError(
            f"not even one channel of {tile} fits L1",
            why=f"tiles may take {machine.capacities_bytes[0]:.0f} bytes of it",
            hint="use a smaller micro kernel",
        )
    return min(most, sizes.channels)


def _all(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary) -> Iterator[Slicing]:
    fewest = -(-sizes.channels // largest_channels(sizes, machine))
    for channels in _block_sizes(sizes.channels, fewest):
        found = Slicing(sizes, machine, stationary, channels, counts_reloads=True)
        for in_l2 in _block_sizes(found.streams.count, -(-found.streams.count // found.most_in_l2())):
            sliced = replace(found, streamed_in_l2=in_l2)
            yield replace(sliced, stationary_in_l3=sliced.most_in_l3())


def _block_sizes(total: int, fewest: int) -> Iterable[int]:
    """For every number of blocks from `fewest` on the smallest block that gives it, largest blocks first."""
    return dict.fromkeys(-(-total // blocks) for blocks in range(fewest, total + 1))


def _halved(largest: int, most: int) -> int:
    """The first number that is no more than `most` of the largest, half of it, and so on."""
    while largest > most:
        largest //= 2
    return largest
