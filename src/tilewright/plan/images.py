"""Images: the block that a producer works on while its consumers work on theirs, where they read at affine positions.

A consumer that reads an intermediate at `2*h + y` needs, for a block of h, the rows from twice the block's start up to twice its
last point plus the largest y. Under loops that all operators share, a producer whose result is not kept works on that image only,
and so do the producers before it; equal axes are the special case of the identity. Neighbouring images overlap (a halo). An
intermediate that is recomputed has the overlap computed again by every block, by a factor of `((T - 1) * stride + kernel) /
(T * stride)` per axis. One that is rolled has every element computed once: its producer adds what the block before did not
compute, along the innermost shared loop, and the overlap is carried to the front of the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from tilewright.graph.index import Index
from tilewright.graph.types import AxisKind, Chain, Operator
from tilewright.plan.facts import fact
from tilewright.plan.roles import contraction_roles
from tilewright.plan.schedule import Compute, Loop, Schedule, Storage, common_path

Count = Any
"""An integer, or an integer array with one value per candidate."""
Place = tuple[str, str]
"""(operator, axis)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How one read of an operator addresses a dimension of an intermediate; guarded reads may lie outside the tensor."""

    consumer: str
    index: Index
    is_guarded: bool


@dataclass(frozen=True, slots=True)
class Follow:
    """An axis along which an operator follows its consumers, and by how much it moves for a step along each loop's axis."""

    readings: tuple[Reading, ...]
    slopes: Mapping[str, int]


Follows = Mapping[Place, Follow]


def shared_loops(schedule: Schedule) -> tuple[Loop, ...]:
    """The loops around all operators of a schedule, outermost first."""
    return reduce(common_path, (path for path, leaf in schedule.leaves() if isinstance(leaf, Compute)))


def schedule_follows(chain: Chain, schedule: Schedule) -> Follows:
    """The axes along which operators follow their consumers under a schedule."""
    storage = {tensor: schedule.storage_of(tensor) for tensor in chain.intermediates}
    return follows(chain, storage, [loop.axis for loop in shared_loops(schedule)])


def follows(chain: Chain, storage: Mapping[str, Storage], loops: Sequence[str]) -> Follows:
    """The axes along which operators follow their consumers under shared loops over these axes.

    They are the dimensions of results that are not kept which are read at affine positions that depend on the loops.
    """
    moving = tuple(tensor for tensor in chain.intermediates if storage.get(tensor, Storage.KEEP) is not Storage.KEEP)
    return _follows(chain, moving, frozenset(loops))


@fact
def _follows(chain: Chain, moving: tuple[str, ...], loops: frozenset[str]) -> Follows:
    """The same for intermediates that are not kept."""
    found: dict[Place, Follow] = {}
    for operator in reversed(chain.operators[:-1]):
        if operator.write.tensor not in moving:
            continue
        for axis, readings in _readings(chain, operator).items():
            slopes = [_slopes(found, reading, loops) for reading in readings]
            is_itself = all(r.index.is_axis() and r.index.axes() == {axis} and (r.consumer, axis) not in found for r in readings)
            one_way = all(slope == slopes[0] for slope in slopes) and all(step > 0 for step in slopes[0].values())
            if slopes[0] and one_way and not is_itself:
                found[operator.name, axis] = Follow(readings, slopes[0])
    return found


def rolled_axis(chain: Chain, follow: Follows, tensor: str, loop: str) -> str:
    """The axis along which an intermediate can be rolled through the innermost shared loop; empty if it cannot."""
    producer = chain.producer(tensor)
    assert producer is not None, f"{tensor} is an input"
    moving = [axis for (operator, axis), one in follow.items() if operator == producer.name and loop in one.slopes]
    return moving[0] if len(moving) == 1 else ""


def _readings(chain: Chain, operator: Operator) -> dict[str, tuple[Reading, ...]]:
    """How every independent axis of an operator that is a dimension of its result is read, unless a read is not affine.

    The columns of a product are left out: a packed operand is entered where a panel begins, which images do not care for.
    """
    found = {}
    column = contraction_roles(operator).column if operator.is_contraction() else None
    indices = operator.write.indices
    for dimension, written in enumerate(indices):
        if not written.is_axis() or sum(bool(written.axes() & other.axes()) for other in indices) > 1:
            continue
        (axis,) = written.axes()
        if axis == column:
            continue
        readings = tuple(
            Reading(consumer.name, access.indices[dimension], access.guard is not None)
            for consumer in chain.consumers(operator.write.tensor)
            for access in consumer.reads
            if access.tensor == operator.write.tensor
        )
        if operator.axis(axis).kind is AxisKind.PARALLEL and all(reading.index.is_affine() for reading in readings):
            found[axis] = readings
    return found


def _slopes(found: Follows, reading: Reading, loops: frozenset[str]) -> dict[str, int]:
    """How far the position that is read moves for a step along every loop's axis; 0 left out, opposite directions negative."""
    slopes: dict[str, int] = {}
    for atom, factor in reading.index.terms:
        place = reading.consumer, str(atom)
        moved = found[place].slopes if place in found else {axis: 1 for axis in loops if axis == atom}
        for axis, step in moved.items():
            slopes[axis] = slopes.get(axis, 0) + factor * step if factor > 0 else -1
    return slopes


@dataclass(frozen=True, slots=True)
class Walk:
    """The blocks of an operator along one axis. Positions are those for the first blocks of all loops, without clamping.

    Every figure may be an array, with one value per choice of tiles.
    """

    low: Count
    """Where a block starts that is not the first of the innermost loop, and ..."""
    first_low: Count
    """... where the first one does: a rolled result has nothing to add to there."""
    high: Count
    held_low: Count
    """Where what consumers read of the block starts; before `low` if the result is rolled."""
    total: Count
    """Points of all blocks together: more than the extent where blocks overlap."""
    outer_total: Count
    """The same if the innermost shared loop were not cut."""
    hull: tuple[int, int]
    """From the first point to the one after the last."""
    loops: frozenset[str]

    def each(self, change: Callable[[Count], Count]) -> Walk:
        """The same walk with all figures changed alike."""
        names = ("low", "first_low", "high", "held_low", "total", "outer_total")
        return replace(self, **{name: change(getattr(self, name)) for name in names})

    @property
    def tile(self) -> Count:
        """Points of a block."""
        return np.minimum(self.high - self.low, self.hull[1] - self.hull[0])

    @property
    def largest(self) -> Count:
        """Points of the largest block, and of what is held of the result."""
        return np.minimum(self.high - self.first_low, self.hull[1] - self.hull[0])

    @property
    def carried(self) -> Count:
        """Points that a rolled result keeps from one block for the next."""
        return np.minimum(self.low - self.held_low, self.largest)


@dataclass(frozen=True, slots=True)
class SharedLoop:
    """A loop around all operators: its axis, the tile and the number of its trips."""

    axis: str
    tile: Count
    trips: Count


def walks(
    chain: Chain, follow: Follows, storage: Mapping[str, Storage], loops: Sequence[SharedLoop], sizes: Mapping[str, int]
) -> dict[Place, Walk]:
    """The walk of every operator along every axis along which it follows its consumers; loops outermost first.

    Guards cut off what lies outside at the ends of the tensor, as if the first and the last block alone reached there.
    """
    found: dict[Place, Walk] = {}
    for place, one in follow.items():
        walk = _covering([_image(found, reading, loops, sizes) for reading in one.readings], loops)
        walk = _clamped(walk, sizes[place[1]])
        if storage[chain.operator(place[0]).write.tensor] is Storage.ROLL and loops[-1].axis in one.slopes:
            walk = _rolled(walk, one.slopes[loops[-1].axis], loops[-1])
        found[place] = walk
    return found


def carried_elements(
    operator: Operator, walked: Mapping[str, Walk], box: Mapping[str, Count], loops: Sequence[SharedLoop]
) -> Count:
    """Elements of an operator's result that are moved for the next block, in all. `box` has the blocks of the shared loops."""
    rolled = [axis for axis, walk in walked.items() if np.any(np.asarray(walk.carried) > 0)]
    if not rolled:
        return 0
    axes = [axis for index in operator.write.indices for axis in index.axes()]
    held = [walked[a].carried if a in rolled else walked[a].largest if a in walked else box[a] for a in axes]
    every, first = _blocks(loops), _blocks(loops[:-1])
    return reduce(lambda product, size: product * size, held, every - first)


def _consumer_walk(found: Mapping[Place, Walk], place: Place, loops: Sequence[SharedLoop], sizes: Mapping[str, int]) -> Walk:
    """The walk along an axis of a consumer; one that it does not follow anybody along is cut by loops over it."""
    if place in found:
        return found[place]
    size = sizes[place[1]]
    cutting = [loop for loop in loops if loop.axis == place[1]]
    block = np.minimum(cutting[-1].tile, size) if cutting else size
    return Walk(0, 0, block, 0, size, size, (0, size), frozenset(loop.axis for loop in cutting))


def _image(found: Mapping[Place, Walk], reading: Reading, loops: Sequence[SharedLoop], sizes: Mapping[str, int]) -> Walk:
    terms = [(factor, _consumer_walk(found, (reading.consumer, str(atom)), loops, sizes)) for atom, factor in reading.index.terms]
    start = reading.index.constant
    along = frozenset().union(*(walk.loops for _, walk in terms))
    low = start + sum(factor * (walk.low if factor > 0 else walk.high - 1) for factor, walk in terms)
    first = start + sum(factor * (walk.first_low if factor > 0 else walk.high - 1) for factor, walk in terms)
    high = start + 1 + sum(factor * (walk.high - 1 if factor > 0 else walk.low) for factor, walk in terms)
    ends = [[factor * end for end in (walk.hull[0], walk.hull[1] - 1)] for factor, walk in terms]
    hull = start + sum(map(min, ends)), start + 1 + sum(map(max, ends))
    blocks, outer = _blocks(loops, along), _blocks(loops[:-1], along)
    total, outer_total = blocks, outer
    for factor, walk in terms:
        total = total + abs(factor) * (walk.total * _blocks(loops, along - walk.loops) - blocks)
        outer_total = outer_total + abs(factor) * (walk.outer_total * _blocks(loops[:-1], along - walk.loops) - outer)
    return Walk(low, first, high, low, total, outer_total, hull, along)


def _covering(images: Sequence[Walk], loops: Sequence[SharedLoop]) -> Walk:
    """The smallest blocks that cover all images. All move alike, so that every block grows by as much."""
    low, first = (reduce(np.minimum, ends) for ends in ([one.low for one in images], [one.first_low for one in images]))
    high = reduce(np.maximum, [one.high for one in images])
    hull = min(one.hull[0] for one in images), max(one.hull[1] for one in images)
    one = images[0]
    grown = (high - low) - (one.high - one.low)
    total = one.total + grown * _blocks(loops, one.loops)
    outer_total = one.outer_total + grown * _blocks(loops[:-1], one.loops)
    return Walk(low, first, high, low, total, outer_total, hull, one.loops)


def _clamped(walk: Walk, extent: int) -> Walk:
    hull = max(walk.hull[0], 0), min(walk.hull[1], extent)
    outside = (walk.hull[1] - walk.hull[0]) - (hull[1] - hull[0])
    return replace(walk, total=walk.total - outside, outer_total=walk.outer_total - outside, hull=hull)


def _rolled(walk: Walk, slope: int, loop: SharedLoop) -> Walk:
    """Blocks behind the first add what one step of the loop brings, or their whole image if neighbours do not overlap."""
    added = np.maximum(walk.low, walk.high - slope * loop.tile)
    low = walk.low + (added - walk.low) * np.minimum(loop.trips - 1, 1)
    return replace(walk, low=low, total=walk.outer_total)


def _blocks(loops: Sequence[SharedLoop], axes: frozenset[str] | None = None) -> Count:
    """The blocks of the loops over some axes, or of all of them."""
    return prod((loop.trips for loop in loops if axes is None or loop.axis in axes), start=1)
