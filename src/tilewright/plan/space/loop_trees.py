"""Trees of loops: consecutive operators that share further loops inside those that all operators share.

Under an order of outer loops, an intermediate whose block does not fit the fusion level can be held in smaller blocks still: the
operators from its producer to the one that sums it away share a loop over the summed axis, and the sum grows from block to block.
What reads that sum stands behind the loop and finds it complete. So a partially fused group follows from its axes (a group of one
signature): it is all operators that have them, the last one sums them, and all before it work on them block by block. Fused
groups of one schedule do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.plan.schedule import FusedGroup, fused_schedule
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import Choices, Group, Space, halved

MOST_TREE_POINTS = 1 << 14
"""Combinations of tiles of an order of outer loops and its fused groups. Beyond them the longest lists are halved, and the search
is not exact."""
MOST_FUSED_GROUPS = 4
"""Of a chain whose trees are searched: choices of fused groups, and tiles of each, multiply. Chains of more layers are searched
without trees; parts of them, which a cut leaves, with trees again."""


def possible_fused_groups(space: Space) -> tuple[FusedGroup, ...]:
    """The fused groups that the axes of a chain allow, in the order of their operators; none beyond `MOST_FUSED_GROUPS`."""
    found = [fused_group for group in space.groups if (fused_group := _fused_group(space, group))]
    if len(found) > MOST_FUSED_GROUPS:
        return ()
    names = [operator.name for operator in space.context.chain.operators]
    return tuple(sorted(found, key=lambda fused_group: names.index(fused_group.operators[0])))


def executable_fused_groups(space: Space, outer_loops: tuple[str, ...], groups: Sequence[FusedGroup]) -> tuple[FusedGroup, ...]:
    """Those of the fused groups that can be executed below an order of outer loops."""
    chain = space.context.chain
    points = (dict.fromkeys((*outer_loops, *group.axes), 1) for group in groups)
    bare = [fused_schedule(chain, outer_loops, {}, of, fused_groups=(g,)) for g, of in zip(groups, points, strict=True)]
    return tuple(group for group, schedule in zip(groups, bare, strict=True) if is_executable(chain, schedule))


def group_choices(fused_groups: Sequence[FusedGroup]) -> Iterator[tuple[FusedGroup, ...]]:
    """Every choice of fused groups without common operators to which none can be added: tiles that cover an axis take one
    away."""
    for chosen in _disjoint(fused_groups):
        if all(group in chosen or any(_overlap(group, member) for member in chosen) for group in fused_groups):
            yield chosen


def tree_choices(space: Space, outer_loops: Choices, fused_groups: Sequence[FusedGroup]) -> Choices:
    """The tiles to try of an order of outer loops and of the fused groups below it, in the chain's order of axes."""
    inside = {axis: space.tiles[axis] for fused_group in fused_groups for axis in fused_group.axes}
    every = {**outer_loops, **inside}
    axes = [axis for axis in space.context.sizes if axis in every]
    return halved({axis: every[axis] for axis in axes}, axes, MOST_TREE_POINTS)


def _fused_group(space: Space, axes: Group) -> FusedGroup | None:
    """All operators that have the axes, if they stand together, are some of several, and the last one alone sums the axes."""
    operators = space.context.chain.operators
    places = [place for place, operator in enumerate(operators) if operator.axis_names & set(axes)]
    together = places == list(range(places[0], places[-1] + 1))
    summed = {axis.name for axis in operators[places[-1]].reduction_axes()}
    if not together or not 1 < len(places) < len(operators) or not summed.issuperset(axes):
        return None
    return FusedGroup(tuple(operators[place].name for place in places), axes)


def _disjoint(fused_groups: Sequence[FusedGroup]) -> Iterator[tuple[FusedGroup, ...]]:
    """Every choice of fused groups without common operators."""
    if not fused_groups:
        yield ()
        return
    first, *rest = fused_groups
    yield from ((first, *more) for more in _disjoint([group for group in rest if not _overlap(first, group)]))
    yield from _disjoint(rest)


def _overlap(left: FusedGroup, right: FusedGroup) -> bool:
    return not set(left.operators).isdisjoint(right.operators)
