"""The planner: chooses micro kernels, searches schedules, prices the winner and keeps what it beat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.block_order import why_not_executable
from tilewright.plan.cost import Work, floor, traffic_seconds, visible_seconds
from tilewright.plan.footprint import distinct_elements
from tilewright.plan.hierarchy import level_plans, movements_by_level
from tilewright.plan.kernel_choice import choose_kernel, kernel_work, useful_share
from tilewright.plan.nesting import Blocking, refine, works
from tilewright.plan.parallel import block_count, imbalance, parallel_axes
from tilewright.plan.ranges import box_sizes, planned_sizes
from tilewright.plan.recall import Searched, recalled
from tilewright.plan.roles import contraction_roles
from tilewright.plan.schedule import Pack, Schedule
from tilewright.plan.search import Candidate, search
from tilewright.plan.setting import DEFAULT, ELEMENT_BYTES, Coefficients, Setting, setting_of
from tilewright.plan.space import recomputes
from tilewright.plan.types import OperatorPlan, Plan, Price, PriceTerm, Rejected
from tilewright.plan.views import ChainView, LoopView, view_schedule
from tilewright.plan.working_set import live_intermediates, working_set

KEPT_REJECTIONS = 8
"""Alternatives that a plan remembers, besides other micro kernels and the unfused plan."""

CALL = "call"
RankedKernels = dict[str, tuple[tuple[MicroKernel, float], ...]]


def plan_chain(
    chain: Chain,
    machine: Machine,
    *,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients = DEFAULT,
    unfused_price: Price | None = None,
    searched: Searched | None = None,
) -> Plan:
    """The plan of a chain on a machine, with its price, the price of its operators alone, and the rejected alternatives.

    `kernels` are the micro kernels to choose from (default: all registered ones that the machine can run). Symbolic extents
    are planned with their hints. `unfused_price` saves planning every operator alone where that is known, `searched` (which
    grows) searching a chain that differs from an earlier one in names only. Raises
    `PlanningError` if no micro kernel or no executable schedule exists.
    """
    setting, ranked = _setting(chain, machine, kernels, coefficients)
    found = recalled(setting, {} if searched is None else searched)
    blocking = refine(setting, found)
    winner, schedule = blocking.candidate, blocking.schedule
    others = [candidate for candidate in found if candidate is not winner]
    problem = why_not_executable(chain, schedule)
    if problem:
        raise PlanningError(f"no executable schedule for {chain.name}", where=chain.name, why=problem)
    price = price_blocking(setting, blocking)
    unfused = unfused_price or (price if len(chain.operators) == 1 else _unfused_price(setting))
    rejected = (
        *_rejected_fusion(chain, price, unfused),
        *_rejected_candidates(setting, winner, others),
        *_rejected_kernels(setting, ranked),
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


def price_blocking(setting: Setting, blocking: Blocking) -> Price:
    """The price of a plan, term by term: for every operator arithmetic overlaps with the traffic into each level."""
    terms: list[PriceTerm] = []
    totals = {"packing": 0.0, "blocks and tile ends": 0.0, "carried halos": 0.0, "visible traffic": 0.0}
    for operator, work in works(setting, blocking):
        terms += _overlapping_terms(setting, operator.name, work)
        totals["packing"] += float(work.packing_s)
        totals["blocks and tile ends"] += float(work.overhead_s)
        totals["carried halos"] += float(work.rolling_s)
        totals["visible traffic"] += float(visible_seconds(setting, traffic_seconds(setting, work)))
    terms += [PriceTerm(name, time) for name, time in totals.items() if time]
    terms += _spill_term(setting, blocking.outer)
    terms.append(PriceTerm(CALL, setting.coefficients.call_s))
    return Price((*terms, _region_term(setting, blocking.schedule)))


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
    chain: Chain, machine: Machine, kernels: tuple[MicroKernel, ...] | None, coefficients: Coefficients
) -> tuple[Setting, RankedKernels]:
    available = registry.for_machine(machine) if kernels is None else kernels
    sizes = planned_sizes(chain)
    roles = {op.name: contraction_roles(op) for op in chain.operators if op.is_contraction()}
    chosen: dict[str, MicroKernel] = {}
    ranked: RankedKernels = {}
    for name, own_roles in roles.items():
        chosen[name], ranked[name] = choose_kernel(chain.operator(name), own_roles, machine, sizes, available)
    return setting_of(chain, machine, chosen, roles, coefficients), ranked


def _overlapping_terms(setting: Setting, operator: str, work: Work) -> Iterator[PriceTerm]:
    group = f"time of {operator}"
    if work.arithmetic_s:
        yield PriceTerm(f"{operator}: arithmetic", float(work.arithmetic_s), group)
    if work.functions_s:
        yield PriceTerm(f"{operator}: functions", float(work.functions_s), group)
    for level, time in traffic_seconds(setting, work).items():
        if time:
            yield PriceTerm(f"{operator}: traffic into {level}", float(time), group)


def _region_term(setting: Setting, schedule: Schedule) -> PriceTerm:
    """A call on one thread opens no parallel region; the note says how the blocks divide and what a region costs."""
    blocks, cores = block_count(setting.chain, schedule), setting.machine.cores
    uneven = imbalance(blocks, cores)
    region_us = setting.machine.parallel_region_s * 1e6
    note = f"{blocks} blocks; on {cores} cores {uneven:.2f} times an even share, and {region_us:.1f} us more"
    return PriceTerm("parallel region", 0.0, note=note)


def _spill_term(setting: Setting, schedule: Schedule) -> Iterator[PriceTerm]:
    """What does not fit the fusion level goes out and comes back once per block of the shared loops."""
    view = view_schedule(setting.chain, schedule)
    excess = ELEMENT_BYTES * int(working_set(view)) - setting.capacity_bytes
    if excess > 0:
        shared = prod(loop.trips for loop in view.operators[0].loops if _is_shared(view, loop))
        time = 2 * excess * shared / setting.machine.levels[-1].bandwidth_bytes_per_s
        yield PriceTerm("spills", time, note=f"{excess} bytes beyond the share of {setting.fusion_level.name}")


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


def _unfused_price(setting: Setting) -> Price:
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
        prices.append(price_blocking(own, refine(own, search(own))))
    return separate_price(prices)


def separate_price(prices: Iterable[Price]) -> Price:
    """Several chains one after the other in one call: the cost of the call itself counts once."""
    terms = [term for price in prices for term in price.terms]
    calls = [term for term in terms if term.name == CALL]
    return Price((*(term for term in terms if term.name != CALL), *calls[:1]))


def _rejected_kernels(setting: Setting, ranked: RankedKernels) -> Iterator[Rejected]:
    for name, kernels in ranked.items():
        chosen = setting.kernels[name]
        winner_s = next(time for kernel, time in kernels if kernel is chosen)
        for kernel, time in [pair for pair in kernels if pair[0] is not chosen][:2]:
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
            slower = candidate.seconds > winner.seconds
            reason = "slower" if slower else "gains too little for another loop"
            yield Rejected(name, candidate.seconds, winner.seconds, "s", reason)


def _rejected_fusion(chain: Chain, price: Price, unfused: Price) -> Iterator[Rejected]:
    if len(chain.operators) > 1:
        reason = "intermediates go through memory" if unfused.seconds > price.seconds else "fusion was asked for"
        yield Rejected("every operator alone", unfused.seconds, price.seconds, "s", reason)
