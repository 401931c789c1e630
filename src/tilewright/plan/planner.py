"""The planner: the stages by which a chain gets its plan, in their order.

    micro kernels -> search of the fusion level -> inner loops and packs -> prefetches -> prices, fused and unfused -> split

An operator that vectors cannot compute leaves at the start, with a scalar loop.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tilewright.errors import InternalError
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.binding import bound_plan, bound_price
from tilewright.plan.canonical import canonical_form, names_of
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.execution import with_execution
from tilewright.plan.decisions.non_temporal_stores import non_temporal_writes, price_with_stores
from tilewright.plan.decisions.prefetching_kernels import PrefetchChoice, choose_prefetches
from tilewright.plan.decisions.scalar_loop import is_scalar_loop, plan_scalar_loop
from tilewright.plan.decisions.software_prefetch import inputs_to_prefetch, operators_that_prefetch
from tilewright.plan.decisions.split_reductions import split_reduction
from tilewright.plan.model.blocking import Blocking
from tilewright.plan.model.coefficients import Coefficients, coefficients_for
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.masked_work import key_blocks
from tilewright.plan.model.memory.capacity_check import fitting
from tilewright.plan.model.plan_figures import constant_bytes, level_plans, movements_by_level, operator_plans, scratch_bytes
from tilewright.plan.model.price_check import checked
from tilewright.plan.model.pricing import price_split
from tilewright.plan.model.split_price import SplitReduction
from tilewright.plan.reasons import Unplannable
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.regions.parallel_loops import parallel_axes
from tilewright.plan.search.exact_search import search, search_problem
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.search.planning_problem import planning_problem
from tilewright.plan.search.rejected import lost_candidates, lost_fusion, lost_kernels, lost_single_part
from tilewright.plan.search.unfused import price_unfused
from tilewright.plan.space.executability import check_executable
from tilewright.plan.space.schedule_space import thinned_axes
from tilewright.plan.types import Plan, Price, Rejected

MOST_PLANS = 512
"""Plans that a process remembers: some 30 KB each; layers of a model share few of them."""


def plan_chain(
    chain: Chain,
    machine: Machine,
    *,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
    unfused_price: Price | None = None,
) -> Plan:
    """The plan of a chain on a machine, with its price, the price of its operators alone, and the rejected alternatives.

    Chains that differ in names only have one plan, which is made once per process. `kernels` are the micro kernels to choose from
    (default: all registered ones that the machine can run), `coefficients` those of the price (default: as fitted for such
    machines; see `Coefficients.without`). Symbolic extents are planned with their hints. `unfused_price` saves planning every
    operator alone where that is known. Raises `Unplannable` if no micro kernel or no executable schedule exists.
    """
    names = names_of(chain)
    coefficients = coefficients or coefficients_for(machine)
    available = registry.for_machine(machine, element_types=None) if kernels is None else kernels
    apart = unfused_price and bound_price(unfused_price, names.inverse())
    try:
        plan = canonical_plan(canonical_form(chain), machine, available, coefficients, apart)
    except (Unplannable, InternalError):
        _planned(chain, machine, available, coefficients, unfused_price)  # raises the same, in names instead of numbers
        raise
    return bound_plan(plan, chain, names)


@lru_cache(maxsize=MOST_PLANS)
def canonical_plan(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients, unfused_price: Price | None
) -> Plan:
    """The plan of a canonical chain, and of all chains of its structure."""
    count(Counted.PLANS)
    return _planned(chain, machine, available, coefficients, unfused_price)


def forget_plans() -> None:
    """Make every plan anew from here on: for those who measure planning."""
    canonical_plan.cache_clear()


def _planned(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients, unfused_price: Price | None
) -> Plan:
    """The plan of a chain: a scalar loop, or what is found by a search, in which lookups are walks."""
    if is_scalar_loop(chain, available):
        return with_execution(plan_scalar_loop(chain, machine, coefficients), {})
    plan = _searched_plan(without_lookups(chain), machine, available, coefficients, unfused_price)
    decided = with_execution(checked(fitting(plan), coefficients), {kernel.name: kernel for kernel in available})
    return replace(decided, chain=chain)


def _searched_plan(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients, unfused_price: Price | None
) -> Plan:
    """The plan of the best schedule found, with its reduction split where that pays."""
    problem = planning_problem(chain, machine, available, coefficients)
    context, found = problem.context, search_problem(problem)
    blocking = refine(context, found)
    check_executable(chain, blocking.schedule)
    prefetches = choose_prefetches(context, blocking, available)
    price = price_with_stores(prefetches.context, blocking, prefetches.works)
    unfused = unfused_price or (price_unfused(context, available) if len(chain.operators) > 1 else price)
    rejected = (
        *lost_fusion(chain, price, unfused),
        *lost_candidates(prefetches.context, blocking.candidate, found),
        *lost_kernels(prefetches.context, problem.ranked),
        *prefetches.rejected,
    )
    plan = _plan(prefetches.context, blocking, price, unfused, rejected)
    split = split_reduction(context, found, blocking, lambda part: refine(part, search(part)))
    if split is not None:
        plan = _split_plan(plan, context, split, choose_prefetches(split.context, split.blocking, available))
    return plan


def _plan(context: CostContext, blocking: Blocking, price: Price, unfused: Price, rejected: tuple[Rejected, ...]) -> Plan:
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
        floor=floor(chain, machine),
        rejected=rejected,
        thinned_axes=thinned_axes(context),
        prefetched_inputs=prefetched,
        prefetching_operators=operators_that_prefetch(context, schedule, prefetched),
        non_temporal=non_temporal_writes(context, schedule),
        key_blocks=key_blocks(context, schedule),
    )


def _split_plan(plan: Plan, context: CostContext, split: SplitReduction, prefetches: PrefetchChoice) -> Plan:
    """The plan with its reduction split: every part has the figures of the first, and their results are combined."""
    part, blocking, schedule = prefetches.context, split.blocking, split.schedule()
    split = replace(split, context=part)
    price = price_split(context, split)
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
            lost_single_part(plan, split),
            *lost_fusion(plan.chain, price, plan.unfused_price),
            *prefetches.rejected,
        ),
        prefetched_inputs=(),
        prefetching_operators=(),
        non_temporal=(),
        key_blocks=key_blocks(context, schedule),
    )
