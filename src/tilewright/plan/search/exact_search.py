"""Exact search of the fusion level: every order of outer loops with every inner loop order and, where memory is short, trees
below it.

Orders of outer loops are searched in the order of what they cost at least (`bounds`); those that cannot win are skipped. Trees
(`loop_trees`) follow when the best without them is known. Equal prices go to larger tiles, fewer outer loops and fewer loops. The
price of this level counts the nearest level inside a block only: `inner_loops` refines the best few plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tilewright.plan.counts import Counted, count
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.price_check import no_price
from tilewright.plan.model.threads import LEAST_PARALLEL_S
from tilewright.plan.reasons import Loops
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import OuterLoops
from tilewright.plan.search.planning_problem import PlanningProblem, problem_of
from tilewright.plan.space.loop_trees import executable_fused_groups, group_choices, possible_fused_groups, tree_choices

KEPT_BOUNDS = 8
"""Orders of outer loops that were not searched of which the bound is kept, shortest first."""


def search(context: CostContext) -> tuple[Candidate, ...]:
    """As `search_problem`, of a context whose micro kernels are chosen."""
    return search_problem(problem_of(context))


def search_problem(problem: PlanningProblem) -> tuple[Candidate, ...]:
    """The best candidate of every order of outer loops that can compete, the winner first, then by price.

    Orders of outer loops are searched in the order of their bounds; a longer one must gain `least_gain`.
    """
    count(Counted.SEARCHES)
    context, space, outer_orders = problem.context, problem.space, list(problem.outer_orders)
    bounds = problem.bounds
    if not outer_orders:
        raise no_price(context.chain, context.machine, "no order of loops can be executed, not even none")
    least = [outer_loops.least(bounds) for outer_loops in outer_orders]
    enough = min(context.enough_blocks, max(outer_loops.most_blocks() for outer_loops in outer_orders))
    found: dict[int, Candidate] = {}
    if fused_groups := possible_fused_groups(space):
        keeping = [number for number, outer_loops in enumerate(outer_orders) if outer_loops.keeps_all()]
        _search(context, outer_orders, least, found, keeping, enough)
        trees = list(_trees(bounds, [outer_orders[number] for number in keeping], fused_groups, found, enough))
        outer_orders, least = [*outer_orders, *trees], [*least, *(tree.least(bounds) for tree in trees)]
    _search(context, outer_orders, least, found, range(len(outer_orders)), enough)
    unlike: dict[Loops, Candidate] = {}
    for number in sorted(found):
        unlike.setdefault(found[number].loops(), found[number])
    candidates = list(unlike.values())
    winner = _winner(context, candidates)
    skipped = [number for number in range(len(outer_orders)) if number not in found][:KEPT_BOUNDS]
    lost = [*(c for c in candidates if c is not winner), *(outer_orders[number].at_least(*least[number]) for number in skipped)]
    return (winner, *sorted(lost, key=lambda candidate: (candidate.is_bound, candidate.cores_s)))


def _search(
    context: CostContext,
    outer_orders: Sequence[OuterLoops],
    least: Sequence[tuple[np.ndarray, np.ndarray]],
    found: dict[int, Candidate],
    numbers: Iterable[int],
    enough: int,
) -> None:
    """Add to `found` what those of some orders of outer loops give that can still win, in the order of their bounds."""
    for number in sorted(
        set(numbers) - set(found), key=lambda number: (bool(outer_orders[number].line_buffered), least[number][0].min())
    ):
        price, used = least[number]
        bound, bound_of_spills = (_bound(context, found, number, enough, spills) for spills in (False, True))
        may_fit = used <= context.capacity_bytes
        restricted = outer_orders[number].restricted((price <= bound) & (may_fit | (price <= bound_of_spills)))
        if restricted is not None and not (_is_few(context, restricted, enough) and bound < np.inf):
            found[number] = restricted.best()


def _trees(
    bounds: Bounds,
    outer_orders: Sequence[OuterLoops],
    fused_groups: Sequence[FusedGroup],
    found: Mapping[int, Candidate],
    enough: int,
) -> Iterator[OuterLoops]:
    """Every one of some orders of outer loops with fused groups below it, where the memory that they save can matter.

    No operator gets cheaper by a partially fused group than it is with the best inner loops and as much memory.
    """
    context = bounds.context
    bound = _bound(context, found, max(found, default=0) + 1, enough, spills=False)
    for outer_loops in outer_orders:
        free = [fused_group for fused_group in fused_groups if not set(fused_group.axes) & set(outer_loops.outer_loops)]
        restricted = outer_loops.restricted(outer_loops.least(bounds, live=0)[0] <= bound) if free else None
        if restricted is not None and not (_is_few(context, restricted, enough) and bound < np.inf):
            yield from _trees_below(restricted, free, bound)


def _trees_below(outer_loops: OuterLoops, fused_groups: Sequence[FusedGroup], bound: float) -> Iterator[OuterLoops]:
    """The outer loops with every choice of fused groups that can be executed, and the tiles that may cost no more than the
    bound."""
    space = outer_loops.space
    restricted = outer_loops.restricted(outer_loops.at_best(outer_loops.least_live(group_choices(fused_groups))) <= bound)
    able = executable_fused_groups(space, outer_loops.outer_loops, fused_groups) if restricted is not None else ()
    if restricted is not None and able:
        for below in group_choices(able):
            choices = tree_choices(space, restricted.choices, below)
            yield OuterLoops(space, outer_loops.outer_loops, (), choices, below, every=outer_loops.every)


def _bound(context: CostContext, found: Mapping[int, Candidate], number: int, enough: int, spills: bool) -> float:
    """The price above which an order of outer loops, or tiles of it, cannot win after those that were found; infinite if there
    are none.

    An earlier order may be dearer than the best by `least_gain`, a later one must gain as much. What was found but does not fit
    bounds only what cannot fit (`spills`).
    """
    coefficients = context.coefficients
    able = {
        position: candidate.cores_s
        for position, candidate in found.items()
        if (spills or candidate.used_bytes <= context.capacity_bytes)
        and (candidate.blocks >= enough or candidate.seconds <= LEAST_PARALLEL_S)
    }
    if not able:
        return float("inf")
    before = [seconds / coefficients.least_gain for position, seconds in able.items() if position < number]
    return min([min(able.values()) * coefficients.least_gain * coefficients.equal_within, *before])


def _is_few(context: CostContext, outer_loops: OuterLoops, enough: int) -> bool:
    """Whether an order of outer loops can only have fewer blocks than the work is worth."""
    return outer_loops.most_blocks() < enough and context.arithmetic_s > LEAST_PARALLEL_S


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
