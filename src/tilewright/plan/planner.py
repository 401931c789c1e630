"""The planner: chooses micro kernels, searches schedules, prices the winner and keeps what it beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.block_order import why_not_executable
from tilewright.plan.candidate import Candidate
from tilewright.plan.coefficients import Coefficients, coefficients_for
from tilewright.plan.cost import Work, floor, traffic_seconds, visible_seconds
from tilewright.plan.footprint import distinct_elements
from tilewright.plan.hierarchy import level_plans, movements_by_level
from tilewright.plan.kernel_choice import choose_kernel, kernel_work, useful_share
from tilewright.plan.nesting import Blocking, refine, works
from tilewright.plan.parallel import block_count, imbalance, parallel_axes
from tilewright.plan.prefetch_choice import choose_prefetches
from tilewright.plan.ranges import box_sizes, planned_sizes
from tilewright.plan.recall import Searched, recalled
from tilewright.plan.roles import contraction_roles
from tilewright.plan.schedule import Pack, Schedule
from tilewright.plan.search import search
from tilewright.plan.setting import ELEMENT_BYTES, Setting, setting_of
from tilewright.plan.space import recomputes
from tilewright.plan.split import Split, merge_seconds, split_of
from tilewright.plan.types import CALL, OperatorPlan, Plan, Price, PriceTerm, Rejected
from tilewright.plan.views import ChainView, LoopView, view_schedule
from tilewright.plan.working_set import live_intermediates, working_set

KEPT_REJECTIONS = 8
"""Alternatives that a plan remembers, besides other micro kernels and the unfused plan."""

REGION = "parallel region"
RankedKernels = dict[str, tuple[tuple[MicroKernel, float], ...]]


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
    of the price (default: as fitted for such machines). Symbolic extents
    are planned with their hints. `unfused_price` saves planning every operator alone where that is known, `searched` (which
    grows) searching a chain that differs from an earlier one in names only. Raises
    `PlanningError` if no micro kernel or no executable schedule exists.
    """
    available = registry.for_machine(machine) if kernels is None else kernels
    setting, ranked = _setting(chain, machine, available, coefficients or coefficients_for(machine))
    memory: Searched = {} if searched is None else searched
    found = recalled(setting, memory)
    blocking = refine(setting, found)
    unfused = unfused_price or (_unfused_price(setting, available) if len(chain.operators) > 1 else None)
    plan = _planned(setting, available, ranked, found, blocking, unfused)
    split = split_of(setting, blocking, lambda part: refine(part, recalled(part, memory)))
    return plan if split is None else _in_parts(setting, plan, split)


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
    setting, lost_prefetches = choose_prefetches(plain, blocking, available)
    winner, schedule = blocking.candidate, blocking.schedule
    others = [candidate for candidate in found if candidate is not winner]
    problem = why_not_executable(chain, schedule)
    if problem:
        raise PlanningError(f"no executable schedule for {chain.name}", where=chain.name, why=problem)
    price = price_blocking(setting, blocking)
    unfused = unfused_price or price
    rejected = (
        *_rejected_fusion(chain, price, unfused),
        *_rejected_candidates(setting, winner, others),
        *_rejected_kernels(setting, ranked),
        *lost_prefetches,
    )
    return Plan(
        chain=chain,
        machine=machine,
        schedule=schedule,
        operators=_operator_plans(setting, schedule),
        levels=level_plans(setting, blocking),
        parallel_axes=parallel_axes(chain, schedule),
        movements=movements_by_level(setting, blocking),
        scratch_bytes=scratch_bytes(setting, schedule),
        price=price,
        unfused_price=unfused,
        floor=floor(chain, machine),
        rejected=rejected,
    )


def _in_parts(setting: Setting, plan: Plan, split: Split) -> Plan:
    """The plan with its reduction split: every part costs the same, and what they made is merged."""
    chain, part, blocking = setting.chain, split.setting, split.blocking
    schedule = split.schedule()
    blocks = block_count(chain, schedule), block_count(chain, plan.schedule)
    whole = Rejected(f"{split.axis} in one part", blocks[1], blocks[0], "blocks", "too few blocks for threads")
    return replace(
        plan,
        schedule=schedule,
        operators=_operator_plans(part, blocking.schedule),
        levels=level_plans(part, blocking),
        parallel_axes=parallel_axes(chain, schedule),
        movements=tuple(replace(one, size_bytes=split.parts * one.size_bytes) for one in movements_by_level(part, blocking)),
        scratch_bytes=scratch_bytes(part, blocking.schedule),
        price=_price_in_parts(setting, split),
        rejected=(whole, *plan.rejected),
    )


def _price_in_parts(setting: Setting, split: Split) -> Price:
    of_part = [term for term in price_blocking(split.setting, split.blocking).terms if term.name != REGION]
    terms = [replace(term, seconds=term.seconds * (1 if term.name == CALL else split.parts)) for term in of_part]
    merge = merge_seconds(setting, split.axis, split.parts)
    note = f"of {split.parts} parts, in a second parallel region"
    blocks, regions_s = block_count(setting.chain, split.schedule()), 2 * setting.machine.parallel_region_s
    return Price((*terms, PriceTerm("merge", merge, note=note), _region_term(setting, split.schedule())), blocks, regions_s)


def price_blocking(setting: Setting, blocking: Blocking) -> Price:
    """The price of a plan, term by term: for every operator arithmetic overlaps with the traffic into each level."""
    terms: list[PriceTerm] = []
    beside = ("packing", "blocks and tile ends", "carried halos", "visible traffic", "prefetches")
    totals = dict.fromkeys(beside, 0.0)
    for operator, work in works(setting, blocking):
        terms += _overlapping_terms(setting, operator.name, work)
        totals["prefetches"] += float(work.prefetch_s)
        totals["packing"] += float(work.packing_s)
        totals["blocks and tile ends"] += float(work.overhead_s)
        totals["carried halos"] += float(work.rolling_s)
        totals["visible traffic"] += float(visible_seconds(setting, traffic_seconds(setting, work)))
    terms += [PriceTerm(name, time) for name, time in totals.items() if time]
    spilled = spills(setting, blocking.outer)
    if spilled.seconds:
        terms.append(spilled)
    terms.append(PriceTerm(CALL, setting.coefficients.call_s))
    blocks = block_count(setting.chain, blocking.schedule)
    return Price((*terms, _region_term(setting, blocking.schedule)), blocks, setting.machine.parallel_region_s * (blocks > 1))


def scratch_bytes(setting: Setting, schedule: Schedule) -> int:
    """Packed operands (whole panels) and live intermediates of one thread."""
    sizes = planned_sizes(setting.chain)
    elements = int(live_intermediates(view_schedule(setting.chain, schedule)))
    for path, leaf in schedule.leaves():
        if isinstance(leaf, Pack):
            column = setting.roles[leaf.operator].column
            box = box_sizes(path, sizes)
            if column is not None and leaf.panel_columns:
                box[column] = -(-box[column] // leaf.panel_columns) * leaf.panel_columns
            elements += int(distinct_elements(setting.chain.operator(leaf.operator).reads[leaf.read], box))
    return ELEMENT_BYTES * elements


def _setting(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients
) -> tuple[Setting, RankedKernels]:
    sizes = planned_sizes(chain)
    roles = {op.name: contraction_roles(op) for op in chain.operators if op.is_contraction()}
    chosen: dict[str, MicroKernel] = {}
    ranked: RankedKernels = {}
    for name, own_roles in roles.items():
        chosen[name], ranked[name] = choose_kernel(chain.operator(name), own_roles, machine, sizes, available)
    return setting_of(chain, machine, chosen, roles, coefficients), ranked


def _overlapping_terms(setting: Setting, operator: str, work: Work) -> Iterator[PriceTerm]:
    group = f"time of {operator}"
    named = {"arithmetic": work.arithmetic_s, "functions": work.functions_s}
    busy = " and ".join(name for name, time in named.items() if time)
    if busy:
        yield PriceTerm(f"{operator}: {busy}", float(work.arithmetic_s + work.functions_s), group)
    for level, time in traffic_seconds(setting, work).items():
        overlapped = setting.coefficients.overlapped_traffic * float(time)
        if overlapped:
            yield PriceTerm(f"{operator}: traffic into {level}", overlapped, group)


def _region_term(setting: Setting, schedule: Schedule) -> PriceTerm:
    """A call on one thread opens no parallel region; the note says how the blocks divide and what a region costs."""
    blocks, cores = block_count(setting.chain, schedule), setting.machine.cores
    uneven = imbalance(blocks, cores)
    region_us = setting.machine.parallel_region_s * 1e6
    note = f"{blocks} blocks; on {cores} cores {uneven:.2f} times an even share, and {region_us:.1f} us more"
    return PriceTerm(REGION, 0.0, note=note)


def spills(setting: Setting, schedule: Schedule) -> PriceTerm:
    """What does not fit the fusion level goes out and comes back once per block of the shared loops."""
    view = view_schedule(setting.chain, schedule)
    excess = max(0, ELEMENT_BYTES * int(working_set(view)) - setting.capacity_bytes)
    shared = prod(loop.trips for loop in view.operators[0].loops if _is_shared(view, loop))
    behind = setting.machine.levels[setting.fusion_position + 1]
    time = 2 * excess * shared / behind.bandwidth_bytes_per_s
    return PriceTerm("spills", time, note=f"{excess} bytes beyond the share of {setting.fusion_level.name}")


def _is_shared(view: ChainView, loop: LoopView) -> bool:
    return all(any(loop.node == other.node for other in one.loops) for one in view.operators)


def _operator_plans(setting: Setting, schedule: Schedule) -> tuple[OperatorPlan, ...]:
    plans = []
    for one in view_schedule(setting.chain, schedule).operators:
        name = one.operator.name
        if name not in setting.kernels:
            plans.append(OperatorPlan(name))
            continue
        roles, kernel = setting.roles[name], setting.kernels[name]
        work = kernel_work(one.operator, roles, kernel, setting.machine, one.walked(setting.sizes), one.tiles)
        share = useful_share(one.operator, work, kernel, setting.machine, setting.sizes)
        plans.append(OperatorPlan(name, kernel.name, roles, share))
    return tuple(plans)


def single_operator_chains(chain: Chain) -> tuple[Chain, ...]:
    """Every operator of a chain as a chain of its own."""
    return tuple(
        Chain(op.name, tuple(t for t in chain.tensors if t.name in {a.tensor for a in (*op.reads, op.write)}), (op,))
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
        prices.append(price_blocking(choose_prefetches(own, blocking, available)[0], blocking))
    return separate_price(prices)


def separate_price(prices: Iterable[Price]) -> Price:
    """Several chains one after the other in one call: the cost of the call itself counts once."""
    every = tuple(prices)
    terms = [term for price in every for term in price.terms]
    calls = [term for term in terms if term.name == CALL]
    fewest = min((price.blocks for price in every), default=1)
    return Price((*(term for term in terms if term.name != CALL), *calls[:1]), fewest, sum(price.region_s for price in every))


def _rejected_kernels(setting: Setting, ranked: RankedKernels) -> Iterator[Rejected]:
    for name, kernels in ranked.items():
        chosen = setting.kernels[name]
        winner_s = next(time for kernel, time in kernels if kernel.same_tile(chosen))
        for kernel, time in [pair for pair in kernels if not pair[0].same_tile(chosen)][:2]:
            reason = f"{name}: edges and rate" if time > winner_s else f"{name}: equal work, wider tile preferred"
            yield Rejected(f"micro kernel {kernel.name} for {name}", time, winner_s, "s", reason)


def _rejected_candidates(setting: Setting, winner: Candidate, others: list[Candidate]) -> Iterator[Rejected]:
    for candidate in others[:KEPT_REJECTIONS]:
        kind = "roll" if candidate.rolled else "recompute" if recomputes(setting.chain, candidate.prefix) else "keep"
        name = f"{kind}, {candidate}"
        if candidate.used_bytes > setting.capacity_bytes >= winner.used_bytes:
            level = setting.fusion_level.name
            reason = f"does not fit its share of {level}"
            yield Rejected(name, candidate.used_bytes, setting.capacity_bytes, "bytes", reason)
        elif candidate.blocks < winner.blocks and candidate.seconds <= winner.seconds:
            yield Rejected(name, candidate.blocks, winner.blocks, "blocks", "too few blocks for threads")
        else:
            slower = candidate.cores_s > winner.cores_s
            reason = "slower" if slower else "gains too little for another loop"
            yield Rejected(
                name, candidate.cores_s, winner.cores_s, "s", f"{reason}; the least it can cost" if candidate.is_bound else reason
            )


def _rejected_fusion(chain: Chain, price: Price, unfused: Price) -> Iterator[Rejected]:
    if len(chain.operators) > 1:
        reason = "intermediates go through memory" if unfused.seconds > price.seconds else "fusion was asked for"
        yield Rejected("every operator alone", unfused.seconds, price.seconds, "s", reason)
