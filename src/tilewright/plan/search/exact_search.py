"""Exact search of the fusion level: every order of outer loops with every inner loop order and, where memory is short, trees
below it.

Orders of outer loops are searched in the order of what they cost at least (`bounds`); those that cannot win are skipped. Trees
(`loop_trees`) follow when the best without them is known. Equal prices go to larger tiles, fewer outer loops and fewer loops. The
price of this level counts the nearest level inside a block only: `inner_loops` refines the best few plans.

A planning problem is a chain on a machine with its cost context and orders of outer loops, made once for bounds and search. The
profitability test compares lower bounds on the price of a chain with a price to reach, before the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from time import process_time

import numpy as np

from tilewright.arrays import Quantity
from tilewright.coefficients import Coefficients
from tilewright.graph.types import Chain
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.micro_kernel import RankedKernels, chain_context
from tilewright.plan.decisions.non_temporal_stores import largest_gain_s
from tilewright.plan.decisions.split_reductions import split_axis
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.price_check import no_price
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.reasons import Loops
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.bounds import Bounds, TileBlocks
from tilewright.plan.search.candidates import Found
from tilewright.plan.search.core import library
from tilewright.plan.search.core.data import BeyondLimits
from tilewright.plan.search.core.orders import Variant
from tilewright.plan.search.core.searched import CoreProblem, core_problem, least_times
from tilewright.plan.search.core.searched import search as searched_by_core
from tilewright.plan.search.outer_loops import OuterLoops, outer_orders
from tilewright.plan.space.loop_trees import executable_fused_groups, group_choices, possible_fused_groups, tree_choices
from tilewright.plan.space.schedule_space import Space, space_of
from tilewright.plan.threads import threads_seconds
from tilewright.records import record

MOST_PROBLEMS = 8
"""Problems that are remembered: a chain is searched soon after its bound was asked for, or never."""


@dataclass(frozen=True)
class PlanningProblem:
    """What is decided, and between what."""

    context: CostContext
    ranked: RankedKernels
    """Micro kernels of every contraction."""
    space: Space
    every: TileBlocks

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All orders of outer loops that can be executed, shortest first."""
        return self.space.variants()

    @cached_property
    def outer_orders(self) -> tuple[OuterLoops, ...]:
        """The same as families of schedules."""
        return outer_orders(self.space, self.every)

    @cached_property
    def bounds(self) -> Bounds:
        """What orders of outer loops cost at least, by arrays."""
        return Bounds(self.space, self.every)

    @cached_property
    def in_core(self) -> CoreProblem | None:
        """The problem as the compiled core reads it; None without a core, or where it is beyond its limits."""
        core = library.core()
        try:
            return core_problem(core, self.space, self.variants) if core is not None and self.variants else None
        except BeyondLimits:
            return None


@lru_cache(maxsize=MOST_PROBLEMS)
def planning_problem(
    chain: Chain, machine: Machine, kernels: tuple[MicroKernel, ...], coefficients: Coefficients
) -> PlanningProblem:
    """The problem of planning a chain with some micro kernels. Raises `Unplannable` where one of its contractions has none."""
    context, ranked = chain_context(chain, machine, kernels, coefficients)
    return problem_of(context, ranked)


def problem_of(context: CostContext, ranked: RankedKernels | None = None) -> PlanningProblem:
    """The problem of a context whose micro kernels are chosen."""
    space = space_of(context)
    return PlanningProblem(context, ranked or {}, space, TileBlocks(space))


@record
class Times:
    """A price in seconds: on one thread, and on the machine's cores."""

    seconds: float
    cores_s: float


def can_cost(problem: PlanningProblem, limit_s: float) -> bool:
    """Whether any schedule may cost no more than this on one thread, by the price that the search goes by.

    That price multiplies what does not fit the fusion level. As much of the traffic as prefetches may hide counts as hidden.
    """
    bounds, fused_groups = problem.bounds.with_prefetches(), possible_fused_groups(problem.space)
    return any(_least_seconds(bounds, fused_groups, outer_loops) <= limit_s for outer_loops in problem.outer_orders)


def least_times_above(problem: PlanningProblem, limit_s: float) -> Times | None:
    """The least that a plan can cost if none can cost as little as `limit_s` on the cores; None as soon as one might.

    It holds for the price of the plan, not only for that of the search: nothing counts as spilled, and all that prefetches and
    non-temporal stores can gain is taken off. Partially fused groups save memory only, so that they need no bound here.
    """
    context = problem.context
    call_s, gain_s = context.coefficients.call_s, largest_gain_s(context)
    if (core := library.core()) is not None and problem.in_core is not None:
        shown = 1 - context.coefficients.prefetch_hides
        least = least_times(core, problem.in_core, shown, gain_s, call_s, limit_s)
        return None if least is None else Times(*least)
    bounds = problem.bounds.with_prefetches()
    found: list[Times] = []
    for outer_loops in problem.outer_orders:
        count(Counted.ORDERS)
        price = bounds.without_spills(outer_loops.view, outer_loops.choices) - gain_s
        found.append(Times(float(np.min(price)) + call_s, float(np.min(_on_cores(context, outer_loops, price))) + call_s))
        if found[-1].cores_s <= limit_s:
            return None
    return Times(min(least.seconds for least in found), min(least.cores_s for least in found)) if found else None


def _least_seconds(bounds: Bounds, fused_groups: Sequence[FusedGroup], outer_loops: OuterLoops) -> float:
    """What an order of outer loops and the trees below it cost at least on one thread, whatever the tiles."""
    free = [fused_group for fused_group in fused_groups if not set(fused_group.axes) & set(outer_loops.outer_loops)]
    live = outer_loops.least_live(group_choices(free)) if free else None
    price, _ = bounds.of_outer_loops(outer_loops.view, outer_loops.choices, live)
    return float(np.min(price))


def _on_cores(context: CostContext, outer_loops: OuterLoops, price: Quantity) -> Quantity:
    """The time on the cores; a reduction that is split may have as many blocks as there are cores."""
    machine = context.machine
    if split_axis(context.chain) is not None:
        return price / machine.cores
    return threads_seconds(price, outer_loops.parallel_blocks, machine.cores, machine.parallel_region_s)


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
    context = problem.context
    if not problem.variants:
        raise no_price(context.chain, context.machine, "no order of loops can be executed, not even none")
    return ranked_candidates(context, found_by_core_or_arrays(problem))


def found_by_core_or_arrays(problem: PlanningProblem) -> Sequence[Found]:
    """What every order of outer loops gives: by the core, else by arrays."""
    core = library.core()
    if core is not None and problem.in_core is not None:
        with suppress(BeyondLimits):
            return searched_by_core(core, problem.in_core, possible_fused_groups(problem.space), KEPT_BOUNDS)
    started_s = process_time()
    found = searched_by_arrays(problem)
    library.searched_by_arrays(process_time() - started_s)
    return found


def searched_by_arrays(problem: PlanningProblem) -> Sequence[Found]:
    """The same by the Python formulas: the core's oracle, and its fallback without a compiler."""
    work = _Search(problem.bounds)
    work.add(problem.outer_orders)
    if fused_groups := possible_fused_groups(problem.space):
        keeping = [number for number, outer_loops in enumerate(work.outer_orders) if outer_loops.keeps_all()]
        work.search(keeping)
        work.add(list(work.trees(keeping, fused_groups)))
    work.search(range(len(work.outer_orders)))
    return [
        Found(True, work.found[number]) if number in work.found else Found(False, order.at_least(*work.least[number]))
        for number, order in enumerate(work.outer_orders)
    ]


def ranked_candidates(context: CostContext, found: Sequence[Found]) -> tuple[Candidate, ...]:
    """The winner of what was found for every order of outer loops, then the others by price, then a few bounds."""
    unlike: dict[Loops, Candidate] = {}
    for one in found:
        if one.is_found:
            unlike.setdefault(one.candidate.loops(), one.candidate)
    candidates = list(unlike.values())
    winner = _winner(context, candidates)
    bounded = [one.candidate for one in found if not one.is_found][:KEPT_BOUNDS]
    lost = [*(c for c in candidates if c is not winner), *bounded]
    return (winner, *sorted(lost, key=lambda candidate: (candidate.is_bound, candidate.cores_s)))


@dataclass(slots=True)
class _Search:
    """Orders of outer loops, with what they cost and use at least, and what those gave that were searched."""

    bounds: Bounds
    outer_orders: list[OuterLoops] = field(default_factory=list)
    least: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    found: dict[int, Candidate] = field(default_factory=dict)

    def add(self, outer_orders: Sequence[OuterLoops]) -> None:
        """Add orders that may be searched."""
        self.outer_orders += outer_orders
        self.least += [outer_loops.least(self.bounds) for outer_loops in outer_orders]

    def search(self, numbers: Iterable[int]) -> None:
        """Search those of some orders of outer loops that can still win, in the order of their bounds."""
        orders, capacity_bytes = self.outer_orders, self.bounds.context.capacity_bytes
        left = set(numbers) - set(self.found)
        for number in sorted(left, key=lambda number: (bool(orders[number].line_buffered), self.least[number][0].min())):
            price, used = self.least[number]
            bound, bound_of_spills = (self._bound(number, spills) for spills in (False, True))
            able = (price <= bound) & ((used <= capacity_bytes) | (price <= bound_of_spills))
            if (restricted := orders[number].restricted(able)) is not None:
                self.found[number] = restricted.best()

    def trees(self, numbers: Iterable[int], fused_groups: Sequence[FusedGroup]) -> Iterator[OuterLoops]:
        """Every one of some orders of outer loops with fused groups below it, where the memory that they save can matter.

        No operator gets cheaper by a partially fused group than it is with the best inner loops and as much memory.
        """
        bound = self._bound(max(self.found, default=0) + 1, spills=False)
        for outer_loops in map(self.outer_orders.__getitem__, numbers):
            free = [fused_group for fused_group in fused_groups if not set(fused_group.axes) & set(outer_loops.outer_loops)]
            able = outer_loops.least(self.bounds, live=0)[0] <= bound if free else np.array(False)
            if (restricted := outer_loops.restricted(able)) is not None:
                yield from _trees_below(restricted, free, bound)

    def _bound(self, number: int, spills: bool) -> float:
        """The price above which an order of outer loops, or tiles of it, cannot win after those that were found; infinite if
        there are none.

        An earlier order may be dearer than the best by `least_gain`, a later one must gain as much. What was found but does not
        fit bounds only what cannot fit (`spills`).
        """
        context, coefficients = self.bounds.context, self.bounds.context.coefficients
        fits = {place: one for place, one in self.found.items() if spills or one.used_bytes <= context.capacity_bytes}
        able = {position: candidate.cores_s for position, candidate in fits.items()}
        if not able:
            return float("inf")
        before = [seconds / coefficients.least_gain for position, seconds in able.items() if position < number]
        return min([min(able.values()) * coefficients.least_gain * coefficients.equal_within, *before])


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


def _winner(context: CostContext, found: Sequence[Candidate]) -> Candidate:
    """The first of those that fit and cost no more than what another loop must gain."""
    able = [c for c in found if c.used_bytes <= context.capacity_bytes] or list(found)
    if not able:
        raise no_price(context.chain, context.machine, "every schedule has a price that is not a number")
    fastest = min(candidate.cores_s for candidate in able)
    winner = next((c for c in able if 0 <= c.cores_s <= fastest * context.coefficients.least_gain), None)
    if winner is None:
        raise no_price(context.chain, context.machine, f"the prices are {[c.cores_s for c in able]}")
    return winner
