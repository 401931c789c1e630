"""Movement of plans less what guards and masks leave out of it, walked block by block.

`Plan.movements`, like prices, counts whole boxes and all keys: positions at which a guard says that there is no element, required
regions as if blocks moved by equal steps, keys that masks leave out, empty axes as one point, reads that no expression uses, and
parts of a split by their length, though their results are as large as that of a whole. It counts again what lines of one set
push out. What is left is here, of the fusion level and those behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil
from typing import TypeAlias

import numpy as np

from tilewright.arrays import Count
from tilewright.coefficients import coefficients_for
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Chain, planned_extent
from tilewright.kernels.registry import registered
from tilewright.plan.decisions.split_reductions import part_of
from tilewright.plan.model.cost_context import CostContext, Operand, context_of
from tilewright.plan.model.memory.traffic import bytes_into, chain_figures, footprints, outside, set_conflict
from tilewright.plan.model.needed_work import key_alignment
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.regions.loop_views import LoopView, OperatorView, view_schedule
from tilewright.plan.regions.masked_pairs import block_keys
from tilewright.plan.regions.masks import key_mask_of, loops_around_mask
from tilewright.plan.regions.required_regions import Place, Reading, schedule_region_axes, shared_loops
from tilewright.plan.schedule import Loop, Node, Pack, Schedule, Storage, box_sizes, planned_sizes, trip_counts
from tilewright.plan.types import Plan

Blocks: TypeAlias = tuple[tuple[int, int], ...]
"""(start, the point behind the last) of blocks of an axis."""
Moved = Counter[tuple[str, str]]
"""Bytes by tensor and level."""


def left_movements(plan: Plan) -> Moved:
    """What a plan moves into the fusion level and those behind it; all of it together is in `Plan.movements`."""
    context, outer, parts = _outer_loops(plan)
    whole, left = Moved(), Moved()
    for operand, level, size_bytes, share in _operands(context, outer, set_conflicts(context, plan.schedule)):
        whole[operand.access.tensor, level] += size_bytes
        left[operand.access.tensor, level] += int(size_bytes * share)
    known = {(m.tensor, m.level): m.size_bytes for m in plan.movements if any(level == m.level for _, level in whole)}
    assert known == {key: size for key, n in whole.items() if (size := int(parts * n))}, "other loops than those planned"
    return Moved({key: int((ceil(parts) if key[0] == plan.chain.output else parts) * n) for key, n in left.items() if n})


def _outer_loops(plan: Plan) -> tuple[CostContext, Schedule, float]:
    """The context of a plan, or of a part where it is split, its loops at the fusion level, and the number of parts."""
    known = {kernel.name: kernel for kernel in registered()}
    kernels = {part.operator: known[part.micro_kernel] for part in plan.operators if part.micro_kernel}
    roles = {part.operator: part.roles for part in plan.operators if part.roles is not None}
    context = context_of(without_lookups(plan.chain), plan.machine, kernels, roles, coefficients_for(plan.machine))
    fusion = next(level for level in plan.levels if level.level == context.fusion_level.name)
    body, parts = plan.schedule.body, 1.0
    if plan.schedule.split:
        (loop,) = body
        assert isinstance(loop, Loop)
        size = planned_sizes(plan.chain)[loop.axis]
        context, parts, body = part_of(context, loop.axis, min(loop.tile, size)), size / loop.tile, loop.body
    return context, Schedule(_cutting(body, frozenset(fusion.tiles)), plan.schedule.storage), parts


def _cutting(body: tuple[Node, ...], tiles: frozenset[tuple[str, int]]) -> tuple[Node, ...]:
    """The nodes of a schedule without packs and without loops that do not cut blocks of the fusion level."""
    nodes: list[Node] = []
    for node in body:
        if not isinstance(node, Loop):
            nodes += [] if isinstance(node, Pack) else [node]
        elif (node.axis, node.tile) in tiles:
            nodes.append(replace(node, body=_cutting(node.body, tiles)))
        else:
            nodes += _cutting(node.body, tiles)
    return tuple(nodes)


def set_conflicts(context: CostContext, schedule: Schedule) -> dict[str, float]:
    """Of contractions that read their right operand in place though they could pack it."""
    packed = {leaf.operator for _, leaf in schedule.leaves() if isinstance(leaf, Pack)}
    packed |= {pack.operator for pack in schedule.ahead}
    in_place = [
        operator for operator in map(context.chain.operator, context.kernels.keys() - packed) if may_stay(context, operator)
    ]
    return {operator.name: set_conflict(context, operator, context.cache_levels[0]) for operator in in_place}


def _operands(
    context: CostContext, schedule: Schedule, conflicts: Mapping[str, float]
) -> Iterator[tuple[Operand, str, int, Fraction]]:
    """(operand, level, bytes that move into it, the share of them that guards and masks leave) of all operators."""
    view = view_schedule(context.chain, schedule)
    around = chain_figures(context, view)
    for member in view.operators:
        name, loops = member.operator.name, member.running()
        block = footprints(context.for_view(member), member.operator, member.tiles)
        moved, met = (bytes_into(context, around, member, block, conflict=c) for c in (conflicts.get(name, 1.0), 1.0))
        cuts = {context.fusion_level.name: loops} | {level: outside(loops, held) for level, held in around.held.items()}
        for number, operand in enumerate(context.operands[name]):
            for level, cut in cuts.items():
                real = _real_share(context, schedule, member, operand, block.swept[number], cut)
                all_bytes, once = int(moved[level][number]), int(met[level][number])
                real *= _masked_share(context, schedule, member, operand, cut)
                yield operand, level, all_bytes, real * once / max(all_bytes, 1)


def _real_share(
    context: CostContext, schedule: Schedule, view: OperatorView, operand: Operand, swept: Count, cut: Sequence[LoopView]
) -> Fraction:
    """The elements at points where a guard holds over those of all boxes; of windows in required regions, over their formula.

    Regions that coincide count once where they follow each other: no loop inside moves other elements there.
    """
    access, sizes = operand.access, planned_sizes(context.chain)
    axes, guard = access.axes(), access.guard.constraints if access.guard is not None else ()
    used = {view.operator.reads[node.read] for node in view.operator.scalars() if isinstance(node, Load)}
    if access in {*view.operator.reads} - used or any(context.chain.extents[axis] == 0 for axis in axes):
        return Fraction(0)
    if not guard and not axes & view.regions.keys():
        return Fraction(1)
    blocks = {axis: _blocks(sizes[axis], int(view.tiles[axis])) for axis in axes}
    loops = shared_loops(schedule)
    moving = axes.union(*(view.regions[axis].loops for axis in axes & view.regions.keys()))
    last = max((number for number, loop in enumerate(cut) if loop.trips > 1 and loop.axis in moving), default=0)
    apart = [number for number, loop in enumerate(cut[: min(last, len(loops))]) if loop.trips > 1]
    for axis in axes & view.regions.keys():
        still = [number for number, loop in enumerate(loops) if loop.axis not in view.regions[axis].loops]
        every = region_blocks(context.chain, schedule).items()
        moved = [(trips, found[view.operator.name, axis]) for trips, found in every if not any(trips[n] for n in still)]
        regions = dict.fromkeys((tuple(trips[n] for n in apart), start, max(start, stop)) for trips, (start, stop) in moved)
        blocks[axis] = tuple(region[1:] for region in regions)
    limits = tuple(constraint.with_extents(planned_extent) for constraint in guard if constraint.axes() <= axes)
    return Fraction(_distinct_positions(access.indices, limits, blocks), int(swept))


def _blocks(size: int, tile: int) -> Blocks:
    return tuple((start, min(start + tile, size)) for start in range(0, size, tile))


def _masked_share(
    context: CostContext, schedule: Schedule, view: OperatorView, operand: Operand, cut: Sequence[LoopView]
) -> Fraction:
    """What moves of the keys that masks let through over what moves of all keys, into a level whose blocks these loops cut."""
    key_mask, sizes = key_mask_of(context.chain), planned_sizes(context.chain)
    if key_mask is None or view.operator.name not in key_mask.operators or operand.is_intermediate:
        return Fraction(1)
    box = box_sizes(loops_around_mask(context.chain, schedule), sizes)
    rows = {axis: -(-sizes[axis] // box[axis]) for axis in key_mask.row_axes}
    _, first, stop, _ = block_keys(context.chain, tuple(box[axis] for axis in rows), *key_alignment(context, key_mask))
    every = 0 * stop + sizes[key_mask.axis]
    moved, whole = (_moved(sizes, view, operand, cut, key_mask.axis, rows, *keys) for keys in ((first, stop), (0 * first, every)))
    return Fraction(moved, whole)


def _moved(
    sizes: Mapping[str, int],
    view: OperatorView,
    operand: Operand,
    cut: Sequence[LoopView],
    keys: str,
    rows: Mapping[str, int],
    first: np.ndarray,
    stop: np.ndarray,
) -> int:
    """Elements that come and leave where blocks of rows, so many along every axis, need the keys from `first` to before `stop`.

    What is there stays until the region of the level is another one; of keys, what was not there comes.
    """
    loops = view.running()
    inside = next((number for number, loop in enumerate(loops) if loop.axis in (keys, *rows)), len(loops))  # others only repeat
    trips = [int(loop.trips) for loop in loops[inside:]]
    *trip, zero = np.indices((*trips, 1)).reshape(len(trips) + 1, -1)
    at = {loop.axis: number for loop, number in zip(loops[inside:], trip, strict=True)}
    row = zero
    for axis, count in rows.items():
        row = row * count + at.get(axis, zero) % count
    tile = int(view.tiles[keys]) if keys in at else sizes[keys]
    start = first[row] + tile * at.get(keys, zero)
    end = np.minimum(start + tile, stop[row])
    held = {axis: (start if axis == keys else number)[start < end] for axis, number in at.items() if axis in operand.axes}
    zero, start, end = (figure[start < end] for figure in (zero, start, end))
    piece = _numbered((zero, *held.values()))
    region = _numbered((zero, *(held[loop.axis] for loop in cut[inside:] if loop.axis in held and loop.trips > 1)))
    run = np.cumsum(np.diff(region, prepend=region[:1]) != 0)
    _, here, member = np.unique(_numbered((run, piece)), return_index=True, return_inverse=True)
    size = zero[here] + 1
    for axis in held.keys() - {keys}:
        size *= np.minimum(int(view.tiles[axis]), sizes[axis] - int(view.tiles[axis]) * held[axis][here])
    if keys in operand.axes:
        low, high = start[here], end[here]
        np.minimum.at(low, member, start)
        np.maximum.at(high, member, end)
        size *= high - low
    once = np.unique(piece[here], return_index=True)[1]
    return int(2 * size.sum() - size[once].sum() if operand.is_write else size.sum())


@lru_cache(maxsize=1)
def region_blocks(chain: Chain, schedule: Schedule) -> dict[tuple[int, ...], dict[Place, tuple[int, int]]]:
    """(start, the point behind the last) of all required regions by the trips of the shared loops, clamped as lowered."""
    region_axes, loops, sizes = schedule_region_axes(chain, schedule), shared_loops(schedule), planned_sizes(chain)
    found: dict[tuple[int, ...], dict[Place, tuple[int, int]]] = {}
    for trips in np.ndindex(*trip_counts(loops, sizes)):
        box = {axis: (0, size) for axis, size in sizes.items()}
        for loop, trip in zip(loops, trips, strict=True):
            start = box[loop.axis][0] + trip * loop.tile
            box[loop.axis] = start, min(start + loop.tile, box[loop.axis][1])
        found[trips] = regions = dict[Place, tuple[int, int]]()
        for place, region_axis in region_axes.items():
            ends = [_reached(reading, regions, box) for reading in region_axis.readings]
            start, stop = min(start for start, _ in ends), max(stop for _, stop in ends)
            if any(reading.is_guarded for reading in region_axis.readings):
                start, stop = max(start, 0), max(min(stop, sizes[place[1]]), 0)
            is_line_buffered = schedule.storage_of(chain.operator(place[0]).write.tensor) is Storage.LINE_BUFFER
            if is_line_buffered and trips[-1] and loops[-1].axis in region_axis.slopes:
                start = max(start, found[*trips[:-1], trips[-1] - 1][place][1])
            regions[place] = start, stop
    return found


def _reached(reading: Reading, regions: Mapping[Place, tuple[int, int]], box: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The first position that is read in a block, and the one behind the last."""
    first = last = reading.index.constant
    for atom, factor in reading.index.terms:
        start, stop = regions.get((reading.consumer, str(atom)), box[str(atom)])
        ends = (start, stop - 1)[:: 1 if factor > 0 else -1]
        first, last = first + factor * ends[0], last + factor * ends[1]
    return first, last + 1


def _joined(indices: Sequence[Index]) -> list[frozenset[str]]:
    """The axes of indices that have axes in common, directly or through others."""
    groups: list[frozenset[str]] = []
    for index in indices:
        touching = [group for group in groups if group & index.axes()]
        groups = [*(group for group in groups if group not in touching), index.axes().union(*touching)]
    return [group for group in groups if group]


def _distinct_positions(indices: tuple[Index, ...], limits: tuple[Index, ...], blocks: Mapping[str, Blocks]) -> int:
    """The distinct positions in every choice of a block per axis, at points where no limit is below 0, summed.

    What has no common axis multiplies.
    """
    count = 1
    for axes in _joined((*indices, *limits)):
        places, held = (tuple(index for index in some if index.axes() & axes) for some in (indices, limits))
        count *= _distinct(places, held, tuple((axis, blocks[axis]) for axis in sorted(axes)))
    return count


@lru_cache(maxsize=1 << 12)
def _distinct(indices: tuple[Index, ...], limits: tuple[Index, ...], blocks: tuple[tuple[str, Blocks], ...]) -> int:
    """The same of indices and limits that have axes in common."""
    points = np.ix_(*(np.concatenate([np.arange(*block) for block in of_axis]) for _, of_axis in blocks))
    numbers = np.ix_(*(np.repeat(np.arange(len(of_axis)), [stop - start for start, stop in of_axis]) for _, of_axis in blocks))
    at = dict(zip((axis for axis, _ in blocks), points, strict=True))
    figures = (*(limit.evaluate(at) for limit in limits), *numbers, *(index.evaluate(at) for index in indices))
    every = [np.ravel(figure) for figure in np.broadcast_arrays(np.zeros(1, int), *figures)]
    real = reduce(np.logical_and, [limit >= 0 for limit in every[: len(limits) + 1]])
    return len(np.unique(_numbered([figure[real] for figure in every[len(limits) + 1 :]])))


def _numbered(places: Iterable[np.ndarray]) -> np.ndarray:
    """A number for every position along some dimensions, the same for the same position."""
    first, *others = places
    for place in others:
        first = first * (place.max(initial=0) - place.min(initial=0) + 1) + place - place.min(initial=0)
    return first
