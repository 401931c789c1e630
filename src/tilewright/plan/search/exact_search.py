"""Exact search of the fusion level: every prefix with every own order and, where memory is short, trees below it.

Prefixes are searched in the order of what they cost at least (`bounds`); those that cannot win are skipped. Trees (`loop_trees`)
follow when the best without them is known. Equal prices go to larger tiles, shorter prefixes and fewer loops. The price of this
level counts the nearest level inside a block only: `inner_loops` refines the best few plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost_context import ELEMENT_BYTES, CostContext
from tilewright.plan.model.price_check import no_price
from tilewright.plan.model.threads import LEAST_PARALLEL_S
from tilewright.plan.schedule import Segment
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import Blocks, Prefix
from tilewright.plan.space.loop_trees import executable_segments, possible_segments, segmentations, tree_choices
from tilewright.plan.space.schedule_space import Views, space_of

KEPT_BOUNDS = 8
"""Prefixes that were not searched of which the bound is kept, shortest first."""


def search(context: CostContext) -> tuple[Candidate, ...]:
    """The best candidate of every prefix that can compete, the winner first, then by price.

    Prefixes are searched in the order of their bounds; a longer one must gain `least_gain`.
    """
    space = space_of(context)
    bounds = Bounds(space)
    blocks, views = Blocks(), Views()
    prefixes = [Prefix(space, prefix, rolled, blocks, views=views) for prefix, rolled in space.variants()]
    if not prefixes:
        raise no_price(context.chain, context.machine, "no order of loops can be executed, not even none")
    least = [prefix.least(bounds) for prefix in prefixes]
    enough = min(context.enough_blocks, max(prefix.most_blocks() for prefix in prefixes))
    found: dict[int, Candidate] = {}
    if segments := possible_segments(space):
        keeping = [number for number, prefix in enumerate(prefixes) if prefix.keeps_all()]
        _search(context, prefixes, least, found, keeping, enough)
        trees = list(_trees(bounds, [prefixes[number] for number in keeping], segments, found, enough))
        prefixes, least = [*prefixes, *trees], [*least, *(tree.least(bounds) for tree in trees)]
    _search(context, prefixes, least, found, range(len(prefixes)), enough)
    unlike: dict[str, Candidate] = {}
    for number in sorted(found):
        unlike.setdefault(str(found[number]), found[number])
    candidates = list(unlike.values())
    winner = _winner(context, candidates)
    skipped = [number for number in range(len(prefixes)) if number not in found][:KEPT_BOUNDS]
    lost = [*(c for c in candidates if c is not winner), *(prefixes[number].at_least(*least[number]) for number in skipped)]
    return (winner, *sorted(lost, key=lambda candidate: (candidate.is_bound, candidate.cores_s)))


def _search(
    context: CostContext,
    prefixes: Sequence[Prefix],
    least: Sequence[tuple[np.ndarray, np.ndarray]],
    found: dict[int, Candidate],
    numbers: Iterable[int],
    enough: int,
) -> None:
    """Add to `found` what those of some prefixes give that can still win, in the order of their bounds."""
    for number in sorted(set(numbers) - set(found), key=lambda number: (bool(prefixes[number].rolled), least[number][0].min())):
        price, used = least[number]
        bound, bound_of_spills = (_bound(context, found, number, enough, spills) for spills in (False, True))
        may_fit = used * ELEMENT_BYTES <= context.capacity_bytes
        here = prefixes[number].restricted((price <= bound) & (may_fit | (price <= bound_of_spills)))
        if here is not None and not (_is_few(context, here, enough) and bound < np.inf):
            found[number] = here.best()


def _trees(
    bounds: Bounds, prefixes: Sequence[Prefix], segments: Sequence[Segment], found: Mapping[int, Candidate], enough: int
) -> Iterator[Prefix]:
    """Every one of some prefixes with segments below it, where the memory that they save can matter.

    No operator gets cheaper by a segment than it is with the best loops of its own and as much memory.
    """
    context = bounds.context
    bound = _bound(context, found, max(found, default=0) + 1, enough, spills=False)
    for prefix in prefixes:
        free = [segment for segment in segments if not set(segment.axes) & set(prefix.prefix)]
        here = prefix.restricted(prefix.least(bounds, live=0)[0] <= bound) if free else None
        if here is not None and not (_is_few(context, here, enough) and bound < np.inf):
            yield from _trees_below(here, free, bound)


def _trees_below(prefix: Prefix, segments: Sequence[Segment], bound: float) -> Iterator[Prefix]:
    """The prefix with every choice of segments that can be executed, and the tiles that may cost no more than the bound."""
    space = prefix.space
    here = prefix.restricted(prefix.at_best(prefix.least_live(segmentations(segments))) <= bound)
    able = executable_segments(space, prefix.prefix, segments) if here is not None else ()
    if here is not None and able:
        for below in segmentations(able):
            yield Prefix(space, prefix.prefix, (), {}, tree_choices(space, here.choices, below), below)


def _bound(context: CostContext, found: Mapping[int, Candidate], number: int, enough: int, spills: bool) -> float:
    """The price above which a prefix, or tiles of it, cannot win after those that were found; infinite if there are none.

    An earlier prefix may be dearer than the best by `least_gain`, a later one must gain as much. What was found but does not fit
    bounds only what cannot fit (`spills`).
    """
    coefficients = context.coefficients
    able = {
        other: candidate.cores_s
        for other, candidate in found.items()
        if (spills or candidate.used_bytes <= context.capacity_bytes)
        and (candidate.blocks >= enough or candidate.seconds <= LEAST_PARALLEL_S)
    }
    if not able:
        return float("inf")
    before = [seconds / coefficients.least_gain for other, seconds in able.items() if other < number]
    return min([min(able.values()) * coefficients.least_gain * coefficients.equal_within, *before])


def _is_few(context: CostContext, prefix: Prefix, enough: int) -> bool:
    """Whether a prefix can only have fewer blocks than the work is worth."""
    return prefix.most_blocks() < enough and context.arithmetic_s > LEAST_PARALLEL_S


def _winner(context: CostContext, found: Sequence[Candidate]) -> Candidate:
    """The first of those that fit, have enough blocks, and cost no more than what another loop must gain."""
    able = [c for c in found if c.used_bytes <= context.capacity_bytes] or list(found)
    if not able:
        raise no_price(context.chain, context.machine, "every schedule has a price that is not a number")
    if min(candidate.seconds for candidate in able) > LEAST_PARALLEL_S:
        most = min(context.enough_blocks, max(candidate.blocks for candidate in able))
        able = [candidate for candidate in able if candidate.blocks >= most]
    fastest = min(candidate.cores_s for candidate in able)
    winner = next((c for c in able if 0 <= c.cores_s <= fastest * context.coefficients.least_gain), None)
    if winner is None:
        raise no_price(context.chain, context.machine, f"the prices are {[c.cores_s for c in able]}")
    return winner
