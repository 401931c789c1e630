"""Loop views: for every operator of a schedule the loops around it with their trip counts.

The same formulas serve a schedule tree (integers) and a whole family of schedules that differ in their tiles (NumPy arrays
that broadcast against each other), so that a search evaluates thousands of tile choices at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilewright.graph.types import Chain, Operator
from tilewright.plan.arrays import Count, expanded
from tilewright.plan.regions.required_regions import Place, SharedLoop, Walk, carried_elements, follows, shared_loops, walks
from tilewright.plan.regions.trip_counts import box_sizes, planned_sizes, trip_counts
from tilewright.plan.schedule import Compute, Schedule, Segment, Storage, Trip, segment_of


@dataclass(frozen=True, slots=True)
class LoopView:
    """One loop around an operator. Loops with equal `node` are the same loop, shared between operators.

    For an operator that follows its consumers along an axis of its own, that is the axis of the loop.
    """

    axis: str
    trips: Count
    node: int


@dataclass(frozen=True, slots=True)
class OperatorView:
    """An operator, the loops around it (outermost first), the conditions of its leaf, and the tile of every axis."""

    operator: Operator
    loops: tuple[LoopView, ...]
    conditions: Mapping[str, Trip]
    tiles: Mapping[str, Count]
    walks: Mapping[str, Walk] = field(default_factory=dict)
    """Of the axes along which the operator follows its consumers (see `required_regions`)."""
    carried: Count = 0
    """Elements of its rolled result that are moved to the front of the buffer, in all."""

    def walked(self, sizes: Mapping[str, Count]) -> Mapping[str, Count]:
        """The points along every axis that all blocks have together: the sizes, but where blocks overlap."""
        return {**sizes, **{axis: walk.total for axis, walk in self.walks.items()}} if self.walks else sizes

    def largest(self) -> Mapping[str, Count]:
        """The tiles of the largest block: the first one, where a result is rolled."""
        return {**self.tiles, **{axis: walk.largest for axis, walk in self.walks.items()}} if self.walks else self.tiles

    def running(self) -> tuple[LoopView, ...]:
        """The loops at whose every block the operator runs; at the others it runs for one block only."""
        return tuple(loop for loop in self.loops if loop.axis not in self.conditions)


@dataclass(frozen=True, slots=True)
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
    found = walks(chain, follows(chain, storage, [loop.axis for loop in shared]), storage, cuts, sizes)
    for path, leaf in schedule.leaves():
        if isinstance(leaf, Compute):
            operator, own = chain.operator(leaf.operator), path[len(shared) :]
            walked = _of(found, operator)
            here = {**box, **{axis: int(walk.tile) for axis, walk in walked.items()}}
            names = (*(_own_name(operator, walked, loop.axis) for loop in shared), *(loop.axis for loop in own))
            trips = (*outer, *trip_counts(own, here))
            numbers = (nodes.setdefault(id(loop), len(nodes)) for loop in path)
            loops = tuple(LoopView(*one) for one in zip(names, trips, numbers, strict=True))
            conditions = {when.axis: when.trip for when in leaf.when}
            carried = carried_elements(operator, walked, box, cuts)
            views.append(OperatorView(operator, loops, conditions, box_sizes(own, here), walked, carried))
    return ChainView(chain, tuple(views), storage, sizes)


def view_prefix(
    chain: Chain,
    prefix: Sequence[str],
    own_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, Count],
    storage: Mapping[str, Storage],
    segments: Sequence[Segment] = (),
) -> ChainView:
    """The view of `loop_orders.prefixed` schedules without building them; tiles may be arrays.

    Own orders have no axis along which their operator follows its consumers.
    """
    sizes = planned_sizes(chain)
    cuts = tuple(SharedLoop(axis, tiles[axis], -(-sizes[axis] // tiles[axis])) for axis in prefix)
    found = walks(chain, follows(chain, storage, prefix), storage, cuts, sizes)
    shared = {axis: np.minimum(tiles[axis], size) if axis in prefix else size for axis, size in sizes.items()}
    views = []
    inside = [axis for segment in segments for axis in segment.axes]
    node = len(prefix) + len(inside)
    for operator in chain.operators:
        segment, own, walked = segment_of(segments, operator.name), own_orders.get(operator.name, ()), _of(found, operator)
        together = segment.axes if segment else ()
        around = tuple(LoopView(_own_name(operator, walked, loop.axis), loop.trips, number) for number, loop in enumerate(cuts))
        numbers = [*(len(prefix) + inside.index(axis) for axis in together), *range(node, node + len(own))]
        below = (*together, *own)
        loops = tuple(LoopView(axis, -(-sizes[axis] // tiles[axis]), i) for axis, i in zip(below, numbers, strict=True))
        node += len(own)
        box = {axis: np.minimum(tiles[axis], size) if axis in below else shared[axis] for axis, size in sizes.items()}
        box |= {axis: walk.tile for axis, walk in walked.items()}
        views.append(OperatorView(operator, (*around, *loops), {}, box, walked, carried_elements(operator, walked, shared, cuts)))
    return ChainView(chain, tuple(views), storage, sizes)


def reordered(view: ChainView, places: Sequence[int]) -> ChainView:
    """The view of a prefix with its loops in another order: the i-th one stands at `places[i]` in this one.

    Where an intermediate is rolled the last one stays: all that images are like depends on it, and not on the others' order.
    """

    def loops(one: OperatorView) -> tuple[LoopView, ...]:
        return tuple(LoopView(one.loops[place].axis, one.loops[place].trips, node) for node, place in enumerate(places))

    operators = tuple(replace(one, loops=loops(one)) for one in view.operators)
    return replace(view, operators=operators)


def _of(found: Mapping[Place, Walk], operator: Operator) -> dict[str, Walk]:
    return {axis: walk for (name, axis), walk in found.items() if name == operator.name}


def _own_name(operator: Operator, walked: Mapping[str, Walk], axis: str) -> str:
    """The axis of an operator that moves with a shared loop; the loop's own if none of those that follow others does."""
    if any(own.name == axis for own in operator.axes):
        return axis
    return next((own for own, walk in walked.items() if axis in walk.loops), axis)


def view_behind(view: OperatorView, more: int) -> OperatorView:
    """The same view with so many dimensions behind those of its arrays."""
    if not more:
        return view
    loops = tuple(replace(loop, trips=expanded(loop.trips, more)) for loop in view.loops)
    tiles = {axis: expanded(tile, more) for axis, tile in view.tiles.items()}
    walked = {axis: walk.each(lambda figure: expanded(figure, more)) for axis, walk in view.walks.items()}
    return replace(view, loops=loops, tiles=tiles, walks=walked, carried=expanded(view.carried, more))
