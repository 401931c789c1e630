"""The planner: the stages by which a chain gets its plan, in their order.

    micro kernels -> search of the fusion level -> inner loops and packs -> prefetches -> prices, fused and unfused -> split

An operator that vectors cannot compute leaves at the start, with a scalar loop.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import chain_setting
from tilewright.plan.decisions.non_temporal_stores import price_with_stores, streamed_writes
from tilewright.plan.decisions.prefetching_kernels import PrefetchChoice, choose_prefetches
from tilewright.plan.decisions.scalar_loop import is_exact, plan_exactly
from tilewright.plan.decisions.software_prefetch import fetched_inputs, fetching_operators
from tilewright.plan.decisions.split_reductions import split_of
from tilewright.plan.model.blocking import Blocking
from tilewright.plan.model.coefficients import Coefficients, coefficients_for
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import Setting
from tilewright.plan.model.masked_work import key_blocks
from tilewright.plan.model.plan_figures import constant_bytes, level_plans, movements_by_level, operator_plans, scratch_bytes
from tilewright.plan.model.price_check import checked
from tilewright.plan.model.pricing import price_in_parts
from tilewright.plan.model.split_price import Split
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.regions.parallel_loops import parallel_axes
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.search.plan_cache import Searched, recalled
from tilewright.plan.search.rejected import lost_candidates, lost_fusion, lost_kernels, lost_single_part
from tilewright.plan.search.unfused import price_unfused
from tilewright.plan.space.executability import check_executable
from tilewright.plan.space.schedule_space import thinned_axes
from tilewright.plan.types import Plan, Price, Rejected


def plan_chain(
    chain: Chain,
    machine: Machine,
    *,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
    unfused_price: Price | None = None,
    searched: Searched | None = None,
) -> Plan:
    """The plan of a chain on a machine, with its price, the price of its operators alone, and the rejected alternatives.

    `kernels` are the micro kernels to choose from (default: all registered ones that the machine can run), `coefficients` those
    of the price (default: as fitted for such machines; see `Coefficients.without`). Symbolic extents are planned with their
    hints. `unfused_price` saves planning every operator alone where that is known, `searched` (which grows) searching a chain
    that differs from an earlier chain in names only. Raises `PlanningError` if no micro kernel or no executable schedule exists.
    """
    coefficients = coefficients or coefficients_for(machine)
    available = registry.for_machine(machine) if kernels is None else kernels
    known: Searched = {} if searched is None else searched

    if is_exact(chain):
        return plan_exactly(chain, machine, coefficients)
    if (plain := without_lookups(chain)) is not chain:
        plan = plan_chain(
            plain, machine, kernels=available, coefficients=coefficients, unfused_price=unfused_price, searched=known
        )
        return replace(plan, chain=chain)

    setting, ranked = chain_setting(chain, machine, available, coefficients)
    found = recalled(setting, known)
    blocking = refine(setting, found)
    check_executable(chain, blocking.schedule)
    prefetches = choose_prefetches(setting, blocking, available)
    price = price_with_stores(prefetches.setting, blocking, prefetches.works)
    unfused = unfused_price or (price_unfused(setting, available) if len(chain.operators) > 1 else price)
    rejected = (
        *lost_fusion(chain, price, unfused),
        *lost_candidates(prefetches.setting, blocking.candidate, found),
        *lost_kernels(prefetches.setting, ranked),
        *prefetches.rejected,
    )
    plan = _plan(prefetches.setting, blocking, price, unfused, rejected)
    split = split_of(setting, found, blocking, lambda part: refine(part, recalled(part, known)))
    if split is not None:
        plan = _split_plan(plan, setting, split, choose_prefetches(split.setting, split.blocking, available))
    return checked(plan, coefficients)


def _plan(setting: Setting, blocking: Blocking, price: Price, unfused: Price, rejected: tuple[Rejected, ...]) -> Plan:
    """The plan of a blocked schedule: its figures, and the decisions that change neither loops nor tiles."""
    chain, machine, schedule = setting.chain, setting.machine, blocking.schedule
    scratch = scratch_bytes(setting, schedule)
    fetched = fetched_inputs(setting, schedule, scratch)
    return Plan(
        chain=chain,
        machine=machine,
        schedule=schedule,
        operators=operator_plans(setting, schedule),
        levels=level_plans(setting, blocking),
        parallel_axes=parallel_axes(chain, schedule),
        movements=movements_by_level(setting, blocking),
        scratch_bytes=scratch,
        constant_bytes=constant_bytes(setting, schedule),
        price=price,
        unfused_price=unfused,
        floor=floor(chain, machine),
        rejected=rejected,
        thinned_axes=thinned_axes(setting),
        fetched=fetched,
        fetching=fetching_operators(setting, schedule, fetched),
        streamed=streamed_writes(setting, schedule),
        key_blocks=key_blocks(setting, schedule),
    )


def _split_plan(plan: Plan, setting: Setting, split: Split, prefetches: PrefetchChoice) -> Plan:
    """The plan with its reduction split: every part has the figures of the first, and their results are combined."""
    part, blocking, schedule = prefetches.setting, split.blocking, split.schedule()
    split = replace(split, setting=part)
    price = price_in_parts(setting, split)
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
        constant_bytes=constant_bytes(setting, schedule),
        price=price,
        rejected=(
            lost_single_part(plan, split),
            *lost_fusion(plan.chain, price, plan.unfused_price),
            *prefetches.rejected,
        ),
        fetched=(),
        fetching=(),
        streamed=(),
        key_blocks=key_blocks(setting, schedule),
    )
