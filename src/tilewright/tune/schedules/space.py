"""What a schedule of a chain is before it is priced, and the plan that it becomes.

A `Point` names the loops of the fusion level, those that cut each operator's block for L1, which right operands are read in
place, and the micro kernels. `priced` makes a plan of it that can be compiled; packs stand where the planner would put them.

Steps lead to all schedules beside one: a tile one candidate up or down, an order exchanged, a loop, a packing or a kernel.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from typing import TypeAlias

from tilewright.arrays import Count
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.decisions.execution import with_execution, with_leaves
from tilewright.plan.decisions.micro_kernel import tiles
from tilewright.plan.decisions.non_temporal_stores import price_with_stores
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import chain_figures, set_conflict
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.model.price_features import features
from tilewright.plan.model.pricing import NOT_SEARCHED, Blocking
from tilewright.plan.planner import blocked_plan
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import Loop, Node, Schedule, nest, planned_sizes, storage_below
from tilewright.plan.search.inner_loops import InnerLoops, packed, with_inner
from tilewright.plan.space.schedule_space import Space, axis_multiple, candidates
from tilewright.plan.types import Plan
from tilewright.records import record

DRAWS_PER_POINT = 50
"""Draws after which a space is taken to have no more distinct schedules."""
Kernels: TypeAlias = tuple[tuple[str, str], ...]
"""The micro kernel of every contraction, by names."""


@record
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


@record
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
    price = price_with_stores(context, blocking)
    plan = blocked_plan(context, blocking, price, like.unfused_price, like.floor, ())
    named = {kernel.name: kernel for kernel in context.kernels.values()}
    return Sampled(point, with_leaves(with_execution(plan, named)), blocking, context)


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
    while len(body) == 1 and isinstance(body[0], Loop):
        loops.append(body[0])
        body = body[0].body
    return tuple(loops)


def inner_choices(context: CostContext, outer: Schedule, name: str) -> dict[str, tuple[int, ...]]:
    """Of the axes of an operator's block that loops for L1 may cut: the tiles, the last one the block's own."""
    roles, block = context.roles[name], view_schedule(context.chain, outer).of(name).tiles
    found = {}
    for axis in (roles.row, roles.column, roles.depth):
        if axis is not None:
            tiles = candidates(int(block[axis]), axis_multiple(context, axis))
            found[axis] = tuple(dict.fromkeys(min(tile, int(block[axis])) for tile in tiles))
    return {axis: tiles for axis, tiles in found.items() if len(tiles) > 1}


Place: TypeAlias = tuple[int, ...]
"""The way to a node of a schedule's tree: a position in the body at every depth."""
Step: TypeAlias = tuple[str, Point]
"""What was changed, and the result."""


def steps(space: Space, point: Point) -> Iterator[Step]:
    """Every step that leaves the micro kernels as they are. `space` has the point's kernels; some results cannot be executed."""
    context = space.context
    yield from _outer_steps(space, point)
    for operator in context.chain.operators:
        if operator.name in context.kernels:
            yield from _inner_steps(context, point, operator.name)
        if may_stay(context, operator):
            what = "packed" if operator.name in point.in_place else "in place"
            yield f"{operator.name} {what}", replace(point, in_place=point.in_place ^ {operator.name})


def kernel_steps(space_with: Callable[[Kernels], Space], point: Point, known: Mapping[str, MicroKernel]) -> Iterator[Step]:
    """Every other kernel of the same vectors, for one operator at a time, tiles moved to its nearest multiples.

    Only of the operands' element types, and such that cannot saturate there (`is_exact`).
    """
    context = space_with(point.kernels).context
    for name, own in point.kernels:
        for other in tiles(context.chain, context.chain.operator(name), known.values()):
            if other.name != own and other.vector_bits == known[own].vector_bits:
                kernels = tuple((one, other.name if one == name else kernel) for one, kernel in point.kernels)
                yield f"{name} on {other.name}", with_kernels(space_with(kernels), point, kernels)


def nearest(tiles: Sequence[int], tile: float) -> int:
    """By ratio."""
    return min(tiles, key=lambda other: abs(log(other / tile)))


def _outer_steps(space: Space, point: Point) -> Iterator[Step]:
    """Tiles of the fusion level one candidate up and down, neighbouring loops exchanged, loops dropped and added."""
    for place, loop in _loops(point.outer.body):
        if loop.axis in space.batch:
            continue
        for what, tile in _next_tiles(space.tiles.get(loop.axis, ()), loop.tile):
            if tile < space.context.sizes[loop.axis]:
                yield _outer_step(space, point, f"{loop.axis} {what} to {tile}", place, (replace(loop, tile=tile),))
        yield _outer_step(space, point, f"without loop {loop.axis} by {loop.tile}", place, loop.body)
        (inside, *others) = loop.body
        if not others and isinstance(inside, Loop):
            swapped = (replace(inside, body=(replace(loop, body=inside.body),)),)
            yield _outer_step(space, point, f"{inside.axis} outside {loop.axis}", place, swapped)
    yield from _added_loops(space, point)


def _added_loops(space: Space, point: Point) -> Iterator[Step]:
    """A shared loop more, or one more of a contraction's own, innermost, with the largest tile that cuts."""
    context, outer = space.context, point.outer
    shared = shared_loops(outer)
    for axis in sorted({axis for outer_loops in space.outer_orders() for axis in outer_loops} - {loop.axis for loop in shared}):
        tile = _largest_cut(space, axis)
        body = shared[-1].body if shared else outer.body
        if tile and axis not in {loop.axis for _, loop in _loops(body)}:
            new = nest([*((loop.axis, loop.tile) for loop in shared), (axis, tile)], body)
            yield f"with shared loop {axis} by {tile}", _sound(space, point, new)
    for name in context.kernels if len(context.chain.operators) > 1 else ():
        present = {loop.axis for loop in outer.path(name)}
        for axis in sorted({axis for axes in space.inner_orders(context.chain.operator(name), sorted(present)) for axis in axes}):
            tile = _largest_cut(space, axis)
            if tile and axis not in present:
                yield f"{name} with loop {axis} by {tile}", _sound(space, point, with_inner(outer.body, {name: ((axis, tile),)}))


def _inner_steps(context: CostContext, point: Point, name: str) -> Iterator[Step]:
    """The same for the loops that cut a contraction's block for L1."""
    loops, choices = dict(point.inner).get(name, ()), inner_choices(context, point.outer, name)
    for i, (axis, tile) in enumerate(loops):
        for what, other in _next_tiles(choices.get(axis, ()), tile):
            yield f"{name} for L1: {axis} {what} to {other}", _with_loops(context, point, name, _put(loops, i, ((axis, other),)))
        yield f"{name} for L1: without {axis}", _with_loops(context, point, name, _put(loops, i, ()))
        if i + 1 < len(loops):
            swapped = (*loops[:i], loops[i + 1], loops[i], *loops[i + 2 :])
            yield f"{name} for L1: {loops[i + 1][0]} outside {axis}", _with_loops(context, point, name, swapped)
    for axis in sorted(choices.keys() - {axis for axis, _ in loops}):
        new = (axis, choices[axis][-2])
        for where, more in (("inside", (*loops, new)), ("outside", (new, *loops))):
            yield f"{name} for L1: {axis} by {new[1]} {where}", _with_loops(context, point, name, more)


def _next_tiles(tiles: Sequence[int], tile: int) -> Iterator[tuple[str, int]]:
    below, above = bisect_left(tiles, tile) - 1, bisect_right(tiles, tile)
    if below >= 0:
        yield "down", tiles[below]
    if above < len(tiles):
        yield "up", tiles[above]


def _largest_cut(space: Space, axis: str) -> int:
    tiles = [tile for tile in space.tiles.get(axis, ()) if tile < space.context.sizes[axis]]
    return max(tiles) if tiles and axis not in space.batch else 0


def _outer_step(space: Space, point: Point, what: str, place: Place, new: tuple[Node, ...]) -> Step:
    return what, _sound(space, point, _replaced(point.outer.body, place, new))


def _sound(space: Space, point: Point, body: tuple[Node, ...]) -> Point:
    """The point with other loops outside: intermediates stored as these ask for, loops for L1 only where they still cut."""
    chain = space.context.chain
    shared = [loop.axis for loop in shared_loops(Schedule(body))]
    outer = Schedule(body, tuple(storage_below(chain, shared).items()))
    return _cut_only(space.context, replace(point, outer=outer))


def _cut_only(context: CostContext, point: Point) -> Point:
    blocks = {one.operator.name: one.tiles for one in view_schedule(context.chain, point.outer).operators}
    inner = ((name, _cutting(loops, blocks[name])) for name, loops in point.inner)
    return replace(point, inner=tuple((name, loops) for name, loops in inner if loops))


def _cutting(loops: InnerLoops, block: Mapping[str, Count]) -> InnerLoops:
    """The loops that cut what those around them leave of their axis.

    >>> _cutting((("m", 64), ("n", 32), ("m", 96), ("m", 32)), {"m": 128, "n": 32})
    (('m', 64), ('m', 32))
    """
    left, found = dict(block), []
    for axis, tile in loops:
        if tile < left[axis]:
            left[axis] = tile
            found.append((axis, tile))
    return tuple(found)


def _with_loops(context: CostContext, point: Point, name: str, loops: InnerLoops) -> Point:
    inner = {**dict(point.inner), name: loops}
    ordered = tuple((one, inner[one]) for one in context.kernels if inner.get(one))
    return _cut_only(context, replace(point, inner=ordered))


def with_kernels(space: Space, point: Point, kernels: Kernels) -> Point:
    """A point on other micro kernels, those of a space: every tile at its nearest candidate, without loops that do not cut
    there."""
    point = replace(point, kernels=kernels)
    outer = replace(point.outer, body=_aligned_body(space, point.outer.body))
    inner = []
    for name, loops in point.inner:
        choices = inner_choices(space.context, outer, name)
        inner.append((name, tuple((axis, nearest(choices[axis], tile)) for axis, tile in loops if axis in choices)))
    return _sound(space, replace(point, inner=tuple(inner)), outer.body)


def _aligned_body(space: Space, body: tuple[Node, ...]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for node in body:
        if not isinstance(node, Loop):
            nodes.append(node)
            continue
        inside, size = _aligned_body(space, node.body), planned_sizes(space.context.chain)[node.axis]
        tile = node.tile if node.axis in space.batch else nearest(space.tiles.get(node.axis, (size,)), node.tile)
        nodes += [Loop(node.axis, tile, inside)] if tile < size else inside
    return tuple(nodes)


def _loops(body: tuple[Node, ...], above: Place = ()) -> Iterator[tuple[Place, Loop]]:
    for i, node in enumerate(body):
        if isinstance(node, Loop):
            yield (*above, i), node
            yield from _loops(node.body, (*above, i))


def _replaced(body: tuple[Node, ...], place: Place, new: tuple[Node, ...]) -> tuple[Node, ...]:
    """The tree with other nodes in place of one loop."""
    position, *deeper = place
    if deeper:
        loop = body[position]
        assert isinstance(loop, Loop)
        new = (replace(loop, body=_replaced(loop.body, tuple(deeper), new)),)
    return (*body[:position], *new, *body[position + 1 :])


def _put(loops: InnerLoops, position: int, new: InnerLoops) -> InnerLoops:
    return (*loops[:position], *new, *loops[position + 1 :])
