"""What the movement and memory formulas see of a schedule: for every operator the loops around it with their trip counts.

The same formulas serve a schedule tree (integers) and a whole family of schedules that differ in their tiles (NumPy arrays
that broadcast against each other), so that a search evaluates thousands of tile choices at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.graph.types import Chain, Operator
from tilewright.plan.ranges import box_sizes, planned_sizes, trip_counts
from tilewright.plan.schedule import Compute, Schedule, Storage, Trip

Count: TypeAlias = Any
"""A number of elements or trips: an integer, or an integer array with one value per candidate."""


@dataclass(frozen=True, slots=True)
class LoopView:
    """One loop around an operator. Loops with equal `node` are the same loop, shared between operators."""

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

    def of(self, name: str) -> OperatorView:
        """The view of one operator."""
        return next(view for view in self.operators if view.operator.name == name)


def view_schedule(chain: Chain, schedule: Schedule) -> ChainView:
    """The view of a schedule tree, at planned sizes."""
    sizes = planned_sizes(chain)
    nodes: dict[int, int] = {}
    views = []
    for path, leaf in schedule.leaves():
        if isinstance(leaf, Compute):
            trips = trip_counts(path, sizes)
            loops = tuple(
                LoopView(loop.axis, count, nodes.setdefault(id(loop), len(nodes)))
                for loop, count in zip(path, trips, strict=True)
            )
            conditions = {when.axis: when.trip for when in leaf.when}
            views.append(OperatorView(chain.operator(leaf.operator), loops, conditions, box_sizes(path, sizes)))
    storage = {tensor: schedule.storage_of(tensor) for tensor in chain.intermediates}
    return ChainView(chain, tuple(views), storage, sizes)


def view_prefix(
    chain: Chain,
    prefix: Sequence[str],
    own_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, Count],
    storage: Mapping[str, Storage],
) -> ChainView:
    """The view of `block_order.prefixed` schedules without building them; tiles may be arrays."""
    sizes = planned_sizes(chain)
    shared = tuple(LoopView(axis, -(-sizes[axis] // tiles[axis]), node) for node, axis in enumerate(prefix))
    views = []
    node = len(prefix)
    for operator in chain.operators:
        own = own_orders.get(operator.name, ())
        loops = tuple(LoopView(axis, -(-sizes[axis] // tiles[axis]), node + i) for i, axis in enumerate(own))
        node += len(own)
        cut = {*prefix, *own}
        box = {axis: np.minimum(tiles[axis], size) if axis in cut else size for axis, size in sizes.items()}
        views.append(OperatorView(operator, (*shared, *loops), {}, box))
    return ChainView(chain, tuple(views), storage, sizes)


def either(condition: Count, this: Count, that: Count) -> Count:
    """`this` where the condition holds, else `that`; plain values stay plain."""
    if isinstance(condition, bool | np.bool_):
        return this if condition else that
    return np.where(condition, this, that)
