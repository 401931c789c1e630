"""Trees of loops: consecutive operators that share further loops inside those that all operators share.

Under a prefix, an intermediate whose block does not fit the fusion level can be held in smaller blocks still: the operators from
its producer to the one that sums it away share a loop over the summed axis, and the sum grows from block to block. What reads
that sum stands behind the loop and finds it complete. So a segment follows from its axes (a group of one signature): it is all
operators that have them, the last one sums them, and all before it work on them block by block. Segments of one schedule do not
overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewright.plan.chains import axis_names
from tilewright.plan.loop_orders import prefixed
from tilewright.plan.schedule import Segment
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import Choices, Group, Space
from tilewright.plan.space.tile_sizes import thinned

MOST_TREE_POINTS = 1 << 14
"""Combinations of tiles of a prefix and its segments. Beyond them the longest lists are halved, and the search is not exact."""
MOST_SEGMENTS = 4
"""Of a chain whose trees are searched: choices of segments, and tiles of each, multiply. Chains of more layers are searched
without trees; parts of them, which a cut leaves, with trees again."""


def possible_segments(space: Space) -> tuple[Segment, ...]:
    """The segments that the axes of a chain allow, in the order of their operators; none beyond `MOST_SEGMENTS`."""
    found = [segment for group in space.groups if (segment := _segment(space, group))]
    if len(found) > MOST_SEGMENTS:
        return ()
    names = [operator.name for operator in space.context.chain.operators]
    return tuple(sorted(found, key=lambda segment: names.index(segment.operators[0])))


def executable_segments(space: Space, prefix: tuple[str, ...], segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Those of the segments that can be executed below a prefix."""
    chain = space.context.chain
    bare = ((one, prefixed(chain, prefix, {}, dict.fromkeys((*prefix, *one.axes), 1), segments=(one,))) for one in segments)
    return tuple(segment for segment, schedule in bare if is_executable(chain, schedule))


def segmentations(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Every choice of segments without common operators to which none can be added: tiles that cover an axis take one away."""
    for chosen in _apart(segments):
        if all(one in chosen or any(_overlap(one, other) for other in chosen) for one in segments):
            yield chosen


def tree_choices(space: Space, prefix: Choices, segments: Sequence[Segment]) -> Choices:
    """The tiles to try of a prefix and of the segments below it, in the chain's order of axes."""
    inside = {axis: space.tiles[axis] for segment in segments for axis in segment.axes}
    kept = {axis: ({**prefix, **inside})[axis] for axis in space.context.sizes if axis in prefix or axis in inside}
    while prod(map(len, kept.values())) > MOST_TREE_POINTS:
        longest = max(kept, key=lambda axis: len(kept[axis]))
        kept[longest] = thinned(kept[longest], -(-len(kept[longest]) // 2))
    return kept


def _segment(space: Space, axes: Group) -> Segment | None:
    """All operators that have the axes, if they stand together, are some of several, and the last one alone sums the axes."""
    operators = space.context.chain.operators
    places = [place for place, operator in enumerate(operators) if axis_names((operator,)) & set(axes)]
    together = places == list(range(places[0], places[-1] + 1))
    summed = {axis.name for axis in operators[places[-1]].reduction_axes()}
    if not together or not 1 < len(places) < len(operators) or not summed.issuperset(axes):
        return None
    return Segment(tuple(operators[place].name for place in places), axes)


def _apart(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Every choice of segments without common operators."""
    if not segments:
        yield ()
        return
    first, *rest = segments
    yield from ((first, *more) for more in _apart([other for other in rest if not _overlap(first, other)]))
    yield from _apart(rest)


def _overlap(one: Segment, other: Segment) -> bool:
    return not set(one.operators).isdisjoint(other.operators)
