"""The planner: chooses micro kernels, searches schedules, prices the winner and keeps what it beat."""

from __future__ import annotations

from dataclasses import replace

from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.contraction_roles import contraction_roles
from tilewright.plan.decisions.micro_kernel import choose_kernel
from tilewright.plan.decisions.non_temporal_stores import streamed_writes, streaming_term
from tilewright.plan.decisions.prefetching_kernels import choose_prefetches
from tilewright.plan.decisions.scalar_loop import is_exact, plan_exactly
from tilewright.plan.decisions.software_prefetch import fetched_inputs, fetching_operators
from tilewright.plan.decisions.split_reductions import split_of
from tilewright.plan.model.blocking import Blocking, works
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.coefficients import Coefficients, coefficients_for
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import ELEMENT_BYTES, Setting, setting_of
from tilewright.plan.model.kernel_work import kernel_work, useful_share
from tilewright.plan.model.level_plans import level_plans, movements_by_level
from tilewright.plan.model.masked_work import key_blocks
from tilewright.plan.model.packing_cost import reading_seconds, transposing_seconds
from tilewright.plan.model.price_check import checked
from tilewright.plan.model.pricing import price_blocking, price_in_parts, separate_price
from tilewright.plan.model.split_price import Split
from tilewright.plan.model.working_set import live_intermediates
from tilewright.plan.regions.epilogues import maps_in_tiles
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.parallel_loops import block_count, parallel_axes
from tilewright.plan.regions.trip_counts import box_sizes, planned_sizes
from tilewright.plan.schedule import Pack, Schedule
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.search.plan_cache import Searched, recalled
from tilewright.plan.search.rejected import RankedKernels, lost_candidates, lost_fusion, lost_kernels
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import thinned_axes
from tilewright.plan.types import OperatorPlan, Plan, Price, Rejected


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
    of the price (default: as fitted for such machines; see `Coefficients.without`). Symbolic extents
    are planned with their hints. `unfused_price` saves planning every operator alone where that is known, `searched` (which
    grows) searching a chain that differs from an earlier one in names only. Raises
    `PlanningError` if no micro kernel or no executable schedule exists.
    """
    if is_exact(chain):
        return plan_exactly(chain, machine, coefficients or coefficients_for(machine))
    seen = without_lookups(chain)
    if seen is not chain:
        planned = plan_chain(
            seen, machine, kernels=kernels, coefficients=coefficients, unfused_price=unfused_price, searched=searched
        )
        return replace(planned, chain=chain)
    available = registry.for_machine(machine) if kernels is None else kernels
    setting, ranked = chain_setting(chain, machine, available, coefficients or coefficients_for(machine))
    memory: Searched = {} if searched is None else searched
    found = recalled(setting, memory)
    blocking = refine(setting, found)
    unfused = unfused_price or (_unfused_price(setting, available) if len(chain.operators) > 1 else None)
    plan = _planned(setting, available, ranked, found, blocking, unfused)
    split = split_of(setting, found, blocking, lambda part: refine(part, recalled(part, memory)))
    plan = plan if split is None else _in_parts(setting, available, plan, split)
    return checked(plan, setting.coefficients)


def _planned(
    plain: Setting,
    available: tuple[MicroKernel, ...],
    ranked: RankedKernels,
    found: tuple[Candidate, ...],
    blocking: Blocking,
    unfused_price: Price | None,
) -> Plan:
    """The plan of a refined schedule, with the reasons against all others; without an unfused price it is its own."""
    chain, machine = plain.chain, plain.machine
    setting, price, lost_prefetches = _prefetching(plain, available, blocking)
    winner, schedule = blocking.candidate, blocking.schedule
    price = replace(price, terms=(*price.terms, *streaming_term(setting, schedule)))
    problem = why_not_executable(chain, schedule)
    if problem:
        raise PlanningError(f"no executable schedule for {chain.name}", where=chain.name, why=problem)
    unfused = unfused_price or price
    rejected = (
        *lost_fusion(chain, price, unfused),
        *lost_candidates(setting, winner, [candidate for candidate in found if candidate is not winner]),
        *lost_kernels(setting, ranked),
        *lost_prefetches,
    )
    scratch = scratch_bytes(setting, schedule)
    fetched, streamed = fetched_inputs(setting, schedule, scratch), streamed_writes(setting, schedule)
    return Plan(
        chain=chain,
        machine=machine,
        schedule=schedule,
        operators=_operator_plans(setting, schedule),
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
        streamed=streamed,
        key_blocks=key_blocks(setting, schedule),
    )


def _prefetching(
    plain: Setting, available: tuple[MicroKernel, ...], blocking: Blocking
) -> tuple[Setting, Price, tuple[Rejected, ...]]:
    """The setting with kernels that prefetch where that pays, its price, and the choices that lost."""
    done = tuple(works(plain, blocking))
    setting, lost = choose_prefetches(plain, blocking, available, done)
    return setting, price_blocking(setting, blocking, done if setting is plain else None), lost


def _in_parts(setting: Setting, available: tuple[MicroKernel, ...], plan: Plan, plain: Split) -> Plan:
    """The plan with its reduction split: every part costs the same, and what they made is merged."""
    part, _, lost_prefetches = _prefetching(plain.setting, available, plain.blocking)
    split = replace(plain, setting=part)
    chain, blocking = setting.chain, split.blocking
    schedule = split.schedule()
    blocks = block_count(chain, schedule), block_count(chain, plan.schedule)
    whole = Rejected(f"{split.axis} in one part", blocks[1], blocks[0], "blocks", "too few blocks for threads")
    price = price_in_parts(setting, split)
    return replace(
        plan,
        schedule=schedule,
        operators=_operator_plans(part, blocking.schedule),
        levels=level_plans(part, blocking),
        parallel_axes=parallel_axes(chain, schedule),
        movements=tuple(
            replace(one, size_bytes=int(split.passes * one.size_bytes)) for one in movements_by_level(part, blocking)
        ),
        scratch_bytes=scratch_bytes(part, blocking.schedule),
        constant_bytes=constant_bytes(setting, schedule),
        price=price,
        rejected=(whole, *lost_fusion(chain, price, plan.unfused_price), *lost_prefetches),
        fetched=(),
        fetching=(),
        streamed=(),
        key_blocks=key_blocks(setting, schedule),
    )


def scratch_bytes(setting: Setting, schedule: Schedule) -> int:
    """Packed operands (whole panels) and live intermediates of one thread."""
    sizes = planned_sizes(setting.chain)
    elements = int(live_intermediates(view_schedule(setting.chain, schedule)))
    packs = ((path, leaf) for path, leaf in schedule.leaves() if isinstance(leaf, Pack))
    return ELEMENT_BYTES * (elements + sum(_packed_elements(setting, pack, box_sizes(path, sizes)) for path, pack in packs))


def constant_bytes(setting: Setting, schedule: Schedule) -> int:
    """Constants that are packed ahead (whole panels): once, for all threads and calls."""
    sizes = planned_sizes(setting.chain)
    return ELEMENT_BYTES * sum(_packed_elements(setting, pack, dict(sizes)) for pack in schedule.ahead)


def _packed_elements(setting: Setting, pack: Pack, box: dict[str, int]) -> int:
    column = setting.roles[pack.operator].column
    if column is not None and pack.panel_columns:
        box[column] = -(-box[column] // pack.panel_columns) * pack.panel_columns
    return int(distinct_elements(setting.chain.operator(pack.operator).reads[pack.read], box))


def chain_setting(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients
) -> tuple[Setting, RankedKernels]:
    """The setting of a chain with the best of some micro kernels, and how they rank for every contraction."""
    chain = without_lookups(chain)
    sizes = planned_sizes(chain)
    roles = {op.name: contraction_roles(op) for op in chain.operators if op.is_contraction()}
    chosen: dict[str, MicroKernel] = {}
    ranked: RankedKernels = {}
    for name, own_roles in roles.items():
        operator = chain.operator(name)
        chosen[name], ranked[name] = choose_kernel(
            operator,
            own_roles,
            machine,
            sizes,
            available,
            copied_s=transposing_seconds(chain, operator, own_roles, machine, coefficients),
            reading_s=reading_seconds(chain, operator, own_roles, machine),
        )
    return setting_of(chain, machine, chosen, roles, coefficients), ranked


def _operator_plans(setting: Setting, schedule: Schedule) -> tuple[OperatorPlan, ...]:
    plans = []
    maps = maps_in_tiles(setting.chain, schedule, setting.kernels)
    for one in view_schedule(setting.chain, schedule).operators:
        name = one.operator.name
        if name not in setting.kernels:
            plans.append(OperatorPlan(name, epilogue_of=maps.get(name, "")))
            continue
        roles, kernel = setting.roles[name], setting.kernels[name]
        work = kernel_work(one.operator, roles, kernel, setting.machine, one.walked(setting.sizes), one.tiles)
        share = useful_share(one.operator, work, kernel, setting.machine, setting.sizes)
        plans.append(OperatorPlan(name, kernel.name, roles, share))
    return tuple(plans)


def single_operator_chains(chain: Chain) -> tuple[Chain, ...]:
    """Every operator of a chain as a chain of its own."""
    return tuple(
        Chain(
            op.name,
            tuple(t for t in chain.tensors if t.name in {a.tensor for a in (*op.reads, op.write)}),
            (op,),
            tuple(name for name in chain.constants if name in {a.tensor for a in op.reads}),
        )
        for op in chain.operators
    )


def _unfused_price(setting: Setting, available: tuple[MicroKernel, ...]) -> Price:
    """Every operator planned alone; intermediates are written to memory and read back."""
    prices = []
    for alone in single_operator_chains(setting.chain):
        (operator,) = alone.operators
        own = setting_of(
            alone,
            setting.machine,
            {name: kernel for name, kernel in setting.kernels.items() if name == operator.name},
            {name: roles for name, roles in setting.roles.items() if name == operator.name},
            setting.coefficients,
        )
        blocking = refine(own, search(own))
        prices.append(_prefetching(own, available, blocking)[1])
    return separate_price(prices)
