"""Space of schedules of a chain: ordered prefixes of shared loops, and the loops that each operator may have below.

Axes with the same signature (they index the same accesses) are reused alike: they stand together in every order, in the order
of the output's dimensions, and the orders of such groups are enumerated, not those of single loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations
from math import lcm, prod
from typing import TypeAlias

import numpy as np

from tilewright.graph.types import Chain, Operator, SymbolicExtent
from tilewright.plan.chain_analysis import derived_once
from tilewright.plan.chains import axis_names, equal_axes, tensor_axes
from tilewright.plan.loop_orders import prefix_storage, prefixed
from tilewright.plan.model.cost_context import ELEMENT_BYTES, CostContext
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.loop_views import ChainView, reordered, view_prefix
from tilewright.plan.regions.parallel_loops import is_parallel
from tilewright.plan.regions.required_regions import follows, rolled_axis
from tilewright.plan.regions.trip_counts import planned_sizes
from tilewright.plan.schedule import Segment, Storage
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.tile_sizes import candidates, thinned

LONGEST_PREFIX = 4
"""Shared groups of loops besides those over batch axes. A contraction has at most three; only maps can have more."""
MOST_POINTS = 1 << 18
"""Combinations of tiles of one operator. Beyond them the longest lists of candidates are thinned, and the search is not exact."""
SMALLEST_DEPTH = 64
"""Reduction steps below which the ends of tiles outweigh the tiles; blocks of a reduction are multiples of it."""
MOST_ROLLED = 2
"""Buffers of which every choice is tried when some of them can be rolled."""
LARGEST_MULTIPLE = 64
"""Rows of different kernels are aligned to their common multiple up to here, else to the larger of them."""

Group = tuple[str, ...]
Views = dict[Hashable, tuple[tuple[str, ...], ChainView]]
"""Of prefixes with the same tiles: the first order of the same loops, and its view."""


@dataclass(frozen=True, slots=True)
class Space:
    """The axes of a chain that loops may cut, in groups, with the tiles to try for each, smallest first."""

    context: CostContext
    batch: tuple[str, ...]
    """Their loops go outermost, one point at a time: nothing is reused along them."""
    groups: tuple[Group, ...]
    """All other axes by signature."""
    tiles: Mapping[str, tuple[int, ...]]
    """Of every axis in `batch` and `groups`; the last one covers the axis."""

    def prefixes(self) -> tuple[tuple[str, ...], ...]:
        """Every ordered prefix that can be executed, shortest first; batch axes lead all of them.

        Chains without a contraction reuse nothing, so that only the order of the output's dimensions is kept for them.
        """
        chain = self.context.chain
        able = {axis for group in self.groups for axis in group if may_lead(chain, axis) and not why_not(chain, (axis,))}
        free = [tuple(axis for axis in group if axis in able and self.prefix_tiles(axis)) for group in self.groups]
        free = [group for group in free if group]
        found = []
        checked: dict[Hashable, bool] = {}
        for length in range(min(len(free), LONGEST_PREFIX) + 1):
            for order in permutations(free, length):
                if self.context.kernels or order == tuple(free[:length]):
                    found.append((*self.batch, *_joined(order)))
        return tuple(prefix for prefix in found if len(chain.operators) == 1 or self._is_executable(prefix, checked))

    def _is_executable(self, prefix: tuple[str, ...], checked: dict[Hashable, bool]) -> bool:
        """Whether a prefix can be executed; the order of its loops matters only where what is recomputed is summed along one."""
        chain = self.context.chain
        sums = any(axis.name in prefix for op in chain.operators[:-1] for axis in op.reduction_axes())
        key = prefix if sums and recomputes(chain, prefix) else frozenset(prefix)
        if key not in checked:
            checked[key] = not why_not(chain, prefix)
        return checked[key]

    def variants(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Every prefix with the intermediates that are rolled along its last loop: none at first, then what may be.

        Any axis of the last group may be the one to roll along; of more than `MOST_ROLLED` buffers all are rolled together.
        """
        chain, prefixes = self.context.chain, self.prefixes()
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(prefix, ()) for prefix in prefixes]
        for prefix in prefixes:
            for turned in self._turned(prefix):
                for groups in _subsets(may_roll(chain, turned)):
                    found.append((turned, _joined(groups)))
        return tuple(found)

    def _turned(self, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """The prefix with each axis of its last group at the end."""
        last = next((group for group in self.groups if prefix and prefix[-1] in group), ())
        inside = [axis for axis in prefix if axis in last]
        for axis in inside:
            yield (*(other for other in prefix if other != axis), axis)

    def own_orders(self, operator: Operator, prefix: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The loop orders of one contraction below a prefix: none at first, then all orders of the groups that are left.

        A chain of one operator has all its loops in the prefix.
        """
        if operator.name not in self.context.kernels or len(self.context.chain.operators) == 1:
            return ((),)
        own = axis_names((operator,)) - set(prefix)
        free = [tuple(axis for axis in group if axis in own) for group in self.groups]
        free = self._together(operator, [group for group in free if group])
        return ((), *map(_joined, permutations(free))) if free else ((),)

    def _together(self, operator: Operator, groups: Sequence[Group]) -> list[Group]:
        """Groups that an operator's own accesses do not tell apart as one, where all of them index its right operand.

        Only then does the place of its Pack not depend on what stands between them.
        """
        operands, right = self.context.operands[operator.name], operator.reads[self.context.roles[operator.name].right]
        if not all(right.axes().issuperset(group) for group in groups):
            return list(groups)
        found: dict[frozenset[int], Group] = {}
        for group in groups:
            signature = frozenset(number for number, one in enumerate(operands) if group[0] in one.axes)
            found[signature] = (*found.get(signature, ()), *group)
        return list(found.values())

    def prefix_tiles(self, axis: str) -> tuple[int, ...]:
        """The tiles of a shared loop. One that covers its axis is no loop, but the rest of its group may be."""
        if axis in self.batch:
            return (1,)
        tiles, is_symbolic = self.tiles[axis], isinstance(self.context.chain.extents[axis], SymbolicExtent)
        return tiles if is_symbolic or (axis,) not in self.groups else tiles[:-1]


def space_of(context: CostContext) -> Space:
    """The space of a chain: axes with one candidate, which a loop would cover in one trip, are left out."""
    chain = context.chain
    every = _candidates(context)
    loops = {a: t for a, t in every.items() if len(t) > 1 or isinstance(chain.extents[a], SymbolicExtent)}
    batch = tuple(axis for axis in batch_axes(chain) if axis in loops)
    free = [axis for axis in _output_first(chain) if axis in loops and axis not in batch]
    return Space(context, batch, _groups(context, free), _thinned(context, batch, loops))


def thinned_axes(context: CostContext) -> tuple[str, ...]:
    """The axes of which the space has not every tile that matters."""
    every = _candidates(context)
    return tuple(axis for axis, tiles in space_of(context).tiles.items() if len(tiles) < len(every[axis]))


def batch_axes(chain: Chain) -> tuple[str, ...]:
    """Parallel axes that index every access of every contraction, and that all operators share, as far as loops over them run.

    Each of them may lead alone, but not all always together: see `executability.why_not_executable`.
    """
    chosen: tuple[str, ...] = ()
    for axis in _shared_by_contractions(chain):
        if not why_not(chain, (*chosen, axis)):
            chosen = (*chosen, axis)
    return chosen


def _shared_by_contractions(chain: Chain) -> tuple[str, ...]:
    """Parallel axes that index every access of every contraction, that all operators share, and that may lead."""
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    accesses = [access.axes() for operator in contractions for access in (*operator.reads, operator.write)]
    shared = set(chain.shared_axes).intersection(*accesses) if accesses else set()
    return tuple(axis for axis in chain.shared_axes if axis in shared and is_parallel(chain, axis) and may_lead(chain, axis))


@derived_once
def why_not(chain: Chain, prefix: tuple[str, ...]) -> str:
    """Why the blocks of a prefix cannot be executed; empty if they can."""
    return why_not_executable(chain, prefixed(chain, prefix, {}, dict.fromkeys(prefix, 1)))


def recomputes(chain: Chain, prefix: tuple[str, ...]) -> bool:
    """Whether some intermediate is computed more than once under a prefix."""
    return Storage.RECOMPUTE in prefix_storage(chain, prefix).values()


def axis_multiple(context: CostContext, axis: str) -> int:
    """What tiles of an axis are multiples of: columns of packed panels (required); rows, vectors of maps and reduction blocks."""
    columns, rows, depths = [1], [1], [1]
    for operator in context.chain.operators:
        if operator.name in context.kernels:
            roles, kernel = context.roles[operator.name], context.kernels[operator.name]
            columns += [kernel.columns] * (axis == roles.column)
            rows += [kernel.rows] * (axis == roles.row)
            depths += [SMALLEST_DEPTH] * (axis == roles.depth)
        elif axis == operator.write.innermost():
            rows.append(context.machine.vector_bits // (8 * ELEMENT_BYTES))
    required = lcm(*columns)
    preferred = lcm(*columns, *rows, *(depths if required == 1 else ()))
    return preferred if preferred <= max(LARGEST_MULTIPLE, required) else -(-max(rows) // required) * required


def are_cut(space: Space, prefix: Sequence[str], rolled: Sequence[str], tiles: Mapping[str, np.ndarray]) -> np.ndarray:
    """Where tiles are no case of a prefix with fewer loops: they cut an axis of every group, and the one to roll along."""
    groups = [[axis for axis in group if axis in prefix] for group in space.groups]
    every = np.array(True)
    for group in [*(group for group in groups if len(group) > 1), list(prefix[-1:] if rolled else ())]:
        loops = [axis for axis in group if not isinstance(space.context.chain.extents[axis], SymbolicExtent)]
        if group and loops == group:
            every = every & reduce(np.logical_or, [tiles[axis] < space.context.sizes[axis] for axis in group])
    return every


def shared_view(
    space: Space,
    prefix: tuple[str, ...],
    rolled: tuple[str, ...],
    tiles: Mapping[str, np.ndarray],
    segments: tuple[Segment, ...],
    views: Views,
) -> ChainView:
    """The view of a prefix without own loops; orders of the same loops have one in common, but for trees."""
    chain, key = space.context.chain, (frozenset(prefix), rolled, prefix[-1] if rolled else "")
    if segments:
        return view_prefix(chain, prefix, {}, tiles, prefix_storage(chain, prefix, rolled), segments)
    if key not in views:
        views[key] = prefix, view_prefix(chain, prefix, {}, tiles, prefix_storage(chain, prefix, rolled))
    order, view = views[key]
    return view if order == prefix else reordered(view, [order.index(axis) for axis in prefix])


def may_lead(chain: Chain, axis: str) -> bool:
    """A shared loop needs an axis of the sink, along which all producers that have it walk like their consumers, or follow."""
    if axis not in axis_names((chain.operators[-1],)):
        return False
    having = [op for op in chain.operators[:-1] if axis in axis_names((op,))]
    apart = [op for op in having if axis not in equal_axes(chain, op.write.tensor)]
    if not apart:
        return True
    follow = follows(chain, prefix_storage(chain, (axis,)), (axis,))
    return all((op.name, axis) in follow for op in apart)


def _candidates(context: CostContext) -> dict[str, tuple[int, ...]]:
    """Of every axis: the smallest aligned tile for each number of trips."""
    return {axis: candidates(size, axis_multiple(context, axis)) for axis, size in planned_sizes(context.chain).items()}


def _subsets(groups: Sequence[Group]) -> Iterator[tuple[Group, ...]]:
    """Every choice of some of the groups, all of them first."""
    sizes = range(len(groups), 0, -1) if len(groups) <= MOST_ROLLED else [len(groups)]
    return (chosen for size in sizes for chosen in combinations(groups, size))


def _output_first(chain: Chain) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tensor_axes(chain.operators[-1].write), *chain.extents)))


def _groups(context: CostContext, axes: Sequence[str]) -> tuple[Group, ...]:
    """The axes by signature; every axis for itself where no contraction reuses anything."""
    if not context.kernels:
        return tuple((axis,) for axis in axes)
    groups: dict[frozenset[tuple[str, int]], list[str]] = {}
    for axis in axes:
        signature = frozenset(
            (name, number) for name, own in context.operands.items() for number, one in enumerate(own) if axis in one.axes
        )
        groups.setdefault(signature, []).append(axis)
    return tuple(tuple(group) for group in groups.values())


def _thinned(context: CostContext, batch: Iterable[str], tiles: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    """The tiles themselves, unless an operator has more than `MOST_POINTS` combinations: then its longest lists are halved."""
    kept = dict(tiles)
    for operator in context.chain.operators:
        axes = [axis.name for axis in operator.axes if axis.name in kept and axis.name not in set(batch)]
        while prod(len(kept[axis]) for axis in axes) > MOST_POINTS:
            longest = max(axes, key=lambda axis: len(kept[axis]))
            kept[longest] = thinned(kept[longest], -(-len(kept[longest]) // 2))
    return kept


def _joined(groups: Iterable[Group]) -> tuple[str, ...]:
    return reduce(lambda one, other: one + other, groups, ())


def may_roll(chain: Chain, prefix: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The intermediates that can be rolled along the last loop of a prefix; those that share a buffer together."""
    storage = prefix_storage(chain, prefix)
    follow = follows(chain, storage, prefix)
    able = {tensor for tensor in storage if prefix and rolled_axis(chain, follow, tensor, prefix[-1])}
    return tuple(group for group in in_place_groups(chain) if able.issuperset(group))


Choices: TypeAlias = Mapping[str, tuple[int, ...]]
"""Tiles to try, by axis."""
