"""Required regions: the block that a producer works on while its consumers, reading at affine positions, work on theirs.

A consumer that reads an intermediate at `2*h + y` needs, for a block of h, the rows from twice the block's start up to twice its
last point plus the largest y. Under loops that all operators share, a producer whose result is not kept works on that region
only, and so do the producers before it; equal axes are the special case of the identity. Neighbouring regions overlap (a halo).
An intermediate that is recomputed has the overlap computed again by every block, by a factor of `((T - 1) * stride + kernel) / (T
* stride)` per axis. One that has a circular line buffer has every element computed once: its producer adds what the block before
did not compute, along the innermost shared loop, and the overlap is carried to the front of the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from tilewright.arrays import Count, as_integer, maximum, minimum, product
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import AxisKind, Chain, Operator
from tilewright.plan.chains import derived_once
from tilewright.plan.schedule import Compute, Loop, Schedule, Storage, common_path
from tilewright.records import record, replace

Place = tuple[str, str]
"""(operator, axis)."""


@record
class Reading:
    """How one read of an operator addresses a dimension of an intermediate; guarded reads may lie outside the tensor."""

    consumer: str
    index: Index
    is_guarded: bool


@record
class RegionAxis:
    """An axis along which an operator computes required regions of its consumers, and by how much it moves for a step along each
    loop's axis."""

    readings: tuple[Reading, ...]
    slopes: Mapping[str, int]


RegionAxes = Mapping[Place, RegionAxis]


def shared_loops(schedule: Schedule) -> tuple[Loop, ...]:
    """The loops around all operators of a schedule, outermost first."""
    return reduce(common_path, (path for path, leaf in schedule.leaves() if isinstance(leaf, Compute)))


def schedule_region_axes(chain: Chain, schedule: Schedule) -> RegionAxes:
    """The axes along which operators compute required regions of their consumers under a schedule."""
    storage = {tensor: schedule.storage_of(tensor) for tensor in chain.intermediates}
    return region_axes_of(chain, storage, [loop.axis for loop in shared_loops(schedule)])


def region_axes_of(chain: Chain, storage: Mapping[str, Storage], loops: Sequence[str]) -> RegionAxes:
    """The axes along which operators compute required regions of their consumers under shared loops over these axes.

    They are the dimensions of results that are not kept which are read at affine positions that depend on the loops.
    """
    moving = tuple(tensor for tensor in chain.intermediates if storage.get(tensor, Storage.KEEP) is not Storage.KEEP)
    return _region_axes(chain, moving, frozenset(loops)) if moving else {}


@derived_once
def _region_axes(chain: Chain, moving: tuple[str, ...], loops: frozenset[str]) -> RegionAxes:
    """The same for intermediates that are not kept."""
    found: dict[Place, RegionAxis] = {}
    for operator in reversed(chain.operators[:-1]):
        if operator.write.tensor not in moving:
            continue
        for axis, ways in readings(chain, operator).items():
            slopes = [_slopes(found, reading, loops) for reading in ways]
            is_itself = all(r.index.is_axis() and r.index.axes() == {axis} and (r.consumer, axis) not in found for r in ways)
            one_way = all(slope == slopes[0] for slope in slopes) and all(step > 0 for step in slopes[0].values())
            if slopes[0] and one_way and not is_itself:
                found[operator.name, axis] = RegionAxis(ways, slopes[0])
    return found


def line_buffer_axis(chain: Chain, region_axes: RegionAxes, tensor: str, loop: str) -> str:
    """The axis along which an intermediate can have a circular line buffer through the innermost shared loop; empty if it
    cannot."""
    producer = chain.maker(tensor)
    moving = [axis for (operator, axis), region in region_axes.items() if operator == producer.name and loop in region.slopes]
    return moving[0] if len(moving) == 1 and producer.write.is_affine() else ""


def readings(chain: Chain, operator: Operator) -> Mapping[str, tuple[Reading, ...]]:
    """How every independent axis of an operator that is a dimension of its result is read, unless a read is not affine.

    The columns of a product are left out: a packed operand is entered where a panel begins, which required regions do not care
    for.
    """
    return _all_readings(chain)[operator.name]


@derived_once
def _all_readings(chain: Chain) -> Mapping[str, Mapping[str, tuple[Reading, ...]]]:
    """Of every operator."""
    return {operator.name: _readings(chain, operator) for operator in chain.operators}


def _readings(chain: Chain, operator: Operator) -> Mapping[str, tuple[Reading, ...]]:
    found = {}
    column = contraction_roles(operator).column if operator.is_contraction() else None
    indices, tensor = operator.write.indices, operator.write.tensor
    reads = [(consumer.name, read) for consumer in chain.consumers(tensor) for read in consumer.reads if read.tensor == tensor]
    for dimension, written in enumerate(indices):
        if not written.is_axis() or sum(bool(written.axes() & index.axes()) for index in indices) > 1:
            continue
        (axis,) = written.axes()
        if axis == column:
            continue
        ways = tuple(Reading(name, read.indices[dimension], read.guard is not None) for name, read in reads)
        if operator.axis(axis).kind is AxisKind.PARALLEL and all(reading.index.is_affine() for reading in ways):
            found[axis] = ways
    return found


def _slopes(found: RegionAxes, reading: Reading, loops: frozenset[str]) -> dict[str, int]:
    """How far the position that is read moves for a step along every loop's axis; 0 left out, opposite directions negative."""
    slopes: dict[str, int] = {}
    for atom, factor in reading.index.terms:
        place = reading.consumer, str(atom)
        moved = found[place].slopes if place in found else {axis: 1 for axis in loops if axis == atom}
        for axis, step in moved.items():
            slopes[axis] = slopes.get(axis, 0) + factor * step if factor > 0 else -1
    return slopes


@record
class Region:
    """The blocks of an operator along one axis. Positions are those for the first blocks of all loops, without clamping.

    Every figure may be an array, with one value per choice of tiles.
    """

    low: Count
    """Where a block starts that is not the first of the innermost loop, and ..."""
    first_low: Count
    """... where the first one does: a line-buffered result has nothing to add to there."""
    high: Count
    held_low: Count
    """Where what consumers read of the block starts; before `low` if the result has a circular line buffer."""
    hull: tuple[int, int]
    """From the first point to the one after the last; empty where consumers read nothing but what guards replace."""
    loops: frozenset[str]
    total: Count = 1
    """Points of all blocks together: more than the extent where blocks overlap, less where consumers leave out points."""

    def each(self, change: Callable[[Count], Count]) -> Region:
        """The same walk with all figures changed alike."""
        low, first_low, high, held_low, total = map(change, (self.low, self.first_low, self.high, self.held_low, self.total))
        return Region(low, first_low, high, held_low, self.hull, self.loops, total)

    def reshaped(self, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Region:
        """The same with the arrays of its figures in other shapes, each given its own."""

        def reshaped(figure: Count) -> Count:
            return figure.reshape(change(figure.shape)) if isinstance(figure, np.ndarray) and figure.ndim else figure

        return self.each(reshaped)

    @property
    def tile(self) -> Count:
        """Points of a block: at least one, as of empty axes."""
        return maximum(minimum(self.high - self.low, self.hull[1] - self.hull[0]), 1)

    @property
    def largest(self) -> Count:
        """Points of the largest block, and of what is held of the result."""
        return maximum(minimum(self.high - self.first_low, self.hull[1] - self.hull[0]), 1)

    @property
    def overlap(self) -> Count:
        """Points that a line-buffered result keeps from one block for the next."""
        return minimum(self.low - self.held_low, self.largest)


@record
class SharedLoop:
    """A loop around all operators: its axis, the tile and the number of its trips."""

    axis: str
    tile: Count
    trips: Count


Loops: TypeAlias = Sequence[SharedLoop]
Regions: TypeAlias = Mapping[Place, Region]
Sizes: TypeAlias = Mapping[str, int]


def required_regions(
    chain: Chain, region_axes: RegionAxes, storage: Mapping[str, Storage], loops: Loops, sizes: Sizes
) -> dict[Place, Region]:
    """The region of every operator along every axis along which it computes required regions of its consumers; loops outermost
    first.

    Blocks move by equal steps, whatever they reach; what lies outside the hull of all points is cut off from every one of them.
    """
    known, keys = _known_regions(chain), dict[Place, Hashable]()
    found: dict[Place, Region] = {}
    for place, region_axis in region_axes.items():
        kept = storage[chain.operator(place[0]).write.tensor]
        is_line_buffered = kept is Storage.LINE_BUFFER and loops[-1].axis in region_axis.slopes
        moving = [loop for loop in loops if loop.axis in region_axis.slopes]
        keys[place] = key = _key(keys, place, region_axis, moving, is_line_buffered)
        dimensions = _Dimensions.of(moving)
        if key not in known:
            region = _region(found, place, region_axis, loops, sizes, is_line_buffered)
            known[key] = region.reshaped(dimensions.taken)
        found[place] = known[key].reshaped(dimensions.placed)
    return found


@record
class _Dimensions:
    """Those of some loops among all dimensions of the arrays of a family of schedules."""

    rank: int
    long: tuple[int, ...]
    """Those along which loops have several tiles."""

    @classmethod
    def of(cls, loops: Sequence[SharedLoop]) -> _Dimensions:
        """The dimensions along which the tiles of loops lie."""
        shapes = [np.shape(loop.tile) for loop in loops]
        long = sorted(dimension for shape in shapes for dimension, extent in enumerate(shape) if extent > 1)
        return cls(max(map(len, shapes), default=0), tuple(long))

    def taken(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The extents of a shape along these dimensions; along all others they are 1."""
        return tuple(shape[dimension] for dimension in self.long)

    def placed(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that has these extents along these dimensions."""
        extents = dict(zip(self.long, shape, strict=True))
        return tuple(extents.get(dimension, 1) for dimension in range(self.rank))


@derived_once
def _known_regions(chain: Chain) -> dict[Hashable, Region]:
    """The regions of a chain by all that they follow from, without dimensions of other loops: most orders have them in common."""
    return {}


def forget_regions(chain: Chain) -> None:
    """Free what is known of the regions of a chain, once it is searched."""
    _known_regions(chain).clear()


def _key(keys: Mapping[Place, Hashable], place: Place, axis: RegionAxis, moving: Loops, is_line_buffered: bool) -> Hashable:
    """What the region of an operator along one axis follows from: those of its consumers, and the loops that move it, outermost
    first. Loops that move what a consumer reads move the operator as well.
    """
    before = tuple(tuple(keys.get((way.consumer, str(atom))) for atom, _ in way.index.terms) for way in axis.readings)
    return place, before, tuple((loop.axis, np.ravel(loop.tile).tobytes()) for loop in moving), is_line_buffered


def _region(found: Regions, place: Place, region_axis: RegionAxis, loops: Loops, sizes: Sizes, is_line_buffered: bool) -> Region:
    """The region of an operator along one axis, given those of its consumers."""
    region = _covering([_read_region(found, reading, loops, sizes) for reading in region_axis.readings])
    region = _clamped(region, sizes[place[1]])
    if is_line_buffered:
        region = _line_buffered(region, region_axis.slopes[loops[-1].axis], loops[-1])
    return replace(region, total=_points(region, region_axis.slopes, loops, sizes))


def line_buffered_elements(operator: Operator, regions: Mapping[str, Region], box: Mapping[str, Count], loops: Loops) -> Count:
    """Elements of an operator's result that are moved for the next block, in all. `box` has the blocks of the shared loops."""
    line_buffered = [axis for axis, region in regions.items() if np.any(np.asarray(region.overlap) > 0)]
    if not line_buffered:
        return 0
    axes = [axis for index in operator.write.indices for axis in index.axes()]
    held = [regions[a].overlap if a in line_buffered else regions[a].largest if a in regions else box[a] for a in axes]
    every, first = _blocks(loops), _blocks(loops[:-1])
    return reduce(lambda product, size: product * size, held, every - first)


def _consumer_region(found: Regions, place: Place, loops: Loops, sizes: Sizes) -> Region:
    """The region of a consumer along an axis; without required regions its loops cut the axis."""
    if place in found:
        return found[place]
    size = sizes[place[1]]
    cutting = [loop for loop in loops if loop.axis == place[1]]
    block = minimum(cutting[-1].tile, size) if cutting else size
    return Region(0, 0, block, 0, (0, size), frozenset(loop.axis for loop in cutting))


def _read_region(found: Regions, reading: Reading, loops: Loops, sizes: Sizes) -> Region:
    consumer = reading.consumer
    terms = [(factor, _consumer_region(found, (consumer, str(atom)), loops, sizes)) for atom, factor in reading.index.terms]
    start = reading.index.constant
    along = frozenset().union(*(region.loops for _, region in terms))
    low = start + sum(factor * (region.low if factor > 0 else region.high - 1) for factor, region in terms)
    first = start + sum(factor * (region.first_low if factor > 0 else region.high - 1) for factor, region in terms)
    high = start + 1 + sum(factor * (region.high - 1 if factor > 0 else region.low) for factor, region in terms)
    ends = [(factor * region.hull[0], factor * (region.hull[1] - 1))[:: 1 if factor > 0 else -1] for factor, region in terms]
    hull = start + sum(end[0] for end in ends), start + 1 + sum(end[1] for end in ends)
    return Region(low, first, high, low, hull, along)


def _covering(regions: Sequence[Region]) -> Region:
    """The smallest blocks that cover all required regions. All move alike, so that every block grows by as much."""
    low = reduce(minimum, [region.low for region in regions])
    first = reduce(minimum, [region.first_low for region in regions])
    high = reduce(maximum, [region.high for region in regions])
    hull = min(region.hull[0] for region in regions), max(region.hull[1] for region in regions)
    return Region(low, first, high, low, hull, regions[0].loops)


def _clamped(region: Region, extent: int) -> Region:
    low = max(region.hull[0], 0)
    return replace(region, hull=(low, max(low, min(region.hull[1], extent))))


def _line_buffered(region: Region, slope: int, loop: SharedLoop) -> Region:
    """Blocks behind the first add what one step of the loop brings, or their whole region if neighbours do not overlap."""
    added: Count = maximum(region.low, region.high - slope * loop.tile)
    low: Count = region.low + (added - region.low) * minimum(loop.trips - 1, 1)
    return replace(region, low=low)


def _points(region: Region, slopes: Mapping[str, int], loops: Sequence[SharedLoop], sizes: Mapping[str, int]) -> Count:
    """The points inside the hull of all blocks together, as if there were one where there is none (as of empty axes).

    Where something has a circular line buffer, blocks behind the first of the innermost loop start where the one before has
    ended.
    """
    moving = [loop for loop in loops if loop.axis in slopes]
    highs = [_Steps(slopes[loop.axis] * loop.tile, loop.trips, slopes[loop.axis] * _short(loop, sizes)) for loop in moving]
    starts = [replace(steps, short=0) for steps in highs]
    if np.all(np.equal(region.first_low, region.low)):
        return maximum(_inside(region.high, region.hull, highs) - _inside(region.low, region.hull, starts), 1)
    outer = len(moving) - (loops[-1] in moving)
    total = _inside(region.high, region.hull, highs) - _inside(region.low, region.hull, [*highs[:outer], *starts[outer:]])
    total = total + _inside(region.low, region.hull, highs[:outer]) - _inside(region.first_low, region.hull, starts[:outer])
    return maximum(total, 1)


@record
class _Steps:
    """How one end of a block moves with the trips of a loop, and by how much it falls short of that at the last one."""

    step: Count
    trips: Count
    short: Count = 0


def _short(loop: SharedLoop, sizes: Mapping[str, int]) -> Count:
    """What the last block of a loop has less than the others."""
    return (loop.trips - 1) * loop.tile + minimum(loop.tile, sizes[loop.axis]) - sizes[loop.axis]


def _inside(end: Count, hull: tuple[int, int], moves: Sequence[_Steps]) -> Count:
    """The sum, over all blocks, of how far one end of a block is from the start of the hull, cut off at both ends of it."""
    return _positive(end - hull[0], moves) - _positive(end - hull[1], moves)


def _positive(start: Count, moves: Sequence[_Steps]) -> Count:
    """The sum of all positions above 0 that a block's end takes: the loop with the most trips in closed form."""
    if not moves:
        return maximum(start, 0)
    *longer, inner = sorted(moves, key=lambda move: int(np.max(move.trips)))
    if not longer:
        return _positive_in_row(start, inner)
    outer, *more = longer
    rank = max(np.ndim(figure) for move in (outer, *more, inner) for figure in (start, move.step, move.trips, move.short))
    trip = np.arange(int(np.max(outer.trips))).reshape(-1, *(1,) * rank)
    at = start + outer.step * trip - outer.short * (trip == outer.trips - 1)
    return as_integer(np.sum(_positive(at, [*more, inner]) * (trip < outer.trips), axis=0))


def _positive_in_row(start: Count, move: _Steps) -> Count:
    """The same along one loop: an arithmetic progression from its first positive member on, and the last position."""
    full = move.trips - 1
    below = minimum(maximum(-(start // move.step), 0), full)
    above, last = full - below, start + product((move.step, full)) - move.short
    inside = product((above, below + full - 1)) // 2
    return product((above, start)) + product((move.step, inside)) + maximum(last, 0)


def _blocks(loops: Sequence[SharedLoop]) -> Count:
    """The blocks of some loops together."""
    return prod((loop.trips for loop in loops), start=1)
