"""Space of schedules of a chain: ordered outer fused loops, and the loops that each operator may have below.

Axes with the same signature (they index the same accesses) are reused alike: they stand together in every order, in the order
of the output's dimensions, and the orders of such groups are enumerated, not those of single loops.

Movement depends on a tile only through its trip count, and memory use grows with it: for each trip count only the smallest
aligned tile matters. An axis of extent L has about 2*sqrt(L) distinct trip counts, so that all combinations are evaluated; of
very long axes those between the short tiles and the few trips are sampled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, permutations
from math import isqrt, lcm, prod
from typing import TypeAlias

import numpy as np

from tilewright.arrays import spread
from tilewright.graph.types import Chain, Operator, SymbolicExtent
from tilewright.leaves import registry
from tilewright.leaves.declaration import Constraints
from tilewright.plan.chains import derived_once, equal_axes, tensor_axes
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.regions.epilogues import uncut_axes
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.loop_views import ChainView, is_parallel, reordered, view_outer_loops
from tilewright.plan.regions.required_regions import Place, line_buffer_axis, region_axes_of
from tilewright.plan.schedule import FusedGroup, Storage, fused_schedule, planned_sizes, storage_below
from tilewright.plan.space.executability import is_executable, runs_below
from tilewright.records import record

MOST_TRIPS = 1 << 12
"""Shortest tiles, and smallest numbers of trips, that are all tried: every tile of axes up to 2^24 elements."""
FEW_TRIPS = 1 << 9
"""Of longer axes."""
TIE = 1.001
"""Figures within this factor of the best count as equal."""


def candidates(extent: int, multiple: int = 1) -> tuple[int, ...]:
    """`ceil(ceil(extent / t) / multiple) * multiple` for every trip count t, in increasing order.

    The last one covers the extent in one trip. Beyond `MOST_TRIPS` not every trip count has one.

    >>> candidates(50, 16)
    (16, 32, 64)
    """
    extent = max(extent, 1)
    root = isqrt(extent) + 1
    few = range(1, (root if root <= MOST_TRIPS else FEW_TRIPS) + 1)
    tiles = {*(tile for tile in few if tile < root), *(-(-extent // trips) for trips in few)}
    if not are_all(extent):
        tiles.update(_between(FEW_TRIPS, extent // FEW_TRIPS))
    return tuple(sorted({-(-tile // multiple) * multiple for tile in tiles}))


def are_all(extent: int) -> bool:
    """Whether the candidates of an axis are all that matter."""
    return isqrt(max(extent, 1)) + 1 <= MOST_TRIPS


def _between(low: int, high: int) -> Iterator[int]:
    """Tiles between two, each longer than the one before by an eighth."""
    while low < high:
        yield low
        low += low >> 3


def thinned(tiles: Sequence[int], limit: int) -> tuple[int, ...]:
    """At most `limit` of the tiles, evenly spread over the list, the smallest and the largest among them; of one, the largest.

    >>> thinned((1, 2, 3, 4, 5, 6, 7), 3)
    (1, 4, 7)
    """
    if len(tiles) <= limit:
        return tuple(tiles)
    if limit == 1:
        return (tiles[-1],)
    return tuple(tiles[round(i * (len(tiles) - 1) / (limit - 1))] for i in range(limit))


def places_in(every: Sequence[int], some: Sequence[int]) -> list[int]:
    """Where some of the tiles of an axis stand among all.

    >>> places_in((1, 2, 4, 8), (2, 8))
    [1, 3]
    """
    places = {tile: place for place, tile in enumerate(every)}
    return [places[tile] for tile in some]


def broadcast(axes: Sequence[str], tiles: Mapping[str, Sequence[int]], before: int = 0) -> dict[str, np.ndarray]:
    """One array per axis, each along a dimension of its own behind `before` others, so that they span all combinations."""
    rank = before + len(axes)
    shaped = {}
    for position, axis in enumerate(axes):
        shape = [1] * rank
        shape[before + position] = len(tiles[axis])
        shaped[axis] = np.array(tiles[axis], dtype=np.int64).reshape(shape)
    return shaped


def best_index(figures: np.ndarray, volumes: np.ndarray, tie: float = TIE) -> tuple[int, ...]:
    """The position of the smallest figure; among equal ones (within a factor `tie`) of the largest volume, then the first."""
    volume = np.where(figures <= figures.min() * tie, spread(volumes, figures.shape), -1)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(volume)), figures.shape))


MOST_OUTER_GROUPS = 4
"""Shared groups of loops besides those over batch axes. A contraction has at most three; only maps can have more."""
MOST_POINTS = 1 << 18
"""Combinations of tiles of one operator. Beyond them the longest lists of candidates are thinned, and the search is not exact."""
SMALLEST_DEPTH = 64
"""Reduction steps below which the ends of tiles outweigh the tiles; blocks of a reduction are multiples of it."""
MOST_LINE_BUFFERED = 2
"""Buffers of which every choice is tried when some of them can have a circular line buffer."""
LARGEST_MULTIPLE = 64
"""Rows of different kernels are aligned to their common multiple up to here, else to the larger of them."""

Group = tuple[str, ...]
Views = dict[Hashable, tuple[tuple[str, ...], ChainView]]
"""Of orders of outer loops with the same tiles: the first order of the same loops, and its view."""


@record
class Space:
    """The axes of a chain that loops may cut, in groups, with the tiles to try for each, smallest first."""

    context: CostContext
    batch: tuple[str, ...]
    """Their loops go outermost, one point at a time: nothing is reused along them."""
    groups: tuple[Group, ...]
    """All other axes by signature."""
    tiles: Mapping[str, tuple[int, ...]]
    """Of every axis in `batch` and `groups`; the last one covers the axis."""

    def outer_orders(self) -> tuple[tuple[str, ...], ...]:
        """All ordered outer loops that can be executed, shortest first; batch axes lead all of them.

        Chains without a contraction reuse nothing, so that only the order of the output's dimensions is kept for them.
        """
        chain = self.context.chain
        able = {axis for group in self.groups for axis in group if may_lead(chain, axis) and may_share(chain, (axis,))}
        free = [tuple(axis for axis in group if axis in able and self.outer_tiles(axis)) for group in self.groups]
        free = [group for group in free if group]
        found = []
        checked: dict[Hashable, bool] = {}
        for length in range(min(len(free), MOST_OUTER_GROUPS) + 1):
            orders: Iterable[tuple[Group, ...]] = permutations(free, length) if self.context.kernels else [tuple(free[:length])]
            found += [(*self.batch, *_flattened(order)) for order in orders]
        return tuple(order for order in found if len(chain.operators) == 1 or self._is_executable(order, checked))

    def _is_executable(self, outer_loops: tuple[str, ...], checked: dict[Hashable, bool]) -> bool:
        """Whether an order of outer loops can be executed; the order of its loops matters only where what is recomputed is summed
        along one."""
        chain = self.context.chain
        sums = any(axis.name in outer_loops for op in chain.operators[:-1] for axis in op.reduction_axes())
        key = outer_loops if sums and recomputes(chain, outer_loops) else frozenset(outer_loops)
        if key not in checked:
            checked[key] = may_share(chain, outer_loops)
        return checked[key]

    def variants(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Every order of outer loops with the intermediates that have circular line buffers along its last loop: none at first,
        then what may be.

        Any axis of the last group may be the one of the line buffer; of more than `MOST_LINE_BUFFERED` buffers all have circular
        line buffers together.
        """
        chain, outer_orders = self.context.chain, self.outer_orders()
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(outer_loops, ()) for outer_loops in outer_orders]
        for outer_loops in outer_orders if chain.intermediates else ():
            for turned in self._turned(outer_loops):
                for groups in _subsets(may_be_line_buffered(chain, turned)):
                    found.append((turned, _flattened(groups)))
        return tuple(found)

    def _turned(self, outer_loops: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The outer loops with each axis of its last group at the end."""
        last = next((group for group in self.groups if outer_loops and outer_loops[-1] in group), ())
        inside = [axis for axis in outer_loops if axis in last]
        for axis in inside:
            yield (*(outer for outer in outer_loops if outer != axis), axis)

    def inner_orders(self, operator: Operator, outer_loops: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The loop orders of one contraction below an order of outer loops: none at first, then all orders of the groups that are
        left.

        A chain of one operator has all its loops in the outer loops. Sums that stay in registers are not cut.
        """
        if operator.name not in self.context.kernels or len(self.context.chain.operators) == 1:
            return ((),)
        inner_axes = operator.axis_names - set(outer_loops) - uncut_axes(self.context.chain, operator)
        free = [tuple(axis for axis in group if axis in inner_axes) for group in self.groups]
        free = self._together(operator, [group for group in free if group])
        return ((), *map(_flattened, permutations(free))) if free else ((),)

    def _together(self, operator: Operator, groups: Sequence[Group]) -> list[Group]:
        """Groups that an operator's own accesses do not tell apart as one, where all of them index its right operand.

        Only then does the place of its Pack not depend on what stands between them.
        """
        operands, right = self.context.operands[operator.name], operator.reads[self.context.roles[operator.name].right]
        if not all(right.axes().issuperset(group) for group in groups):
            return list(groups)
        found: dict[frozenset[int], Group] = {}
        for group in groups:
            signature = frozenset(number for number, operand in enumerate(operands) if group[0] in operand.axes)
            found[signature] = (*found.get(signature, ()), *group)
        return list(found.values())

    def outer_tiles(self, axis: str) -> tuple[int, ...]:
        """The tiles of a shared loop. One that covers its axis is no loop, but the rest of its group may be."""
        if axis in self.batch:
            return (1,)
        tiles, is_symbolic = self.tiles[axis], isinstance(self.context.chain.extents[axis], SymbolicExtent)
        return tiles if is_symbolic or (axis,) not in self.groups else tiles[:-1]


def space_of(context: CostContext) -> Space:
    """The space of a chain: axes with one candidate, which a loop would cover in one trip, are left out."""
    chain = context.chain
    every = _candidates(context)
    loops = _that_may_cut(chain, every)
    batch = tuple(axis for axis in batch_axes(chain) if axis in loops)
    loops = _that_may_cut(chain, _thinned(context, batch, loops))
    output_first = dict.fromkeys((*tensor_axes(chain.operators[-1].write), *chain.extents))
    free = [axis for axis in output_first if axis in loops and axis not in batch]
    return Space(context, batch, _groups(context, free), loops)


def _that_may_cut(chain: Chain, tiles: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The axes that a loop would not cover in one trip, whatever the tile."""
    return {axis: t for axis, t in tiles.items() if len(t) > 1 or isinstance(chain.extents[axis], SymbolicExtent)}


def thinned_axes(context: CostContext) -> tuple[str, ...]:
    """The axes of which the space has not every tile that matters."""
    every, sizes, tiles = _candidates(context), planned_sizes(context.chain), space_of(context).tiles
    cut = _that_may_cut(context.chain, every)
    return tuple(axis for axis in cut if len(tiles.get(axis, ())) < len(every[axis]) or not are_all(sizes[axis]))


def batch_axes(chain: Chain) -> tuple[str, ...]:
    """Parallel axes that index every access of every contraction, and that all operators share, as far as loops over them run.

    Each of them may lead alone, but not all always together: see `executability.why_not_executable`.
    """
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    accesses = [access.axes() for operator in contractions for access in (*operator.reads, operator.write)]
    chosen: tuple[str, ...] = ()
    for axis in chain.shared_axes if contractions else ():
        is_able = all(axis in axes for axes in accesses) and is_parallel(chain, axis) and may_lead(chain, axis)
        if is_able and may_share(chain, (*chosen, axis)):
            chosen = (*chosen, axis)
    return chosen


@derived_once
def may_share(chain: Chain, outer_loops: tuple[str, ...]) -> bool:
    """Whether the blocks of an order of outer loops can be executed, and leaves find whole in them what they want so."""
    unbroken = _unbroken(chain)
    if unbroken and not unbroken.isdisjoint(region_axes_of(chain, storage_below(chain, outer_loops), outer_loops)):
        return False
    known = runs_below(chain, outer_loops)
    return is_executable(chain, fused_schedule(chain, outer_loops, {}, dict.fromkeys(outer_loops, 1))) if known is None else known


def recomputes(chain: Chain, outer_loops: tuple[str, ...]) -> bool:
    """Whether some intermediate is computed more than once under an order of outer loops."""
    return Storage.RECOMPUTE in storage_below(chain, outer_loops).values()


def axis_multiple(context: CostContext, axis: str) -> int:
    """What tiles of an axis are multiples of: columns and interleaved steps of packed panels (required); rows, vectors of maps,
    and blocks of reductions."""
    columns, steps, rows, depths = [1], [1], [1], [1]
    for operator in context.chain.operators:
        if axis not in operator.axis_names:
            continue
        asked = registry.constraints_of(context.leaves[operator.name])
        columns += [count for name, count in asked.panels if name == axis]
        if operator.name in context.kernels:
            steps += [count for name, count in asked.steps if name == axis]
            rows += [count for name, count in asked.largest if name == axis]
            depths += [SMALLEST_DEPTH for name, _ in asked.steps if name == axis]
        elif axis == operator.write.innermost():
            rows.append(context.lanes(operator))
    required = lcm(*columns, *steps)
    preferred = lcm(required, *rows, *(depths if max(columns) == 1 else ()))
    return preferred if preferred <= max(LARGEST_MULTIPLE, required) else -(-max(rows) // required) * required


def are_cut(
    space: Space, outer_loops: Sequence[str], line_buffered: Sequence[str], tiles: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Where tiles are no case of fewer outer loops: they cut an axis of every group, and the one of the line buffer."""
    groups = [[axis for axis in group if axis in outer_loops] for group in space.groups]
    every = np.array(True)
    for group in [*(group for group in groups if len(group) > 1), list(outer_loops[-1:] if line_buffered else ())]:
        loops = [axis for axis in group if not isinstance(space.context.chain.extents[axis], SymbolicExtent)]
        if group and loops == group:
            every = every & reduce(np.logical_or, [tiles[axis] < space.context.sizes[axis] for axis in group])
    return every


def shared_view(
    space: Space,
    outer_loops: tuple[str, ...],
    line_buffered: tuple[str, ...],
    tiles: Mapping[str, np.ndarray],
    fused_groups: tuple[FusedGroup, ...],
    views: Views,
) -> ChainView:
    """The view of an order of outer loops without inner loops; orders of the same loops have one in common, but for trees."""
    chain, key = space.context.chain, (frozenset(outer_loops), line_buffered, outer_loops[-1] if line_buffered else "")
    if fused_groups:
        return view_outer_loops(chain, outer_loops, tiles, storage_below(chain, outer_loops, line_buffered), fused_groups)
    if key not in views:
        storage = storage_below(chain, outer_loops, line_buffered)
        views[key] = outer_loops, view_outer_loops(chain, outer_loops, tiles, storage)
    order, view = views[key]
    return view if order == outer_loops else reordered(view, [order.index(axis) for axis in outer_loops])


def may_lead(chain: Chain, axis: str) -> bool:
    """A shared loop needs an axis of the sink, along which all producers that have it walk like their consumers, or follow.

    Axes that a leaf wants whole stay below.
    """
    if axis not in chain.operators[-1].axis_names or any(axis in asked.whole_axes for _, asked in _asked(chain)):
        return False
    having = [op for op in chain.operators[:-1] if axis in op.axis_names]
    apart = [op for op in having if axis not in equal_axes(chain, op.write.tensor)]
    if not apart:
        return True
    region_axes = region_axes_of(chain, storage_below(chain, (axis,)), (axis,))
    return all((op.name, axis) in region_axes for op in apart)


@derived_once
def _asked(chain: Chain) -> tuple[tuple[str, Constraints], ...]:
    """What leaves ask of the loops around operators, by their names."""
    return registry.asked(chain.operators, chain.tensors)


@derived_once
def _unbroken(chain: Chain) -> frozenset[Place]:
    """Axes of operators along which these compute no required regions."""
    return frozenset((name, axis) for name, asked in _asked(chain) for axis in asked.unbroken)


def _candidates(context: CostContext) -> dict[str, tuple[int, ...]]:
    """Of every axis: the smallest aligned tile for each number of trips."""
    return {axis: candidates(size, axis_multiple(context, axis)) for axis, size in planned_sizes(context.chain).items()}


def _subsets(groups: Sequence[Group]) -> Iterator[tuple[Group, ...]]:
    """Every choice of some of the groups, all of them first."""
    sizes = range(len(groups), 0, -1) if len(groups) <= MOST_LINE_BUFFERED else [len(groups)]
    return (chosen for size in sizes for chosen in combinations(groups, size))


def _groups(context: CostContext, axes: Sequence[str]) -> tuple[Group, ...]:
    """The axes by signature; every axis for itself where no contraction reuses anything."""
    if not context.kernels:
        return tuple((axis,) for axis in axes)
    groups: dict[frozenset[tuple[str, int]], list[str]] = {}
    numbered = [(name, number, one) for name, operands in context.operands.items() for number, one in enumerate(operands)]
    for axis in axes:
        signature = frozenset((name, number) for name, number, operand in numbered if axis in operand.axes)
        groups.setdefault(signature, []).append(axis)
    return tuple(tuple(group) for group in groups.values())


def _thinned(context: CostContext, batch: Iterable[str], tiles: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    """The tiles themselves, unless an operator has more than `MOST_POINTS` combinations: then its longest lists are halved."""
    for operator in context.chain.operators:
        axes = [axis.name for axis in operator.axes if axis.name in tiles and axis.name not in set(batch)]
        tiles = halved(tiles, axes, MOST_POINTS)
    return tiles


def halved(tiles: Choices, axes: Sequence[str], most: int) -> Choices:
    """The tiles, of which the longest lists of some axes are halved until these have no more than so many combinations."""
    while prod(len(tiles[axis]) for axis in axes) > most:
        longest = max(axes, key=lambda axis: len(tiles[axis]))
        tiles = {**tiles, longest: thinned(tiles[longest], -(-len(tiles[longest]) // 2))}
    return tiles


def _flattened(groups: Iterable[Group]) -> tuple[str, ...]:
    return reduce(lambda left, right: left + right, groups, ())


def may_be_line_buffered(chain: Chain, outer_loops: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The intermediates that can have a circular line buffer along the last loop of an order of outer loops; those that share a
    buffer together."""
    storage = storage_below(chain, outer_loops)
    region_axes = region_axes_of(chain, storage, outer_loops)
    able = {tensor for tensor in storage if outer_loops and line_buffer_axis(chain, region_axes, tensor, outer_loops[-1])}
    return tuple(group for group in in_place_groups(chain) if able.issuperset(group))


Choices: TypeAlias = Mapping[str, tuple[int, ...]]
"""Tiles to try, by axis."""
