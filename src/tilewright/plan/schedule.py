"""Schedules: trees of loops with operators at their leaves, and what becomes of each intermediate.

A loop cuts the range of its axis that is current where it stands into blocks of `tile`; the last block may be shorter. A leaf
works on the box of current ranges: axes without a loop above it have their whole extent. Loops may nest on one axis (one per
memory level). The paper's loop permutations (Chimera, section IV-B) are trees whose leaves carry conditions: the producer runs
at the first block of loops that only consumers have, the consumer at the last block of loops that only producers have.

The space that is searched has ordered outer loops around all operators, and under them a nest for each (`fused_schedule`). It
contains the movement of every executable permutation of one nest, and generalises to any number of operators."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import groupby
from typing import TypeAlias

from tilewright.graph.types import Chain, SymbolicExtent, planned_extent
from tilewright.plan.chains import AxisName, OperatorName, TensorName, derived_once, equal_axes
from tilewright.plan.layout import Layout
from tilewright.records import record


class Trip(Enum):
    """A block at one end of an axis: it starts at 0 (first), or it ends at the extent (last)."""

    FIRST = "first"
    LAST = "last"


@record
class When:
    """The condition that the current block of `axis` is the first or the last."""

    axis: AxisName
    trip: Trip


@record
class Compute:
    """Run an operator on the current box, if all conditions hold."""

    operator: OperatorName
    when: tuple[When, ...] = ()


@record
class Pack:
    """Copy what read number `read` of `operator` needs in the current box into a packed buffer.

    Axes without a loop above are copied in full, so a Pack high in the tree copies once for many leaves below it. The layout is
    that of the operand as a matrix (rows x depth on the left, depth x columns on the right); what it fills up is zero.
    """

    operator: OperatorName
    read: int
    layout: Layout


@record
class Loop:
    """Blocks of `tile` along `axis`, in increasing order."""

    axis: AxisName
    tile: int
    body: tuple[Node, ...]


Node: TypeAlias = Loop | Compute | Pack


@record
class FusedGroup:
    """Consecutive operators, by name, that share loops over some axes inside the loops that all operators share."""

    operators: tuple[str, ...]
    axes: tuple[str, ...]
    """Of its loops, outermost first."""


def fused_group_of(fused_groups: Sequence[FusedGroup], operator: str) -> FusedGroup | None:
    """The fused group that an operator is in, if it is in one."""
    return next((fused_group for fused_group in fused_groups if operator in fused_group.operators), None)


class Storage(Enum):
    """What becomes of an intermediate: kept until all consumers are done, recomputed for each of them, or line-buffered
    through a circular buffer along one axis."""

    KEEP = "keep"
    RECOMPUTE = "recompute"
    LINE_BUFFER = "line buffer"


@record
class Schedule:
    """A tree of loops, with the storage decision of every intermediate tensor by name.

    With `split`, the outermost loop runs over that axis, which the last operator reduces: its blocks are parts that know
    nothing of each other, and what they make of the output is combined when all are done. How many parts there are follows
    from the tile of the loop.
    """

    body: tuple[Node, ...]
    storage: tuple[tuple[TensorName, Storage], ...] = ()
    split: AxisName = ""
    ahead: tuple[Pack, ...] = ()
    """Constants, each packed as a whole when the kernel is loaded: no call does it."""
    found: dict[str, tuple[tuple[Loop, ...], Compute]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By operator its Compute leaf and the loops around it, once they were asked for."""

    def storage_of(self, tensor: str) -> Storage:
        """The decision for a tensor; KEEP unless said otherwise."""
        return next((storage for name, storage in self.storage if name == tensor), Storage.KEEP)

    def leaves(self) -> Iterator[tuple[tuple[Loop, ...], Compute | Pack]]:
        """Every leaf in execution order with the loops around it, outermost first."""
        yield from _leaves((), self.body)

    def conditions(self, operator: str) -> dict[str, Trip]:
        """By axis, at which block of a loop an operator runs; axes that are not there: at every block."""
        return {when.axis: when.trip for when in self._place(operator)[1].when}

    def path(self, operator: str) -> tuple[Loop, ...]:
        """The loops around an operator's Compute leaf, outermost first."""
        return self._place(operator)[0]

    def _place(self, operator: str) -> tuple[tuple[Loop, ...], Compute]:
        if not self.found:
            leaves = reversed(tuple(self.leaves()))
            self.found.update({leaf.operator: (loops, leaf) for loops, leaf in leaves if isinstance(leaf, Compute)})
        return self.found[operator]


def _leaves(loops: tuple[Loop, ...], body: tuple[Node, ...]) -> Iterator[tuple[tuple[Loop, ...], Compute | Pack]]:
    for node in body:
        if isinstance(node, Loop):
            yield from _leaves((*loops, node), node.body)
        else:
            yield loops, node


def common_path(first: tuple[Loop, ...], second: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops that two leaves share, outermost first (the same nodes, not merely equal ones, up to position)."""
    shared = []
    for left, right in zip(first, second, strict=False):
        if left is not right:
            break
        shared.append(left)
    return tuple(shared)


@derived_once
def planned_sizes(chain: Chain) -> dict[str, int]:
    """The size of every axis to plan with: its extent, or the hint of a symbolic one; empty axes count as one point."""
    return {axis: max(planned_extent(extent), 1) for axis, extent in chain.extents.items()}


@derived_once
def largest_sizes(chain: Chain) -> dict[str, int]:
    """The largest size that every axis can have at run time."""
    return {axis: extent.high if isinstance(extent, SymbolicExtent) else extent for axis, extent in chain.extents.items()}


def trip_counts(path: tuple[Loop, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The largest number of trips of every loop of a path; a loop inside another on the same axis cuts a block of it.

    >>> inner = Loop("m", 4, ())
    >>> trip_counts((Loop("m", 10, (inner,)), inner), {"m": 25})
    (3, 3)
    """
    current = dict(sizes)
    trips = []
    for loop in path:
        trips.append(-(-current[loop.axis] // loop.tile))
        current[loop.axis] = min(current[loop.axis], loop.tile)
    return tuple(trips)


def cutting(chain: Chain, path: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops of a path that can have more than one trip."""
    trips = trip_counts(path, largest_sizes(chain))
    return tuple(loop for loop, count in zip(path, trips, strict=True) if count > 1)


def box_sizes(path: tuple[Loop, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """The size of the largest block of every axis at the end of a path."""
    current = dict(sizes)
    for loop in path:
        current[loop.axis] = min(current[loop.axis], loop.tile)
    return current


def fused_schedule(
    chain: Chain,
    outer_loops: Sequence[str],
    inner_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, int],
    inner_tiles: Mapping[str, Mapping[str, int]] | None = None,
    line_buffered: Collection[str] = (),
    fused_groups: Sequence[FusedGroup] = (),
) -> Schedule:
    """Outer loops around everything, then for every operator the nest of its inner loop order (none if not named).

    The operators of a partially fused group stand together in its loops.

    Intermediates whose producer lacks a of the outer loops are recomputed, or line-buffered along the innermost loop, and so is
    all that they are computed from. `inner_tiles` overrides `tiles` for the inner loops of an operator.
    """
    inner = inner_tiles or {}
    body: list[Node] = []
    for fused_group, members in groupby((op.name for op in chain.operators), lambda name: fused_group_of(fused_groups, name)):
        nests = [nest(_tiled(inner_orders.get(name, ()), {**tiles, **inner.get(name, {})}), (Compute(name),)) for name in members]
        body += nest(_tiled(fused_group.axes if fused_group else (), tiles), tuple(node for nodes in nests for node in nodes))
    storage = storage_below(chain, outer_loops, line_buffered)
    return Schedule(nest(_tiled(outer_loops, tiles), tuple(body)), tuple(storage.items()))


def storage_below(chain: Chain, outer_loops: Sequence[str], line_buffered: Collection[str] = ()) -> dict[str, Storage]:
    """What an order of outer loops makes of every intermediate: kept if producer and consumers walk alike along all loops, else
    recomputed or, where it is named in `line_buffered`, line-buffered."""
    return {tensor: _storage_below(chain, outer_loops, tensor, line_buffered) for tensor in chain.intermediates}


def _storage_below(chain: Chain, outer_loops: Sequence[str], tensor: str, line_buffered: Collection[str]) -> Storage:
    if set(outer_loops) <= equal_axes(chain, tensor):
        return Storage.KEEP
    return Storage.LINE_BUFFER if tensor in line_buffered else Storage.RECOMPUTE


def nest(loops: Sequence[tuple[str, int]], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Loops (axis, tile), outermost first, around a body."""
    for axis, tile in reversed(loops):
        body = (Loop(axis, tile, body),)
    return body


def _tiled(order: Sequence[str], tiles: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(axis, tiles[axis]) for axis in order]
