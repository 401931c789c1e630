"""Loop views: for every operator of a schedule the loops around it with their trip counts.

The same formulas serve a schedule tree (integers) and a whole family of schedules that differ in their tiles (NumPy arrays
that broadcast against each other), so that a search evaluates thousands of tile choices at once.

Parallel loops are the outermost ones with independent blocks, which are distributed over threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import takewhile
from math import prod

import numpy as np

from tilewright.arrays import Count, expanded, minimum, product
from tilewright.graph.types import AxisKind, Chain, Operator
from tilewright.plan.chains import derived_once
from tilewright.plan.regions.required_regions import (
    Place,
    Region,
    RegionAxes,
    SharedLoop,
    line_buffered_elements,
    region_axes_of,
    required_regions,
    schedule_region_axes,
    shared_loops,
)
from tilewright.plan.schedule import (
    Compute,
    FusedGroup,
    Loop,
    Node,
    Pack,
    Schedule,
    Storage,
    Trip,
    box_sizes,
    fused_group_of,
    planned_sizes,
    trip_counts,
)
from tilewright.records import record


@record
class LoopView:
    """One loop around an operator. Loops with equal `node` are the same loop, shared between operators.

    For an operator that computes required regions of its consumers along an axis of its own, that is the axis of the loop.
    """

    axis: str
    trips: Count
    node: int


@record
class OperatorView:
    """An operator, the loops around it (outermost first), the conditions of its leaf, and the tile of every axis."""

    operator: Operator
    loops: tuple[LoopView, ...]
    conditions: Mapping[str, Trip]
    tiles: Mapping[str, Count]
    regions: Mapping[str, Region] = field(default_factory=dict)
    """Of the axes along which the operator computes required regions of its consumers (see `required_regions`)."""
    line_buffered: Count = 0
    """Elements of its line-buffered result that are moved to the front of the buffer, in all."""

    def computed_sizes(self, sizes: Mapping[str, Count]) -> Mapping[str, Count]:
        """The points along every axis that all blocks have together: the sizes, but where blocks overlap."""
        return {**sizes, **{axis: region.total for axis, region in self.regions.items()}} if self.regions else sizes

    def largest(self) -> Mapping[str, Count]:
        """The tiles of the largest block: the first one, where a result has a circular line buffer."""
        return {**self.tiles, **{axis: region.largest for axis, region in self.regions.items()}} if self.regions else self.tiles

    def running(self) -> tuple[LoopView, ...]:
        """The loops at whose every block the operator runs; at the others it runs for one block only."""
        if not self.conditions:
            return self.loops
        return tuple(loop for loop in self.loops if loop.axis not in self.conditions)

    def each(self, change: Callable[[Count], Count]) -> OperatorView:
        """The same view with all figures changed alike."""
        loops = tuple(LoopView(loop.axis, change(loop.trips), loop.node) for loop in self.loops)
        tiles = {axis: change(tile) for axis, tile in self.tiles.items()}
        regions = {axis: region.each(change) for axis, region in self.regions.items()}
        return OperatorView(self.operator, loops, self.conditions, tiles, regions, change(self.line_buffered))

    def behind(self, more: int) -> OperatorView:
        """The same view with so many dimensions behind those of its arrays."""
        return self.each(lambda figure: expanded(figure, more)) if more else self


@record
class ChainView:
    """All operators of a chain under one schedule, or under a family of schedules that differ in their tiles."""

    chain: Chain
    operators: tuple[OperatorView, ...]
    storage: Mapping[str, Storage]
    sizes: Mapping[str, int]
    by_name: dict[str, OperatorView] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The views of operators, once one was asked for."""

    def of(self, name: str) -> OperatorView:
        """The view of one operator."""
        if not self.by_name:
            self.by_name.update({view.operator.name: view for view in self.operators})
        return self.by_name[name]


def view_schedule(chain: Chain, schedule: Schedule) -> ChainView:
    """The view of a schedule tree, at planned sizes."""
    sizes = planned_sizes(chain)
    nodes: dict[int, int] = {}
    views = []
    storage = {tensor: schedule.storage_of(tensor) for tensor in chain.intermediates}
    shared = shared_loops(schedule)
    outer, box = trip_counts(shared, sizes), box_sizes(shared, sizes)
    cuts = tuple(SharedLoop(loop.axis, loop.tile, trips) for loop, trips in zip(shared, outer, strict=True))
    found = required_regions(chain, region_axes_of(chain, storage, [loop.axis for loop in shared]), storage, cuts, sizes)
    for path, leaf in schedule.leaves():
        if isinstance(leaf, Compute):
            operator, inner_loops = chain.operator(leaf.operator), path[len(shared) :]
            regions = _of(found, operator)
            block_box = {**box, **{axis: int(region.tile) for axis, region in regions.items()}}
            names = (*(_axis_in_operator(operator, regions, loop.axis) for loop in shared), *(loop.axis for loop in inner_loops))
            trips = (*outer, *trip_counts(inner_loops, block_box))
            numbers = (nodes.setdefault(id(loop), len(nodes)) for loop in path)
            loops = tuple(LoopView(*loop) for loop in zip(names, trips, numbers, strict=True))
            conditions = {when.axis: when.trip for when in leaf.when}
            line_buffered = line_buffered_elements(operator, regions, box, cuts)
            views.append(OperatorView(operator, loops, conditions, box_sizes(inner_loops, block_box), regions, line_buffered))
    return ChainView(chain, tuple(views), storage, sizes)


def view_outer_loops(
    chain: Chain,
    outer_loops: Sequence[str],
    tiles: Mapping[str, Count],
    storage: Mapping[str, Storage],
    fused_groups: Sequence[FusedGroup] = (),
) -> ChainView:
    """The view of `fused_schedule` schedules without inner loops, which are not built; tiles may be arrays."""
    sizes = planned_sizes(chain)
    cuts = tuple(SharedLoop(axis, tiles[axis], -(-sizes[axis] // tiles[axis])) for axis in outer_loops)
    found = required_regions(chain, region_axes_of(chain, storage, outer_loops), storage, cuts, sizes)
    shared = {axis: minimum(tiles[axis], size) if axis in outer_loops else size for axis, size in sizes.items()}
    views = []
    inside = [axis for fused_group in fused_groups for axis in fused_group.axes]
    for operator in chain.operators:
        fused_group, regions = fused_group_of(fused_groups, operator.name), _of(found, operator)
        below = fused_group.axes if fused_group else ()
        around = tuple(
            LoopView(_axis_in_operator(operator, regions, loop.axis), loop.trips, number) for number, loop in enumerate(cuts)
        )
        loops = tuple(LoopView(axis, -(-sizes[axis] // tiles[axis]), len(cuts) + inside.index(axis)) for axis in below)
        inner = {axis: minimum(tiles[axis], sizes[axis]) for axis in below}
        box = {**shared, **inner, **{axis: region.tile for axis, region in regions.items()}}
        line_buffered = line_buffered_elements(operator, regions, shared, cuts)
        views.append(OperatorView(operator, (*around, *loops), {}, box, regions, line_buffered))
    return ChainView(chain, tuple(views), storage, sizes)


def reordered(view: ChainView, places: Sequence[int]) -> ChainView:
    """The view of an order of outer loops with its loops in another order: the i-th one stands at `places[i]` in this one.

    Where an intermediate has a circular line buffer the last one stays: all that required regions are like depends on it, and not
    on the others' order.
    """

    def loops(member: OperatorView) -> tuple[LoopView, ...]:
        return tuple(LoopView(member.loops[place].axis, member.loops[place].trips, node) for node, place in enumerate(places))

    views = tuple(OperatorView(m.operator, loops(m), m.conditions, m.tiles, m.regions, m.line_buffered) for m in view.operators)
    return ChainView(view.chain, views, view.storage, view.sizes)


def taken(figure: Count, picks: Sequence[np.ndarray]) -> Count:
    """A figure of some of the tiles along every dimension; plain values stay plain."""
    if isinstance(figure, np.ndarray):
        for dimension, extent in enumerate(figure.shape):
            if extent > len(picks[dimension]):
                figure = figure.take(picks[dimension], dimension)
    return figure


def view_of_tiles(view: ChainView, picks: Sequence[np.ndarray]) -> ChainView:
    """The view with some of the tiles along every dimension of its arrays: those at these places, in order."""
    known: dict[int, Count] = {}

    def some(figure: Count) -> Count:
        if id(figure) not in known:
            known[id(figure)] = taken(figure, picks)
        return known[id(figure)]

    return ChainView(view.chain, tuple(member.each(some) for member in view.operators), view.storage, view.sizes)


def _of(found: Mapping[Place, Region], operator: Operator) -> dict[str, Region]:
    return {axis: region for (name, axis), region in found.items() if name == operator.name}


def _axis_in_operator(operator: Operator, regions: Mapping[str, Region], axis: str) -> str:
    """The axis of an operator that moves with a shared loop; the loop's axis if no required region moves with it."""
    if axis in operator.axis_names:
        return axis
    return next((region_axis for region_axis, region in regions.items() if axis in region.loops), axis)


def parallel_axes(chain: Chain, schedule: Schedule) -> tuple[str, ...]:
    """Axes of the outermost loops whose blocks are independent, with only Packs beside them.

    They are parallel in every operator, but for the axis of a split. A loop along which an intermediate has a circular line
    buffer is not one of them: its blocks need what the ones before have left.
    """
    return tuple(loop.axis for loop in parallel_loops(chain, schedule))


def parallel_loops(chain: Chain, schedule: Schedule) -> tuple[Loop, ...]:
    """The loops of `parallel_axes`, outermost first."""
    loops: list[Loop] = []
    region_axes = schedule_region_axes(chain, schedule)
    has_line_buffer = any(schedule.storage_of(tensor) is Storage.LINE_BUFFER for tensor in chain.intermediates)
    serial = shared_loops(schedule)[-1:] if has_line_buffer else ()
    body: tuple[Node, ...] = schedule.body
    while True:
        children = [node for node in body if not isinstance(node, Pack)]
        if len(children) != 1 or children[0] is not body[-1] or not isinstance(children[0], Loop):
            return tuple(loops)
        loop = children[0]
        independent = is_parallel(chain, loop.axis, region_axes) or loop.axis == schedule.split
        if not independent or any(loop.axis == parent.axis for parent in loops) or loop in serial:
            return tuple(loops)
        loops.append(loop)
        body = loop.body


def is_parallel(chain: Chain, axis: str, region_axes: RegionAxes | None = None) -> bool:
    """Whether every operator of a chain has the axis, or computes required regions of its consumers along it, and none reduces
    it."""
    if not region_axes:
        return axis in _axes_parallel_everywhere(chain)
    moving = {operator for (operator, _), region in region_axes.items() if axis in region.slopes}
    kind = AxisKind.PARALLEL
    return all(op.name in moving or any(a.name == axis and a.kind is kind for a in op.axes) for op in chain.operators)


@derived_once
def _axes_parallel_everywhere(chain: Chain) -> frozenset[str]:
    of_operators = ({axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL} for operator in chain.operators)
    return frozenset.intersection(*map(frozenset, of_operators))


def block_count(chain: Chain, schedule: Schedule) -> int:
    """The number of independent blocks, at planned sizes."""
    return prod(trip_counts(parallel_loops(chain, schedule), planned_sizes(chain)))


def blocks_in_view(view: ChainView, shared: int) -> Count:
    """The independent blocks of the first `shared` loops, which all operators share; an array where tiles are."""
    loops = view.operators[-1].loops[:shared]
    region_axes = region_axes_of(view.chain, view.storage, [loop.axis for loop in loops])
    has_line_buffer = Storage.LINE_BUFFER in view.storage.values()
    free = loops[: shared - has_line_buffer] if shared else ()
    distributed = takewhile(lambda loop: is_parallel(view.chain, loop.axis, region_axes), free)
    return product(loop.trips for loop in distributed)
