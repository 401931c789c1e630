"""Inner loop nests: every operator's blocks are cut for L1, and right operands are packed or read in place.

Operators are independent here: inside its block an intermediate is an ordinary operand. Loops for L1 stand inside the block's
loops, over the same axes again. Their traffic is that of the whole nest, walked from their tile outwards; it replaces what the
bare block would move into L1. Both more loops and reading in place must gain `least_gain`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

import numpy as np

from tilewright.arrays import Count, spread
from tilewright.plan.counts import Counted, count_elements
from tilewright.plan.layout import panels
from tilewright.plan.model.cost import Block, Moving, Passing, Work, moving_of, nothing, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import CostContext, axes_of_like, likeness
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures, footprints, set_conflict
from tilewright.plan.model.operands.packing_cost import may_pack, may_stay, pack_depth, packs_ahead
from tilewright.plan.model.pricing import Blocking, Candidate, Walk
from tilewright.plan.regions.epilogues import uncut_axes
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView, view_schedule
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, nest
from tilewright.plan.space.schedule_space import axis_multiple, best_index, broadcast, candidates


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


def refinement(context: CostContext, found: Sequence[Candidate]) -> tuple[Blocking, Walk]:
    """The same, with how it is walked."""
    winner, least_gain = found[0], context.coefficients.least_gain
    rivals = [c for c in found[1:] if not c.is_bound]
    rivals = [c for c in rivals if c.used_bytes <= winner.used_bytes or c.used_bytes <= context.capacity_bytes]
    rivals = [c for c in rivals if c.blocks >= winner.blocks][: BEAM - 1]
    best = _refined(context, _unrefined(context, winner))
    for rival in rivals:
        unrefined = _unrefined(context, rival)
        best_s = _on_cores(best.unrefined.candidate, best.seconds)
        if _on_cores(rival, _floor(context, unrefined)) * least_gain < best_s:
            refined = _refined(context, unrefined)
            if _on_cores(rival, refined.seconds) * least_gain < best_s:
                best = refined
    return _blocking(context, best), _walk(context, best)


@dataclass(frozen=True, slots=True)
class _Unrefined:
    """A candidate before it is refined: its loops, and what every operator does under them with operands packed."""

    candidate: Candidate
    schedule: Schedule
    view: ChainView
    around: ChainFigures
    kinds: Mapping[str, Hashable]
    """Of operators: equal for equal layers."""
    works: Mapping[Hashable, tuple[Moving | None, Work]]
    """By kind; maps that micro tiles apply move nothing."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """Of an operator; `moving` is what it does without loops for L1, its right operand packed or not."""

    inner: InnerLoops
    conflict: float | None
    seconds: float
    moving: Moving | None


@dataclass(frozen=True, slots=True)
class _Refined:
    """A candidate with the decisions for every kind of operators, and its price."""

    unrefined: _Unrefined
    decisions: Mapping[Hashable, _Decision]
    firsts: Mapping[Hashable, OperatorView]
    """The first operator of each kind: decisions name its axes."""
    seconds: float


def _unrefined(context: CostContext, candidate: Candidate) -> _Unrefined:
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
    return _Unrefined(candidate, schedule, view, around, kinds, works)


def _refined(context: CostContext, unrefined: _Unrefined) -> _Refined:
    """Equal layers are decided once."""
    decisions = {kind: _decide(context, *work) for kind, work in unrefined.works.items()}
    firsts: dict[Hashable, OperatorView] = {}
    for member in unrefined.view.operators:
        firsts.setdefault(unrefined.kinds[member.operator.name], member)
    return _Refined(unrefined, decisions, firsts, sum(decisions[kind].seconds for kind in unrefined.kinds.values()))


def _blocking(context: CostContext, refined: _Refined) -> Blocking:
    unrefined, inner, conflicts = refined.unrefined, {}, {}
    for operator in (member.operator for member in unrefined.view.operators):
        kind = unrefined.kinds[operator.name]
        decision, first = refined.decisions[kind], refined.firsts[kind].operator
        if decision.inner:
            axes = axes_of_like(first, operator, [axis for axis, _ in decision.inner])
            inner[operator.name] = tuple(zip(axes, (tile for _, tile in decision.inner), strict=True))
        if decision.conflict is not None:
            conflicts[operator.name] = decision.conflict
    outer = unrefined.schedule
    schedule = replace(outer, body=with_inner(outer.body, inner)) if inner else outer
    schedule = packed(context, unrefined.view, unrefined.around, schedule, conflicts)
    return Blocking(unrefined.candidate, outer, schedule, conflicts, refined.seconds)


def _walk(context: CostContext, refined: _Refined) -> Walk:
    unrefined = refined.unrefined
    view, around = unrefined.view, unrefined.around
    movings = {kind: _moving(context, around, decision) for kind, decision in refined.decisions.items()}
    return Walk(view, around, tuple((one.operator, movings[unrefined.kinds[one.operator.name]]) for one in view.operators))


def _moving(context: CostContext, around: ChainFigures, decision: _Decision) -> Moving | None:
    """What an operator does under what was decided for it."""
    if decision.moving is None or not decision.inner:
        return decision.moving
    whole = decision.moving.passing
    inner = _inside(whole.view, decision.inner)
    return moving_of(passing_of(context, around, whole.view, whole.block, inner), decision.conflict)


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
            block = footprints(context.for_view(member), member.operator, member.tiles)
            depths[member.operator.name] = pack_depth(context, around, member, block)
    return with_packs(context, schedule, depths, ahead)


def _decide(context: CostContext, moving: Moving | None, work: Work) -> _Decision:
    """Pack or read in place, then the loops for L1."""
    least_gain = context.coefficients.least_gain
    best = _Decision((), None, float(seconds(context, work)), moving)
    if moving is None:
        return best
    operator = moving.passing.view.operator
    if may_stay(context, operator) and best.seconds > (best.seconds - work.packing_s) * least_gain:
        conflict = set_conflict(context, operator, context.cache_levels[0])
        reading = moving_of(moving.passing, conflict)
        in_place = work_of(reading)
        in_place_s = float(seconds(context, in_place))
        if in_place_s * least_gain < best.seconds:
            work, best = in_place, _Decision((), conflict, in_place_s, reading)
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
    roles = context.roles[member.operator.name]
    uncut = uncut_axes(context.chain, member.operator)
    block = {axis: int(member.tiles[axis]) for axis in (roles.row, roles.column, roles.depth) if axis}
    choices = {axis: (tile,) if axis in uncut else _inner_tiles(context, axis, tile) for axis, tile in block.items()}
    axes = [axis for axis, tiles in choices.items() if len(tiles) > 1]
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


def _floor(context: CostContext, unrefined: _Unrefined) -> float:
    """What refinement cannot get below: the price without traffic into L1 and without packing."""
    least = {kind: _least(context, replace(work, packing_s=0.0)) for kind, (_, work) in unrefined.works.items()}
    return sum(least[kind] for kind in unrefined.kinds.values())
