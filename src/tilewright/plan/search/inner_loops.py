"""Inner loop nests: every operator's blocks are cut for L1, and right operands are packed or read in place.

Operators are independent here: inside its block an intermediate is an ordinary operand. Loops for L1 stand inside the block's
loops, over the same axes again. Their traffic is that of the whole nest, walked from their tile outwards; it replaces what the
bare block would move into L1. Both more loops and reading in place must gain `least_gain`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from math import prod

import numpy as np

from tilewright.arrays import Count, spread
from tilewright.graph.types import Operator
from tilewright.plan.counts import Counted, count_elements
from tilewright.plan.layout import panels
from tilewright.plan.model.cost import Block, Moving, Passing, Work, measure, moving_of, nothing, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import CostContext, axes_of_like, likeness
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures, set_conflict
from tilewright.plan.model.operands.packing_cost import may_pack, may_pack_ahead, may_stay, pack_depth, packs_ahead
from tilewright.plan.model.pricing import Blocking, Candidate, Walk, Walked, Works, spills
from tilewright.plan.regions.epilogues import uncut_axes
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView, view_schedule
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, nest
from tilewright.plan.search.core import library
from tilewright.plan.search.core.data import BeyondLimits
from tilewright.plan.search.core.library import Core
from tilewright.plan.search.core.refined import (
    Assessed,
    Decided,
    Prefetching,
    SmallerBlocks,
    assessed,
    core_candidate,
    prefetching,
)
from tilewright.plan.search.core.searched import CoreProblem
from tilewright.plan.space.schedule_space import axis_multiple, best_index, broadcast, candidates
from tilewright.plan.types import PriceTerm, TermKind
from tilewright.records import record, replace


def with_packs(context: CostContext, schedule: Schedule, depths: dict[str, int], ahead: Iterable[str] = ()) -> Schedule:
    """The schedule with a Pack for each named contraction: inside so many of the loops around it, or ahead of all calls."""
    schedule = replace(schedule, ahead=tuple(_pack(context, name) for name in ahead))
    for name, depth in depths.items():
        schedule = replace(schedule, body=_insert(schedule.body, _pack(context, name), schedule.path(name), depth))
    return schedule


def _pack(context: CostContext, name: str) -> Pack:
    kernel = context.kernels[name]
    return Pack(name, context.roles[name].right, panels(kernel.columns, kernel.interleave))


def _insert(body: tuple[Node, ...], pack: Pack, path: tuple[Loop, ...], depth: int) -> tuple[Node, ...]:
    """Insert a Pack inside so many of the loops that lead to its operator, in front of the next one, or of the operator."""
    leads = [node is path[0] if path else isinstance(node, Compute) and node.operator == pack.operator for node in body]
    place = leads.index(True)
    if not depth:
        return (*body[:place], pack, *body[place:])
    return (*body[:place], replace(path[0], body=_insert(path[0].body, pack, path[1:], depth - 1)), *body[place + 1 :])


BEAM = 3
"""Plans of the fusion level that are refined."""

InnerLoops = tuple[tuple[str, int], ...]
"""(axis, tile) of the loops that cut an operator's block for L1, outermost first."""


def refine(context: CostContext, found: Sequence[Candidate]) -> Blocking:
    """The best of the first few candidates when each is refined; the earlier of plans that cost about the same."""
    return refinement(context, found)[0]


def refined_seconds(context: CostContext, candidate: Candidate, operator: str) -> float:
    """What an operator of a candidate costs with its best inner loops."""
    by_arrays = _by_arrays(context, candidate)
    return _decide(context, *by_arrays.works[by_arrays.kinds[operator]]).seconds


def refinement(context: CostContext, found: Sequence[Candidate], in_core: CoreProblem | None = None) -> tuple[Blocking, Walked]:
    """The same, with how it is walked; by the core where it has the problem."""
    winner, least_gain = found[0], context.coefficients.least_gain
    rivals = [c for c in found[1:] if not c.is_bound]
    rivals = [c for c in rivals if c.used_bytes <= winner.used_bytes or c.used_bytes <= context.capacity_bytes]
    rivals = [c for c in rivals if c.blocks >= winner.blocks][: BEAM - 1]
    of_kernels = prefetching(context) if in_core is not None else None
    best = _unrefined(context, winner, in_core, of_kernels).refined()
    for rival in rivals:
        unrefined = _unrefined(context, rival, in_core, of_kernels)
        best_s = _on_cores(best.candidate, best.seconds)
        if _on_cores(rival, unrefined.floor_s()) * least_gain < best_s:
            refined = unrefined.refined()
            if _on_cores(rival, refined.seconds) * least_gain < best_s:
                best = refined
    return _walked(context, best)


@record
class _Decision:
    inner: InnerLoops
    conflict: float | None
    seconds: float


@record
class _Refined:
    """A candidate with the decisions for its operators, and its price."""

    candidate: Candidate
    decisions: Mapping[str, _Decision]
    seconds: float
    found: _ByArrays | Assessed
    """What it was found by."""


@record
class _ByArrays:
    """A candidate before it is refined: its loops, and what every operator does under them with operands packed."""

    context: CostContext
    candidate: Candidate
    schedule: Schedule
    view: ChainView
    around: ChainFigures
    kinds: Mapping[str, Hashable]
    """Of operators: equal for equal layers."""
    works: Mapping[Hashable, tuple[Moving | None, Work]]
    """By kind; maps that micro tiles apply move nothing."""

    def floor_s(self) -> float:
        """What refinement cannot get below: the price without traffic into L1 and without packing."""
        least = {kind: _least(self.context, replace(work, packing_s=0.0)) for kind, (_, work) in self.works.items()}
        return sum(least[kind] for kind in self.kinds.values())

    def refined(self) -> _Refined:
        """The candidate with the best inner loops; equal layers are decided once."""
        known: dict[Hashable, tuple[Operator, _Decision]] = {}
        found: dict[str, _Decision] = {}
        for operator in (member.operator for member in self.view.operators):
            kind = self.kinds[operator.name]
            if kind not in known:
                known[kind] = operator, _decide(self.context, *self.works[kind])
            first, decision = known[kind]
            axes = axes_of_like(first, operator, [axis for axis, _ in decision.inner])
            tiles = (tile for _, tile in decision.inner)
            found[operator.name] = replace(decision, inner=tuple(zip(axes, tiles, strict=True)))
        return _Refined(self.candidate, found, sum(decision.seconds for decision in found.values()), self)


def _by_arrays(context: CostContext, candidate: Candidate) -> _ByArrays:
    schedule = candidate.schedule(context)
    view = view_schedule(context.chain, schedule)
    around = chain_figures(context, view)
    kinds: dict[str, Hashable] = {}
    works: dict[Hashable, tuple[Moving | None, Work]] = {}
    for member in view.operators:
        name = member.operator.name
        kinds[name] = kind = likeness(context, member), around.shared_loops[name]
        if kind not in works:
            moving = None if name in context.in_tiles else moving_of(passing_of(context, around, member))
            works[kind] = moving, nothing(context) if moving is None else work_of(moving)
    return _ByArrays(context, candidate, schedule, view, around, kinds, works)


@record
class _InCore:
    """A candidate before it is refined, as the core sees it."""

    core: Core
    candidate: Candidate
    assessed: Assessed

    def floor_s(self) -> float:
        """As of `_ByArrays`."""
        return sum(one.floor_s for one in self.assessed.decided.values())

    def refined(self) -> _Refined:
        """The candidate with the best inner loops."""
        found = self.assessed
        context = found.candidate.problem.space.context
        smaller = {name: _smaller_blocks(context, name, one) for name, one in found.decided.items() if one.may_gain}
        smaller = {name: blocks for name, blocks in smaller.items() if blocks.tiles}
        if smaller:
            found = assessed(self.core, found.candidate, found.of_kernels, smaller)
        decisions = {}
        for name, one in found.decided.items():
            inner = smaller[name].chosen(one.loops) if min(one.loops) >= 0 else ()
            decisions[name] = _Decision(inner, one.conflict, one.seconds)
        return _Refined(self.candidate, decisions, sum(one.seconds for one in decisions.values()), found)


def _unrefined(
    context: CostContext, candidate: Candidate, in_core: CoreProblem | None, of_kernels: Prefetching | None
) -> _ByArrays | _InCore:
    core = library.core()
    if core is not None and in_core is not None and of_kernels is not None:
        with suppress(BeyondLimits):
            found = assessed(core, core_candidate(in_core, candidate), of_kernels, {})
            if not _are_alike([context.kinds.get(name) for name, one in found.decided.items() if one.may_gain]):
                return _InCore(core, candidate, found)
    return _by_arrays(context, candidate)


def _are_alike(kinds: Sequence[int | None]) -> bool:
    """Whether some operators are like others, with which they are decided."""
    known = [kind for kind in kinds if kind is not None]
    return len(set(known)) < len(known)


def _smaller_blocks(context: CostContext, name: str, decided: Decided) -> SmallerBlocks:
    """What loops inside the block of an operator may make of it."""
    operator = context.chain.operator(name)
    choices = _inner_choices(context, operator, decided.tiles)
    tiles = broadcast(tuple(choices), choices)
    sizes = {**context.sizes, **decided.sizes}
    walking = context if sizes == context.sizes else context.with_sizes(sizes)
    return SmallerBlocks(choices, measure(walking, operator, {**decided.tiles, **tiles}))


@record
class _WalkOfCore:
    """A blocking as the core has walked it."""

    blocking: Blocking
    found: Assessed
    known: Mapping[tuple[str, str], Work]
    """By operator and micro kernel."""

    def works(self, context: CostContext) -> Works:
        """As of `Walked`."""
        kernels, operators = context.kernels, context.chain.operators
        names = {operator.name: kernels[operator.name].name if operator.name in kernels else "" for operator in operators}
        return tuple((operator, self.known[operator.name, names[operator.name]]) for operator in operators)

    def spills(self, context: CostContext) -> PriceTerm:
        """As of `Walked`."""
        if self.found.fits():
            return PriceTerm(TermKind.SPILLS, 0.0)
        return spills(context, view_schedule(context.chain, self.blocking.outer), int(self.found.live_bytes))


def _walked(context: CostContext, refined: _Refined) -> tuple[Blocking, Walked]:
    """The blocking of a refined candidate, and how it is walked."""
    found, candidate, conflicts = refined.found, refined.candidate, _conflicts(refined)
    if isinstance(found, Assessed) and found.has_works():
        outer = candidate.schedule(context)
        schedule = _packed_by_core(context, outer, _with_decisions(outer, refined), found, conflicts)
        blocking = Blocking(candidate, outer, schedule, conflicts, refined.seconds)
        return blocking, _WalkOfCore(blocking, found, found.works())
    by_arrays = found if isinstance(found, _ByArrays) else _by_arrays(context, candidate)
    whole = _with_decisions(by_arrays.schedule, refined)
    schedule = packed(context, by_arrays.view, by_arrays.around, whole, conflicts)
    return Blocking(candidate, by_arrays.schedule, schedule, conflicts, refined.seconds), _walk(context, by_arrays, refined)


def _packed_by_core(context: CostContext, outer: Schedule, whole: Schedule, found: Assessed, stays: Collection[str]) -> Schedule:
    """As `packed`, without a view where all is packed ahead."""
    packing = [one for one in context.chain.operators if may_pack(context, one) and one.name not in stays]
    if not packing or (not found.has_regions and all(may_pack_ahead(context, one) for one in packing)):
        return with_packs(context, whole, {}, [one.name for one in packing])
    view = view_schedule(context.chain, outer)
    return packed(context, view, chain_figures(context, view), whole, stays)


def _conflicts(refined: _Refined) -> dict[str, float]:
    return {name: decision.conflict for name, decision in refined.decisions.items() if decision.conflict is not None}


def _with_decisions(outer: Schedule, refined: _Refined) -> Schedule:
    """A schedule with the loops for L1."""
    inner = {name: decision.inner for name, decision in refined.decisions.items() if decision.inner}
    return replace(outer, body=with_inner(outer.body, inner)) if inner else outer


def _walk(context: CostContext, by_arrays: _ByArrays, refined: _Refined) -> Walk:
    movings: dict[Hashable, Moving | None] = {}
    for name, kind in by_arrays.kinds.items():
        if kind not in movings:
            moving, _ = by_arrays.works[kind]
            movings[kind] = moving and _moving(context, by_arrays.around, moving, refined.decisions[name])
    every = ((one.operator, movings[by_arrays.kinds[one.operator.name]]) for one in by_arrays.view.operators)
    return Walk(by_arrays.view, by_arrays.around, tuple(every))


def _moving(context: CostContext, around: ChainFigures, packed: Moving, decision: _Decision) -> Moving:
    """What an operator does under what was decided for it."""
    if decision.conflict is None and not decision.inner:
        return packed
    passing = packed.passing
    if decision.inner:
        passing = passing_of(context, around, passing.view, passing.block, _inside(passing.view, decision.inner))
    return moving_of(passing, decision.conflict)


def packed(context: CostContext, view: ChainView, around: ChainFigures, schedule: Schedule, stays: Collection[str]) -> Schedule:
    """The schedule with its right operands packed, each at its best place under the loops of a view, but for those that stay."""
    ahead: list[str] = []
    depths: dict[str, int] = {}
    for member in view.operators:
        if not may_pack(context, member.operator) or member.operator.name in stays:
            continue
        if packs_ahead(context, member):
            ahead.append(member.operator.name)
        else:
            depths[member.operator.name] = pack_depth(context.for_view(member), around, member)
    return with_packs(context, schedule, depths, ahead)


def _decide(context: CostContext, moving: Moving | None, work: Work) -> _Decision:
    """Pack or read in place, then the loops for L1."""
    least_gain = context.coefficients.least_gain
    best = _Decision((), None, float(seconds(context, work)))
    if moving is None:
        return best
    operator = moving.passing.view.operator
    if may_stay(context, operator) and best.seconds > (best.seconds - work.packing_s) * least_gain:
        conflict = set_conflict(context, operator, context.cache_levels[0])
        in_place = work_of(moving_of(moving.passing, conflict))
        in_place_s = float(seconds(context, in_place))
        if in_place_s * least_gain < best.seconds:
            work, best = in_place, _Decision((), conflict, in_place_s)
    if operator.name in context.kernels and _least(context, work) * least_gain < best.seconds:
        return _with_loops(moving.passing, best)
    return best


def _least(context: CostContext, work: Work) -> float:
    """The price if nothing moved into L1."""
    traffic = {**work.traffic_bytes, context.cache_levels[0].name: 0}
    return float(seconds(context, replace(work, traffic_bytes=traffic)))


def _with_loops(whole: Passing, best: _Decision) -> _Decision:
    """The best loops inside an operator's block, if there are any worth it, given what it does without."""
    context, around, member = whole.context, whole.around, whole.view
    choices = _inner_choices(context, member.operator, member.tiles)
    axes = tuple(choices)
    tiles = broadcast(axes, choices)
    nearest: Block | None = None
    volumes = prod(tiles.values(), start=np.ones(tuple(len(choices[axis]) for axis in axes)))
    for order in permutations(axes):
        inner = _inside(member, [(axis, tiles[axis]) for axis in order])
        passing = passing_of(context, around, member, whole.block, inner, nearest)
        nearest = passing.nearest  # of the same tiles in every order
        prices = seconds(context, work_of(moving_of(passing, best.conflict)))
        prices = spread(prices, volumes.shape)
        count_elements(Counted.CANDIDATES, prices)
        index = best_index(prices, volumes, context.coefficients.equal_within)
        least_gain = context.coefficients.least_gain if not best.inner else 1.0
        if float(prices[index]) * least_gain < best.seconds:
            chosen = {axis: choices[axis][i] for axis, i in zip(axes, index, strict=True)}
            loops = tuple((axis, chosen[axis]) for axis in order if chosen[axis] < member.tiles[axis])
            best = replace(best, inner=loops, seconds=float(prices[index]))
    return best


def _inner_choices(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> dict[str, tuple[int, ...]]:
    """The tiles of the axes of an operator's block that loops for L1 may cut."""
    roles, uncut = context.roles[operator.name], uncut_axes(context.chain, operator)
    block = {axis: int(tiles[axis]) for axis in (roles.row, roles.column, roles.depth) if axis and axis not in uncut}
    choices = {axis: _inner_tiles(context, axis, tile) for axis, tile in block.items()}
    return {axis: some for axis, some in choices.items() if len(some) > 1}


def _inner_tiles(context: CostContext, axis: str, tile: int) -> tuple[int, ...]:
    """Tiles of a block's axis; the last one is the block's."""
    return tuple(min(inner, tile) for inner in candidates(tile, axis_multiple(context, axis)))


def _inside(member: OperatorView, loops: Sequence[tuple[str, Count]]) -> OperatorView:
    more = tuple(LoopView(axis, -(-member.tiles[axis] // tile), -2 - i) for i, (axis, tile) in enumerate(loops))
    return replace(member, loops=(*member.loops, *more), tiles={**member.tiles, **dict(loops)})


def with_inner(body: tuple[Node, ...], inner: Mapping[str, InnerLoops]) -> tuple[Node, ...]:
    """The tree with loops around the leaves of some operators."""
    nodes: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            nodes.append(replace(node, body=with_inner(node.body, inner)))
        else:
            nodes += nest(inner.get(node.operator, ()) if isinstance(node, Compute) else (), (node,))
    return tuple(nodes)


def _on_cores(candidate: Candidate, seconds: float) -> float:
    """The time on the machine's cores of a plan whose blocks are those of a candidate."""
    return seconds * candidate.cores_s / candidate.seconds
