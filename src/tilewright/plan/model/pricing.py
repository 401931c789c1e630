"""Schedules as they are priced: candidates, blockings with the loops of every level told apart, split reductions, whole plans.

A candidate is the best schedule with each choice of outer loops, with the figures that it competes by. The price of a whole plan
has terms: see `price_blocking`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from tilewright.arrays import Count, product
from tilewright.graph.exactness import computed_type
from tilewright.graph.types import Operator, element_bytes
from tilewright.plan.model.cost import Moving, Work, moving_of, nothing, passing_of, traffic_seconds, visible_seconds, work_of
from tilewright.plan.model.cost_context import CostContext, likeness
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.model.operands.packing_cost import operands_read_once
from tilewright.plan.reasons import BeyondShare, CombinedParts, Loops, ParallelBlocks, Tiles
from tilewright.plan.regions.loop_views import ChainView, LoopView, block_count, view_schedule
from tilewright.plan.regions.online_reductions import row_axes, softmax_weights, weights_read
from tilewright.plan.schedule import FusedGroup, Loop, Schedule, fused_schedule
from tilewright.plan.threads import imbalance
from tilewright.plan.types import Price, PriceTerm, TermKind
from tilewright.records import record


@record
class Candidate:
    """The best schedule with some outer loops, with the figures that it competes by. Loops that always have one trip are left
    out."""

    outer_loops: tuple[str, ...]
    tiles: Mapping[str, int]
    """Of the outer loops and of all fused groups."""
    inner_orders: Mapping[str, tuple[str, ...]]
    inner_tiles: Mapping[str, Mapping[str, int]]
    seconds: float
    """On one thread."""
    cores_s: float
    """On the machine's cores: what candidates compete by."""
    used_bytes: int
    blocks: int
    is_bound: bool = False
    """Whether the figures are only what the outer loops cost at least: enough to lose by."""
    line_buffered: tuple[str, ...] = ()
    """Intermediates that have circular line buffers along the last of the outer loops."""
    fused_groups: tuple[FusedGroup, ...] = ()
    """Operators that share further loops, in the order of the chain."""

    def schedule(self, context: CostContext) -> Schedule:
        """The schedule, without packing."""
        chain, tiles, line_buffered = context.chain, self.tiles, self.line_buffered
        return fused_schedule(
            chain, self.outer_loops, self.inner_orders, tiles, self.inner_tiles, line_buffered, self.fused_groups
        )

    def loops(self) -> Loops:
        """Its loops, without the tiles of the inner ones: what tells candidates apart."""
        return Loops(
            self._tiles(self.outer_loops),
            self.line_buffered,
            tuple((self._tiles(group.axes), group.operators) for group in self.fused_groups),
            tuple((name, order) for name, order in self.inner_orders.items() if order),
        )

    def _tiles(self, axes: tuple[str, ...]) -> Tiles:
        return tuple((axis, self.tiles[axis]) for axis in axes)


NOT_SEARCHED = Candidate((), {}, {}, {}, 0.0, 0.0, 0, 0)
"""In the place of a candidate where loops are given."""


Works = Iterable[tuple[Operator, Work]]
"""Operators with what each costs."""


@record
class Blocking:
    """A schedule with its levels told apart, and what it was refined from."""

    candidate: Candidate
    outer: Schedule
    """The loops of the fusion level alone, without packing."""
    schedule: Schedule
    conflicts: Mapping[str, float]
    """Of contractions that read their right operand in place though they could pack it: see `traffic.set_conflict`."""
    seconds: float


class Walked(Protocol):
    """A blocking as it is walked, for its price."""

    def works(self, context: CostContext) -> Works:
        """What every operator costs with the micro kernels of a context: others than it is walked with prefetch differently."""

    def spills(self, context: CostContext) -> PriceTerm:
        """What does not fit the fusion level goes out and comes back once per block of the shared loops."""


@record
class Walk:
    """The same in full."""

    outer: ChainView
    """The loops of the fusion level."""
    around: ChainFigures
    movings: tuple[tuple[Operator, Moving | None], ...]
    """What every operator does without prefetches, equal layers the same; None of maps in micro tiles."""

    def works(self, context: CostContext) -> Works:
        """As of `Walked`; equal layers, which move the same, are priced once."""
        known: dict[Hashable, Work] = {}
        found = []
        for operator, moving in self.movings:
            key = id(moving), context.kernels.get(operator.name)
            if key not in known:
                known[key] = nothing(context) if moving is None else work_of(moving, context.kernels)
            found.append((operator, known[key]))
        return tuple(found)

    def spills(self, context: CostContext) -> PriceTerm:
        """As of `Walked`."""
        return spills(context, self.outer, self.around.live_bytes)


def walk_of(context: CostContext, blocking: Blocking) -> Walk:
    """How a blocking is walked with the micro kernels of a context."""
    outer = view_schedule(context.chain, blocking.outer)
    around = chain_figures(context, outer)
    return Walk(outer, around, tuple(_movings(context, blocking, outer, around)))


def works(context: CostContext, blocking: Blocking) -> Works:
    """What every operator of a blocking costs."""
    return walk_of(context, blocking).works(context)


def _movings(
    context: CostContext, blocking: Blocking, outer: ChainView, around: ChainFigures
) -> Iterator[tuple[Operator, Moving | None]]:
    done: dict[Hashable, Moving | None] = {}
    for member, inner in zip(outer.operators, view_schedule(context.chain, blocking.schedule).operators, strict=True):
        name = member.operator.name
        cut, conflict = inner if len(inner.loops) > len(member.loops) else None, blocking.conflicts.get(name)
        key = likeness(context, member), likeness(context, inner), conflict, around.shared_loops[name]
        if key not in done:
            passing = None if name in context.in_tiles else passing_of(context, around, member, inner=cut)
            done[key] = None if passing is None else moving_of(passing, conflict)
        yield member.operator, done[key]


@record
class SplitReduction:
    """A reduction cut into parts of `tile` points."""

    axis: str
    tile: int
    parts: int
    size: int
    """Points of the whole axis."""
    context: CostContext
    """Of one part."""
    blocking: Blocking
    """Of one part."""

    @property
    def passes(self) -> float:
        """Parts, the last one counted by its length."""
        return self.size / self.tile

    def schedule(self) -> Schedule:
        """The schedule of all parts."""
        part = self.blocking.schedule
        return Schedule((Loop(self.axis, self.tile, part.body),), part.storage, self.axis, part.ahead)


def combine_seconds(context: CostContext, parts: int) -> float:
    """Outputs and states of all parts written to memory and read back, and a pass over them."""
    sink = context.chain.operators[-1]
    rows = weights_read(context.chain, sink)
    weights = softmax_weights(rows) if rows is not None else None
    written = int(product(context.sizes[name] for name in sink.write.axes()))
    per_state = int(product(context.sizes[name] for name in row_axes(rows))) if rows is not None else 0
    states = len(weights.factors) * per_state if weights else 0
    size_bytes = parts * (written + states) * element_bytes(computed_type(sink))
    vectors = size_bytes * 8 / context.machine.vector_bits
    moved = 2 * size_bytes / context.machine.levels[-1].bandwidth_bytes_per_s
    passing = vectors * context.coefficients.pass_cycles_per_vector / context.machine.frequency_hz
    return context.coefficients.combining * (moved + passing)


def price_blocking(context: CostContext, blocking: Blocking, walk: Walked | None = None, done: Works | None = None) -> Price:
    """The price of a plan, term by term: for every operator arithmetic overlaps with the traffic into each level.

    `walk` and `done` are how it is walked and what the operators cost, where that is known.
    """
    walk = walk or walk_of(context, blocking)
    terms: list[PriceTerm] = []
    beside = (TermKind.PACKING, TermKind.BLOCKS, TermKind.LINE_BUFFERS, TermKind.VISIBLE_TRAFFIC, TermKind.PREFETCHES)
    totals = dict.fromkeys(beside, 0.0)
    for operator, work in walk.works(context) if done is None else done:
        terms += _overlapping_terms(context, operator.name, work)
        totals[TermKind.PREFETCHES] += float(work.prefetch_s)
        totals[TermKind.PACKING] += float(work.packing_s)
        totals[TermKind.BLOCKS] += float(work.overhead_s)
        totals[TermKind.LINE_BUFFERS] += float(work.line_buffer_s)
        totals[TermKind.VISIBLE_TRAFFIC] += float(visible_seconds(context, traffic_seconds(context, work)))
    terms += [PriceTerm(kind, time) for kind, time in totals.items() if time]
    spilled = walk.spills(context)
    if spilled.seconds:
        terms.append(spilled)
    terms.append(PriceTerm(TermKind.CALL, context.coefficients.call_s))
    blocks = block_count(context.chain, blocking.schedule)
    return Price((*terms, _region_term(context, blocks)), blocks, context.machine.parallel_region_s * (blocks > 1))


def price_split(context: CostContext, split: SplitReduction) -> Price:
    """The price of a chain whose reduction is split: parts cost what they have of it, then their combination."""
    of_part = [term for term in price_blocking(split.context, split.blocking).terms if term.kind is not TermKind.REGION]
    terms = [replace(term, seconds=term.seconds * (1 if term.kind is TermKind.CALL else split.passes)) for term in of_part]
    combining_s = combine_seconds(context, split.parts)
    blocks, regions_s = block_count(context.chain, split.schedule()), 2 * context.machine.parallel_region_s
    combining = PriceTerm(TermKind.COMBINE, combining_s, note=CombinedParts(split.parts))
    return Price((*terms, combining, _region_term(context, blocks)), blocks, regions_s)


def separate_price(prices: Iterable[Price]) -> Price:
    """Several chains one after the other in one call: the cost of the call itself counts once."""
    every = tuple(prices)
    terms = [term for price in every for term in price.terms]
    calls = [term for term in terms if term.kind is TermKind.CALL]
    others = [term for term in terms if term.kind is not TermKind.CALL]
    fewest = min((price.blocks for price in every), default=1)
    return Price((*others, *calls[:1]), fewest, sum(price.region_s for price in every))


def spills(context: CostContext, view: ChainView, live_bytes: Count) -> PriceTerm:
    """What does not fit the fusion level goes out and comes back once per block of the shared loops."""
    excess = max(0, int(working_set_bytes(view, operands_read_once(context, view), live_bytes)) - context.capacity_bytes)
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


def _region_term(context: CostContext, blocks: int) -> PriceTerm:
    """A call on one thread opens no parallel region; the note says how the blocks divide and what a region costs."""
    cores = context.machine.cores
    note = ParallelBlocks(blocks, cores, float(imbalance(blocks, cores)), context.machine.parallel_region_s)
    return PriceTerm(TermKind.REGION, 0.0, note=note)


def _is_shared(view: ChainView, loop: LoopView) -> bool:
    return all(any(loop.node == shared.node for shared in member.loops) for member in view.operators)
