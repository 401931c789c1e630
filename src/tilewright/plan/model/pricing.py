"""Price of a whole plan, term by term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilewright.plan.arrays import product
from tilewright.plan.model.blocking import Blocking, Works, works
from tilewright.plan.model.cost import Work, traffic_seconds, visible_seconds
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.model.operands.read_once import operands_read_once
from tilewright.plan.model.split_price import SplitReduction, combine_seconds
from tilewright.plan.model.threads import imbalance
from tilewright.plan.reasons import BeyondShare, CombinedParts, ParallelBlocks
from tilewright.plan.regions.loop_views import ChainView, LoopView, view_schedule
from tilewright.plan.regions.parallel_loops import block_count
from tilewright.plan.schedule import Schedule
from tilewright.plan.types import Price, PriceTerm, TermKind


def price_blocking(context: CostContext, blocking: Blocking, done: Works | None = None) -> Price:
    """The price of a plan, term by term: for every operator arithmetic overlaps with the traffic into each level.

    `done` is what the operators cost, where that is known.
    """
    terms: list[PriceTerm] = []
    beside = (TermKind.PACKING, TermKind.BLOCKS, TermKind.LINE_BUFFERS, TermKind.VISIBLE_TRAFFIC, TermKind.PREFETCHES)
    totals = dict.fromkeys(beside, 0.0)
    for operator, work in works(context, blocking) if done is None else done:
        terms += _overlapping_terms(context, operator.name, work)
        totals[TermKind.PREFETCHES] += float(work.prefetch_s)
        totals[TermKind.PACKING] += float(work.packing_s)
        totals[TermKind.BLOCKS] += float(work.overhead_s)
        totals[TermKind.LINE_BUFFERS] += float(work.line_buffer_s)
        totals[TermKind.VISIBLE_TRAFFIC] += float(visible_seconds(context, traffic_seconds(context, work)))
    terms += [PriceTerm(kind, time) for kind, time in totals.items() if time]
    spilled = spills(context, blocking.outer)
    if spilled.seconds:
        terms.append(spilled)
    terms.append(PriceTerm(TermKind.CALL, context.coefficients.call_s))
    blocks = block_count(context.chain, blocking.schedule)
    return Price((*terms, _region_term(context, blocking.schedule)), blocks, context.machine.parallel_region_s * (blocks > 1))


def price_split(context: CostContext, split: SplitReduction) -> Price:
    """The price of a chain whose reduction is split: parts cost what they have of it, then their combination."""
    of_part = [term for term in price_blocking(split.context, split.blocking).terms if term.kind is not TermKind.REGION]
    terms = [replace(term, seconds=term.seconds * (1 if term.kind is TermKind.CALL else split.passes)) for term in of_part]
    combining_s = combine_seconds(context, split.parts)
    blocks, regions_s = block_count(context.chain, split.schedule()), 2 * context.machine.parallel_region_s
    combining = PriceTerm(TermKind.COMBINE, combining_s, note=CombinedParts(split.parts))
    return Price((*terms, combining, _region_term(context, split.schedule())), blocks, regions_s)


def separate_price(prices: Iterable[Price]) -> Price:
    """Several chains one after the other in one call: the cost of the call itself counts once."""
    every = tuple(prices)
    terms = [term for price in every for term in price.terms]
    calls = [term for term in terms if term.kind is TermKind.CALL]
    fewest = min((price.blocks for price in every), default=1)
    return Price(
        (*(term for term in terms if term.kind is not TermKind.CALL), *calls[:1]), fewest, sum(price.region_s for price in every)
    )


def spills(context: CostContext, schedule: Schedule) -> PriceTerm:
    """What does not fit the fusion level goes out and comes back once per block of the shared loops."""
    view = view_schedule(context.chain, schedule)
    excess = max(0, int(working_set_bytes(view, operands_read_once(context, view))) - context.capacity_bytes)
    shared = int(product(loop.trips for loop in view.operators[0].loops if _is_shared(view, loop)))
    behind = context.machine.levels[context.fusion_position + 1]
    time = context.coefficients.spilling * 2 * excess * shared / behind.bandwidth_bytes_per_s
    return PriceTerm(TermKind.SPILLS, time, note=BeyondShare(excess, context.fusion_level.name))


def _overlapping_terms(context: CostContext, operator: str, work: Work) -> Iterator[PriceTerm]:
    if work.arithmetic_s or work.functions_s:
        kind = TermKind.ARITHMETIC_AND_FUNCTIONS if work.arithmetic_s and work.functions_s else TermKind.ARITHMETIC
        kind = kind if work.arithmetic_s else TermKind.FUNCTIONS
        yield PriceTerm(kind, float(work.arithmetic_s + work.functions_s), operator)
    for level, time in traffic_seconds(context, work).items():
        overlapped = context.coefficients.overlapped_traffic * float(time)
        if overlapped:
            yield PriceTerm(TermKind.TRAFFIC, overlapped, operator, level)


def _region_term(context: CostContext, schedule: Schedule) -> PriceTerm:
    """A call on one thread opens no parallel region; the note says how the blocks divide and what a region costs."""
    blocks, cores = block_count(context.chain, schedule), context.machine.cores
    note = ParallelBlocks(blocks, cores, float(imbalance(blocks, cores)), context.machine.parallel_region_s)
    return PriceTerm(TermKind.REGION, 0.0, note=note)


def _is_shared(view: ChainView, loop: LoopView) -> bool:
    return all(any(loop.node == shared.node for shared in member.loops) for member in view.operators)
