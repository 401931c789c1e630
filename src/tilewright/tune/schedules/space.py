"""What a schedule of a chain is before it is priced, and the plan that it becomes.

A `Point` names the loops of the fusion level, those that cut each operator's block for L1, which right operands are read in
place, and the micro kernels. `priced` makes a plan of it that can be compiled; packs stand where the planner would put them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tilewright.plan.decisions.execution import with_execution
from tilewright.plan.decisions.non_temporal_stores import non_temporal_term, non_temporal_writes
from tilewright.plan.decisions.software_prefetch import inputs_to_prefetch, operators_that_prefetch
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import chain_figures, set_conflict
from tilewright.plan.model.needed_work import key_blocks
from tilewright.plan.model.plan_figures import constant_bytes, scratch_bytes
from tilewright.plan.model.price_features import features
from tilewright.plan.model.pricing import NOT_SEARCHED, Blocking, price_blocking
from tilewright.plan.regions.epilogues import maps_in_tiles
from tilewright.plan.regions.loop_views import parallel_axes, view_schedule
from tilewright.plan.schedule import Loop, Node, Schedule
from tilewright.plan.search.inner_loops import InnerLoops, packed, with_inner
from tilewright.plan.space.schedule_space import axis_multiple
from tilewright.plan.space.tile_sizes import candidates
from tilewright.plan.types import OperatorPlan, Plan

DRAWS_PER_POINT = 50
"""Draws after which a space is taken to have no more distinct schedules."""
Kernels: TypeAlias = tuple[tuple[str, str], ...]
"""The micro kernel of every contraction, by names."""


@dataclass(frozen=True, slots=True)
class Point:
    """One schedule. `outer` has no packs; `inner` are the loops for L1 of the operators that have any, outermost first."""

    kernels: Kernels
    outer: Schedule
    inner: tuple[tuple[str, InnerLoops], ...] = ()
    in_place: frozenset[str] = frozenset()


def point_of(context: CostContext, blocking: Blocking) -> Point:
    """The point that a blocking of the planner is."""
    kernels = tuple((name, kernel.name) for name, kernel in context.kernels.items())
    inner = {}
    for operator in context.chain.operators:
        loops = blocking.schedule.path(operator.name)[len(blocking.outer.path(operator.name)) :]
        if loops:
            inner[operator.name] = tuple((loop.axis, loop.tile) for loop in loops)
    return Point(kernels, blocking.outer, tuple(inner.items()), frozenset(blocking.conflicts))


def blocking_of(context: CostContext, point: Point) -> Blocking:
    """The blocking of a point, its packs at the planner's own places. `context` has the point's kernels."""
    chain, outer = context.chain, point.outer
    view = view_schedule(chain, outer)
    nearest = context.cache_levels[0]
    conflicts = {name: set_conflict(context, chain.operator(name), nearest) for name in sorted(point.in_place)}
    whole = replace(outer, body=with_inner(outer.body, dict(point.inner)))
    schedule = packed(context, view, chain_figures(context, view), whole, point.in_place)
    return Blocking(NOT_SEARCHED, outer, schedule, conflicts, 0.0)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A plan, ready for code generation, and what its price is made of."""

    point: Point
    plan: Plan
    blocking: Blocking
    context: CostContext

    @property
    def predicted_s(self) -> float:
        """Of one call on one thread."""
        return self.plan.predicted_seconds

    def features(self) -> dict[str, dict[str, float]]:
        """See `plan.model.price_features`."""
        return features(self.context, self.blocking)


def priced(like: Plan, context: CostContext, point: Point) -> Sampled:
    """The plan of a point, for the chain and machine of another plan."""
    blocking = blocking_of(context, point)
    chain, used = context.chain, dict(point.kernels)
    scratch = scratch_bytes(context, blocking.schedule)
    schedule = blocking.schedule
    maps = maps_in_tiles(chain, schedule, context.kernels)
    prefetched = inputs_to_prefetch(context, schedule, scratch)
    price = price_blocking(context, blocking)
    plan = replace(
        like,
        schedule=schedule,
        operators=tuple(
            OperatorPlan(op.name, used.get(op.name), context.roles.get(op.name), epilogue_of=maps.get(op.name, ""))
            for op in chain.operators
        ),
        levels=(),
        parallel_axes=parallel_axes(chain, schedule),
        movements=(),
        scratch_bytes=scratch,
        constant_bytes=constant_bytes(context, schedule),
        prefetched_inputs=prefetched,
        prefetching_operators=operators_that_prefetch(context, schedule, prefetched),
        non_temporal=non_temporal_writes(context, schedule),
        key_blocks=key_blocks(context, schedule),
        price=replace(price, terms=(*price.terms, *non_temporal_term(context, schedule))),
        rejected=(),
    )
    named = {kernel.name: kernel for kernel in context.kernels.values()}
    return Sampled(point, with_execution(plan, named), blocking, context)


def distinct(draw: Callable[[], Point | None], count: int, own: Point) -> list[Point]:
    """So many different points that are drawn, none of them the own one; fewer where the space seems to have no more."""
    found: dict[Point, None] = {}
    for _ in range(DRAWS_PER_POINT * count):
        point = draw()
        if point is not None and point != own:
            found.setdefault(point)
        if len(found) == count:
            break
    return list(found)


def shared_loops(schedule: Schedule) -> tuple[Loop, ...]:
    """The loops around everything."""
    loops: list[Loop] = []
    body = schedule.body
    while len(body) == 1 and isinstance(body[0], Loop) and _leaves(body) == _leaves(schedule.body):
        loops.append(body[0])
        body = body[0].body
    return tuple(loops)


def _leaves(body: tuple[Node, ...]) -> int:
    return sum(1 for _ in Schedule(body).leaves())


def inner_choices(context: CostContext, outer: Schedule, name: str) -> dict[str, tuple[int, ...]]:
    """Of the axes of an operator's block that loops for L1 may cut: the tiles, the last one the block's own."""
    roles, block = context.roles[name], view_schedule(context.chain, outer).of(name).tiles
    found = {}
    for axis in (roles.row, roles.column, roles.depth):
        if axis is not None:
            tiles = candidates(int(block[axis]), axis_multiple(context, axis))
            found[axis] = tuple(dict.fromkeys(min(tile, int(block[axis])) for tile in tiles))
    return {axis: tiles for axis, tiles in found.items() if len(tiles) > 1}
