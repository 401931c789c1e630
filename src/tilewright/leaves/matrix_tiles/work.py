"""Work of a micro kernel on a contraction: arithmetic with edges in rows and columns, and calls.

A short tile costs what its busiest port takes per step of the reduction: fused multiply-adds (rows * vectors over units), loads
(one vector of B per column vector, two where it lies on two cache lines, one broadcast of A per row), or the latency of one
accumulator chain. All calls for a tile but the first load C, too, which nothing overlaps; those for points of other sums than the
depth, where a call does not take all of them, are so many that storing it counts as well. Instructions that take several rows
take as long for fewer. Where lanes run along the depth, a step is one vector of it: a load for every row and one for B, and at
the end rows are folded.

Kernels that take several steps at once read them as one number of the left operand. Where these do not lie side by side, each is
loaded by itself, and they are put together in other registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tilewright.arrays import Count, Pieces, Quantity, maximum, minimum, pieces
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.strides import has_windows, is_contiguous
from tilewright.graph.types import Access, AxisKind, Operator
from tilewright.kernels.contract import DEPTH, MicroKernel
from tilewright.leaves.declaration import CostProblem, KernelWork
from tilewright.machine.machine import Machine
from tilewright.records import record

FOLD_CYCLES = 40
"""End of a tile whose lanes run along the depth: 15 stages of two shuffles and an addition for 16 rows."""
STORE_CYCLES = 0.65
"""Of a vector of C that a call stores for the next one. A call for each row of taps more took 33 and 35 cycles in all (Zen 4, 512
bits, 19 and 20 vectors of C: 3x3 by two of 3 channels, 7x7 by two)."""
GATHER_CYCLES = 2.0
"""For each step of a row whose group of steps is put together. Images whose channels are planes (32 channels of 112 x 112 to 16,
96 and 144 of 56 x 56 to 24) took 0.42, 0.49 and 0.73 ms on Zen 3 (5x16, 16 bits); with neighbouring steps the price is 0.13 to
0.19."""


@record
class Cut:
    """The extent of an axis, or of several together, and the blocks that it is cut into."""

    size: Count
    tile: Count

    def pieces(self, step: Count) -> Pieces:
        """See `pieces`."""
        return pieces(self.size, self.tile, step)

    def blocks(self) -> Count:
        """How many blocks there are."""
        return -(-self.size // maximum(self.tile, 1))

    def is_plain(self) -> bool:
        """Whether both are plain values."""
        return isinstance(self.size, int) and isinstance(self.tile, int)


POINT = Cut(1, 1)
"""An axis that a contraction lacks."""


@record
class Extents:
    """All that the work of a micro kernel on a contraction follows from, besides the kernel."""

    rows: Cut | None
    columns: Cut | None
    depth: Cut | None
    outer: Count
    """Points of all other axes, but those of sums."""
    sums: Count = 1
    """Points of the reduction axes around the depth."""
    at_once: bool = False
    """Whether a call sums over these, too."""
    crossing: float = 0.0
    """See `crossing_share`."""
    has_unit_left: bool = True
    """Whether neighbours along the depth lie side by side in the left operand; in the right one."""
    has_unit_right: bool = True
    gathers: bool = False
    """Whether steps that a kernel takes at once are put together from places that lie apart in the left operand."""

    def is_plain(self) -> bool:
        """Whether all of them are plain values."""
        return (
            isinstance(self.outer, int)
            and isinstance(self.sums, int)
            and all(cut is None or cut.is_plain() for cut in (self.rows, self.columns, self.depth))
        )


def kernel_work(binding: LeafBinding, problem: CostProblem) -> KernelWork:
    """Seconds and calls for one full pass over the contraction when its axes are cut into these tiles (arrays allowed)."""
    assert binding.tile is not None
    assert problem.kernel is not None
    operator, roles, kernel, machine = problem.operator, binding.tile.roles, problem.kernel, problem.machine
    sizes, tiles = problem.sizes, problem.tiles
    rows, columns, depth = (Cut(sizes[axis], tiles[axis]) if axis else None for axis in (roles.row, roles.column, roles.depth))
    outer, sums = _points_around(operator, roles, sizes)
    left, right = operator.reads[roles.left], operator.reads[roles.right]
    if kernel.lanes_along == DEPTH:
        has_unit = (is_contiguous(access, roles.depth, sizes) for access in (left, right))
        extents = Extents(rows, columns, depth, outer * sums, 1, False, 0.0, *has_unit)
    else:
        crossing = crossing_share(right, roles.column, kernel, machine, sizes)
        gathers = kernel.interleave > 1 and not is_contiguous(left, roles.depth, sizes)
        extents = Extents(rows, columns, depth, outer, sums, problem.sums_at_once, crossing, gathers=gathers)
    return (_work_of_one if extents.is_plain() else _work)(kernel, machine, extents)


def _points_around(operator: Operator, roles: ContractionRoles, sizes: Mapping[str, Count]) -> tuple[Count, Count]:
    """Points of all axes but rows, columns and depth: of those that are not summed over, and of those that are."""
    outer: Count = 1
    sums: Count = 1
    for axis in roles.outer:
        if operator.axis(axis).kind is AxisKind.REDUCTION:
            sums = sums * sizes[axis]
        else:
            outer = outer * sizes[axis]
    return outer, sums


@lru_cache(maxsize=4096)
def _work_of_one(kernel: MicroKernel, machine: Machine, extents: Extents) -> KernelWork:
    """As `_work`, of plain values: layers of a network ask for the same again and again."""
    return _work(kernel, machine, extents)


def _work(kernel: MicroKernel, machine: Machine, extents: Extents) -> KernelWork:
    if kernel.lanes_along == DEPTH:
        return (_inner_work if kernel.right_by_columns else _dot_work)(kernel, machine, extents)
    chain_cycles = machine.fma_latency_cycles if kernel.chain_cycles is None else kernel.chain_cycles
    full = _step_cycles(machine, kernel.rows, kernel.columns // kernel.lanes, chain_cycles)
    steps: Quantity = 0
    calls: Quantity = 0
    added: Count = 0
    collected: Count = 0
    for column_count, columns in (extents.columns or POINT).pieces(kernel.columns if extents.columns else 1):
        vectors = maximum(-(-columns // kernel.lanes), 1)
        for row_count, rows in (extents.rows or POINT).pieces(_rows_for(kernel, vectors) if extents.rows else 1):
            count = row_count * column_count
            whole = -(-rows // kernel.rows_per_instruction) * kernel.rows_per_instruction
            steps = steps + count * _step_cycles(machine, whole, vectors, chain_cycles, extents.crossing) / full
            calls = calls + count
            added = added + count * rows * vectors
            collected = collected + count * rows
    depth, blocks = (extents.depth.size, extents.depth.blocks()) if extents.depth else (1, 1)
    apart = 1 if extents.at_once else extents.sums
    step_seconds = 2 * kernel.rows * kernel.columns / kernel.attainable(machine)
    again = (blocks * apart - 1) / machine.loads_per_cycle + blocks * (apart - 1) * STORE_CYCLES
    again_s = added * (again / machine.frequency_hz)
    depth, calls = depth * extents.sums, calls * blocks * apart
    calling_s = calls * (kernel.call_cycles / machine.frequency_hz)
    gathering_s = collected * (depth * (GATHER_CYCLES / machine.frequency_hz)) if extents.gathers else 0.0
    return KernelWork((steps * depth * step_seconds + again_s + calling_s + gathering_s) * extents.outer, calls * extents.outer)


def crossing_share(
    access: Access, column: str | None, kernel: MicroKernel, machine: Machine, sizes: Mapping[str, Count]
) -> float:
    """The share of vectors of a right operand that lie on two cache lines: windows over its columns begin anywhere in a line.

    All other operands are taken to begin at lines.
    """
    return kernel.vector_bits / (8 * machine.levels[0].line_bytes) if has_windows(access, column, sizes) else 0.0


def _rows_for(kernel: MicroKernel, vectors: Count) -> Count:
    """`MicroKernel.rows_for`, of so many vectors."""
    return kernel.rows * (kernel.columns // kernel.lanes) // vectors if kernel.shares_accumulators else kernel.rows


def _dot_work(kernel: MicroKernel, machine: Machine, extents: Extents) -> KernelWork:
    """As `kernel_work`, where lanes run along the depth: every column is a tile of its own.

    Strided operands are gathered: a load and an insertion for each element.
    """
    vectors, blocks = _vectors_along_depth(kernel, extents)
    slower = 1 if extents.has_unit_left and extents.has_unit_right else 2 * kernel.lanes
    outer = extents.outer * extents.columns.size if extents.columns else extents.outer
    cycles: Quantity = 0
    calls: Quantity = 0
    for number, rows in (extents.rows or POINT).pieces(kernel.rows if extents.rows else 1):
        step = _step_cycles(machine, rows, 1, machine.fma_latency_cycles) * slower
        cycles = cycles + number * (vectors * step + blocks * FOLD_CYCLES)
        calls = calls + number
    return KernelWork(cycles * (outer / machine.frequency_hz), calls * blocks * outer)


def _inner_work(kernel: MicroKernel, machine: Machine, extents: Extents) -> KernelWork:
    """As `kernel_work`, of a kernel whose lanes run along the depth of several columns: sums are folded row by row.

    Rows of A that are not contiguous are gathered, for every group of columns anew.
    """
    gathering = 1 if extents.has_unit_left else 2 * kernel.lanes
    vectors, blocks = _vectors_along_depth(kernel, extents)
    columns = (extents.columns or POINT).pieces(kernel.columns if extents.columns else 1)
    column_tiles = sum(number * minimum(length, 1) for number, length in columns)
    full = _inner_step_cycles(kernel, machine, kernel.rows, 1)
    step_seconds = 2 * kernel.rows * kernel.columns * kernel.lanes / kernel.attainable(machine)
    seconds: Quantity = 0
    calls: Quantity = 0
    for number, rows in (extents.rows or POINT).pieces(kernel.rows if extents.rows else 1):
        steps = vectors * (_inner_step_cycles(kernel, machine, rows, gathering) / full)
        seconds = seconds + number * (steps * step_seconds + blocks * rows * (FOLD_CYCLES / machine.frequency_hz))
        calls = calls + number
    every = column_tiles * extents.outer
    return KernelWork(seconds * every, calls * blocks * every)


def _inner_step_cycles(kernel: MicroKernel, machine: Machine, rows: Count, gathering: int) -> Quantity:
    """Cycles of a vector of the depth at the machine's peak: all columns for so many rows, which are loaded for every group."""
    loads = kernel.columns + rows * kernel.rows * gathering
    return maximum(rows * kernel.columns / machine.fma_per_cycle, loads / machine.loads_per_cycle)


def _vectors_along_depth(kernel: MicroKernel, extents: Extents) -> tuple[Count, Count]:
    """Vectors of a row of A, and blocks of the depth."""
    depths = (extents.depth or POINT).pieces(kernel.lanes if extents.depth else 1)
    vectors: Count = sum(number * -(-length // kernel.lanes) for number, length in depths)
    return vectors, extents.depth.blocks() if extents.depth else 1


def _step_cycles(machine: Machine, rows: Count, vectors: Count, chain_cycles: int, crossing: float = 0.0) -> Quantity:
    """Cycles of a step of the reduction, at least those between two sums.

    `crossing` is the share of vectors of B that take two loads.
    """
    arithmetic: Quantity = rows * vectors / machine.fma_per_cycle
    loads: Quantity = (rows + vectors * (1 + crossing)) / machine.loads_per_cycle
    return maximum(maximum(arithmetic, loads), float(chain_cycles))
