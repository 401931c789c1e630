"""The planner: the stages by which a chain gets its plan, in their order.

    micro kernels -> search of the fusion level -> inner loops and packs -> prefetches -> prices, fused and unfused -> split

An operator that vectors of float32 do not compute leaves at the start: nothing is searched for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from tilewright.coefficients import Coefficients, coefficients_for
from tilewright.errors import InternalError
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.description import Filling
from tilewright.machine.machine import Machine
from tilewright.plan.binding import bound_plan
from tilewright.plan.chain_planner import ChainPlanner
from tilewright.plan.chains import canonical_form, names_of, single_operator_chains
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.exact_operators import is_exact_operator, plan_exact_operator
from tilewright.plan.decisions.execution import with_execution, with_leaves
from tilewright.plan.decisions.micro_kernel import RankedKernels
from tilewright.plan.decisions.non_temporal_stores import non_temporal_writes, price_with_stores
from tilewright.plan.decisions.prefetching_kernels import PrefetchChoice, choose_prefetches
from tilewright.plan.decisions.software_prefetch import inputs_to_prefetch, operators_that_prefetch
from tilewright.plan.decisions.split_reductions import split_reduction
from tilewright.plan.memory import forget_all, remembered
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.needed_work import key_blocks
from tilewright.plan.model.plan_figures import constant_bytes, level_plans, movements_by_level, operator_plans, scratch_bytes
from tilewright.plan.model.price_check import attainable_seconds, check_capacity, check_price
from tilewright.plan.model.pricing import Blocking, Candidate, SplitReduction, price_blocking, price_split, separate_price
from tilewright.plan.reasons import EveryOperatorAlone, TakenOver, Unplannable
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.regions.required_regions import forget_regions
from tilewright.plan.schedule import Schedule
from tilewright.plan.search.core.searched import CoreProblem
from tilewright.plan.search.exact_search import planning_problem, search, search_problem
from tilewright.plan.search.inner_loops import refine, refinement
from tilewright.plan.search.rejected import lost_candidates, lost_fusion, lost_inexact, lost_kernels, lost_single_part
from tilewright.plan.space.executability import check_executable
from tilewright.plan.space.schedule_space import thinned_axes
from tilewright.plan.types import Floor, Plan, Price, Rejected
from tilewright.records import record

MOST_CHAINS = 512
"""Canonical chains whose schedules a process remembers: 20 to 25 kB each (tracemalloc, before and after these were forgotten, of
426 chains of seven models, 113 of layers and 174 of attention); layers of a model share few of them."""

Split: TypeAlias = tuple[SplitReduction, PrefetchChoice, Price]
"""A reduction that is split, with the prefetches of its parts, and the price of the chain."""


@record(eq=False)
class PricedChain:
    """A canonical chain with its schedule and price: what partitions compare. Its plan is made for those that win."""

    chain: Chain
    price: Price
    searched: Searched | Plan
    """A plan where nothing is searched: of exact operators, and of devices that plan chains by themselves."""

    def found(self) -> tuple[Candidate, ...]:
        """The candidates of the search, the winner first; none where nothing is searched."""
        return () if isinstance(self.searched, Plan) else self.searched.found

    def plan(self, unfused_price: Price | None = None, taken_over: TakenOver | None = None) -> Plan:
        """The plan, with the price of its operators alone, or what it says of its loops where these were not searched.

        Raises `InternalError` for a price that cannot be true.
        """
        if isinstance(self.searched, Plan):
            return self.searched if unfused_price is None else _beside(self.searched, unfused_price)
        context = self.searched.context
        least = floor(context.chain, context.machine)
        check_price(
            context.chain, context.machine, self.searched.schedule, self.price, attainable_seconds(least, context.coefficients)
        )
        check_executable(context.chain, self.searched.blocking.schedule)
        is_known = unfused_price is not None or (taken_over is not None and len(self.chain.operators) > 1)
        unfused = unfused_price if is_known else self.searched.unfused_price()
        return with_leaves(replace(self.searched.plan(least, unfused), chain=self.chain, taken_over=taken_over))


@record(eq=False)
class Searched:
    """The best schedule found for a chain, with its reduction split where that pays, and what it was chosen from."""

    context: CostContext
    ranked: RankedKernels
    found: tuple[Candidate, ...]
    """The candidates of the search, the winner first."""
    blocking: Blocking
    prefetches: PrefetchChoice
    whole_price: Price
    """Of the schedule without a split."""
    split: Split | None

    @property
    def price(self) -> Price:
        """Of the schedule."""
        return self.whole_price if self.split is None else self.split[2]

    def schedule(self) -> Schedule:
        """The schedule."""
        return self.blocking.schedule if self.split is None else self.split[0].schedule()

    def unfused_price(self) -> Price:
        """The price of every operator alone."""
        return _unfused_price(self.context) if len(self.context.chain.operators) > 1 else self.whole_price

    def plan(self, floor: Floor, unfused: Price | None) -> Plan:
        """The plan with its figures."""
        context, blocking, price = self.context, self.blocking, self.whole_price
        rejected = (
            *lost_fusion(context.chain, price, unfused),
            *lost_candidates(self.prefetches.context, blocking.candidate, self.found),
            *lost_kernels(self.prefetches.context, self.ranked),
            *lost_inexact(self.prefetches.context),
            *self.prefetches.rejected,
        )
        plan = blocked_plan(self.prefetches.context, blocking, price, unfused, floor, rejected)
        plan = plan if self.split is None else _split_plan(plan, context, *self.split)
        return with_execution(plan, {kernel.name: kernel for kernel in context.available})


def _beside(plan: Plan, unfused: Price) -> Plan:
    """A plan with the price of its operators alone, in the place of what its planner says of that."""
    others = (lost for lost in plan.rejected if not isinstance(lost.alternative, EveryOperatorAlone))
    return replace(plan, unfused_price=unfused, rejected=(*lost_fusion(plan.chain, plan.price, unfused), *others))


def plan_chain(
    chain: Chain,
    machine: Machine,
    *,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
) -> Plan:
    """The plan of a chain on a machine, with its price, the price of its operators alone, and the rejected alternatives.

    Chains that differ in names only have one plan, which is searched once per process. `kernels` are the micro kernels to choose
    from (default: all registered ones that the machine can run), `coefficients` those of the price (default: as fitted for such
    machines; see `Coefficients.without`). Symbolic extents are planned with their hints. Raises `Unplannable` if no micro kernel
    or no executable schedule exists.
    """
    coefficients = coefficients or coefficients_for(machine)
    available = registry.for_machine(machine, element_types=None) if kernels is None else kernels
    try:
        priced = price_chain(canonical_form(chain), machine, available, coefficients)
    except (Unplannable, InternalError):
        _priced(chain, machine, available, coefficients)  # raises the same, in names instead of numbers
        raise
    return bound_plan(priced.plan(), chain, names_of(chain))


@remembered(MOST_CHAINS)
def price_chain(chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients) -> PricedChain:
    """The schedule and the price of a canonical chain, and of all chains of its structure. Raises as `plan_chain`."""
    count(Counted.PLANS)
    return _priced(chain, machine, available, coefficients)


@remembered(MOST_CHAINS)
def planned_chain(chain: Chain, machine: Machine, planner: ChainPlanner) -> PricedChain:
    """The plan that a device's planner makes of a canonical chain, and of all chains of its structure. Raises as the planner,
    `InternalError` for a price that is no time, and `PlanningError` where a space that software fills is too small."""
    count(Counted.PLANS)
    plan = planner.plan(chain, machine)
    check_price(chain, machine, lambda: plan.schedule, plan.price, 0.0)
    check_capacity(plan)
    return PricedChain(chain, plan.price, plan)


def forget_plans() -> None:
    """Make every plan anew from here on: for those who measure planning."""
    forget_all()


def _priced(chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients) -> PricedChain:
    """The schedule of a chain: of an exact operator, or what is found by a search, in which lookups are walks."""
    if is_exact_operator(chain, available):
        plan = with_leaves(with_execution(plan_exact_operator(chain, machine, coefficients), {}))
        return PricedChain(chain, plan.price, plan)
    problem = planning_problem(chain, machine, available, coefficients)
    priced = checked_chain(chain, refined(problem.context, problem.ranked, search_problem(problem), problem.in_core))
    forget_regions(problem.context.chain)
    return priced


def checked_chain(chain: Chain, searched: Searched) -> PricedChain:
    """What was found for a chain. Raises `InternalError` for a price that is no time, `PlanningError` if it does not fit."""
    context = searched.context
    check_price(context.chain, context.machine, searched.schedule, searched.price, 0.0)
    priced = PricedChain(chain, searched.price, searched)
    if any(level.filling is not Filling.CACHE for level in context.machine.levels):
        check_capacity(priced.plan(searched.price))
    return priced


def refined(
    context: CostContext, ranked: RankedKernels, found: tuple[Candidate, ...], in_core: CoreProblem | None = None
) -> Searched:
    """The best of the candidates found, with its reduction split where that pays."""
    blocking, walk = refinement(context, found, in_core)
    prefetches = choose_prefetches(context, blocking, walk)
    price = price_with_stores(prefetches.context, blocking, walk, prefetches.works)
    split = _split(context, found, blocking)
    return Searched(context, ranked, found, blocking, prefetches, price, split)


def _split(context: CostContext, found: tuple[Candidate, ...], blocking: Blocking) -> Split | None:
    """The split of a reduction that pays, with the prefetches of a part, and the price."""
    split = split_reduction(context, found, blocking, lambda part: refine(part, search(part)))
    if split is None:
        return None
    prefetches = choose_prefetches(split.context, split.blocking)
    split = replace(split, context=prefetches.context)
    return split, prefetches, price_split(context, split)


def _unfused_price(context: CostContext) -> Price:
    """The price of the operators one after the other in one call, each with the micro kernel of the chain's context."""
    prices = []
    for alone in single_operator_chains(context.chain):
        kernels = {name: kernel for name, kernel in context.kernels.items() if name == alone.name}
        roles = {name: roles for name, roles in context.roles.items() if name == alone.name}
        alone_context = context_of(alone, context.machine, kernels, roles, context.coefficients, context.available)
        blocking, walk = refinement(alone_context, search(alone_context))
        chosen = choose_prefetches(alone_context, blocking, walk)
        prices.append(price_blocking(chosen.context, blocking, walk, chosen.works))
    return separate_price(prices)


def blocked_plan(
    context: CostContext, blocking: Blocking, price: Price, unfused: Price | None, least: Floor, rejected: tuple[Rejected, ...]
) -> Plan:
    """The plan of a blocked schedule: its figures, and the decisions that change neither loops nor tiles."""
    chain, machine, schedule = context.chain, context.machine, blocking.schedule
    scratch = scratch_bytes(context, schedule)
    prefetched = inputs_to_prefetch(context, schedule, scratch)
    return Plan(
        chain=chain,
        machine=machine,
        schedule=schedule,
        operators=operator_plans(context, schedule),
        levels=level_plans(context, blocking),
        parallel_axes=parallel_axes(chain, schedule),
        movements=movements_by_level(context, blocking),
        scratch_bytes=scratch,
        constant_bytes=constant_bytes(context, schedule),
        price=price,
        unfused_price=unfused,
        floor=least,
        rejected=rejected,
        thinned_axes=thinned_axes(context),
        prefetched_inputs=prefetched,
        prefetching_operators=operators_that_prefetch(context, schedule, prefetched),
        non_temporal=non_temporal_writes(context, schedule),
        key_blocks=key_blocks(context, schedule),
    )


def _split_plan(plan: Plan, context: CostContext, split: SplitReduction, prefetches: PrefetchChoice, price: Price) -> Plan:
    """The plan with its reduction split: every part has the figures of the first, and their results are combined."""
    part, blocking, schedule = prefetches.context, split.blocking, split.schedule()
    return replace(
        plan,
        schedule=schedule,
        operators=operator_plans(part, blocking.schedule),
        levels=level_plans(part, blocking),
        parallel_axes=parallel_axes(plan.chain, schedule),
        movements=tuple(
            replace(moved, size_bytes=int(split.passes * moved.size_bytes)) for moved in movements_by_level(part, blocking)
        ),
        scratch_bytes=scratch_bytes(part, blocking.schedule),
        constant_bytes=constant_bytes(context, schedule),
        price=price,
        rejected=(
            lost_single_part(plan, split.axis, price),
            *lost_fusion(plan.chain, price, plan.unfused_price),
            *prefetches.rejected,
        ),
        prefetched_inputs=(),
        prefetching_operators=(),
        non_temporal=(),
        key_blocks=key_blocks(context, schedule),
    )
