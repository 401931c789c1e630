"""Schedules of a chain beside the planner's own: drawn at random from its space, or one step away from its choice.

A `Point` is what a schedule is before it is priced: the loops of the fusion level, those that cut each operator's block for L1,
which right operands are read in place, and the micro kernels. `priced` makes a plan of it that can be compiled.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import TypeAlias

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.block_order import prefix_storage, prefixed, why_not_executable
from tilewright.plan.features import features
from tilewright.plan.nesting import Blocking, InnerLoops
from tilewright.plan.packing import may_pack, may_stay, pack_depth, with_packs
from tilewright.plan.parallel import parallel_axes
from tilewright.plan.planner import price_blocking, scratch_bytes
from tilewright.plan.schedule import Compute, Loop, Node, Schedule
from tilewright.plan.search import Candidate
from tilewright.plan.setting import Setting, setting_of
from tilewright.plan.space import Space, axis_multiple, space_of
from tilewright.plan.tile_size import candidates
from tilewright.plan.traffic import footprints, set_conflict, surroundings
from tilewright.plan.types import OperatorPlan, Plan
from tilewright.plan.views import view_schedule

DRAWS_PER_POINT = 50
"""Draws after which a space is taken to have no more distinct schedules."""
Kernels: TypeAlias = tuple[tuple[str, str], ...]
"""The micro kernel of every contraction, by names."""
Place: TypeAlias = tuple[int, ...]
"""The way to a node of a schedule's tree: a position in the body at every depth."""
Step: TypeAlias = "tuple[str, Point]"
"""What was changed, and the result."""


@dataclass(frozen=True, slots=True)
class Point:
    """One schedule. `outer` has no packs; `inner` are the loops for L1 of the operators that have any, outermost first."""

    kernels: Kernels
    outer: Schedule
    inner: tuple[tuple[str, InnerLoops], ...] = ()
    in_place: frozenset[str] = frozenset()

    def __str__(self) -> str:
        inner = [f"{name} for L1 {_loops_text(loops)}" for name, loops in self.inner]
        stays = [f"{name} in place" for name in sorted(self.in_place)]
        kernels = [f"{name} on {kernel}" for name, kernel in self.kernels]
        return "; ".join([_body_text(self.outer.body), *inner, *stays, *kernels])


def point_of(setting: Setting, blocking: Blocking) -> Point:
    """The point that a blocking of the planner is."""
    kernels = tuple((name, kernel.name) for name, kernel in setting.kernels.items())
    inner = {}
    for operator in setting.chain.operators:
        loops = blocking.schedule.path(operator.name)[len(blocking.outer.path(operator.name)) :]
        if loops:
            inner[operator.name] = tuple((loop.axis, loop.tile) for loop in loops)
    return Point(kernels, blocking.outer, tuple(inner.items()), frozenset(blocking.conflicts))


def blocking_of(setting: Setting, point: Point) -> Blocking:
    """The blocking of a point, its packs at the planner's own places. `setting` has the point's kernels."""
    chain, outer = setting.chain, point.outer
    view = view_schedule(chain, outer)
    around = surroundings(setting, view)
    depths = {
        one.operator.name: pack_depth(setting, around, one, footprints(setting, one.operator, one.tiles))
        for one in view.operators
        if may_pack(setting, one.operator) and one.operator.name not in point.in_place
    }
    nearest = setting.cache_levels[0]
    conflicts = {name: set_conflict(setting, chain.operator(name), nearest) for name in sorted(point.in_place)}
    schedule = replace(outer, body=_with_inner(outer.body, dict(point.inner)))
    shared = tuple(loop.axis for loop in shared_loops(outer))
    candidate = Candidate(shared, {}, {}, {}, 0.0, 0, 0)
    return Blocking(candidate, outer, with_packs(setting, schedule, depths), conflicts, 0.0)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A plan, ready for code generation, and what its price is made of."""

    point: Point
    plan: Plan
    blocking: Blocking
    setting: Setting

    @property
    def predicted_s(self) -> float:
        """Of one call on one thread."""
        return self.plan.predicted_seconds

    def features(self) -> dict[str, dict[str, float]]:
        """See `plan.features`."""
        return features(self.setting, self.blocking)


class Sampler:
    """Points around one plan of the planner, priced. Deterministic: equal seeds give equal points."""

    def __init__(self, choice: Sampled, kernels: Sequence[MicroKernel], seed: int = 0) -> None:
        self.choice = choice
        self.space: Space = space_of(choice.setting)
        self.prefixes = self.space.prefixes()
        self._kernels = {kernel.name: kernel for kernel in kernels}
        self._random = random.Random(seed)
        self._settings: dict[Kernels, Setting] = {choice.point.kernels: choice.setting}

    def setting(self, kernels: Kernels) -> Setting:
        """The choice's setting with other micro kernels."""
        if kernels not in self._settings:
            own = self.choice.setting
            used = {name: self._kernels[kernel] for name, kernel in kernels}
            self._settings[kernels] = setting_of(own.chain, own.machine, used, own.roles, own.coefficients)
        return self._settings[kernels]

    def priced(self, point: Point) -> Sampled:
        """The plan of a point."""
        return priced(self.choice.plan, self.setting(point.kernels), point)

    def uniform(self, count: int) -> list[Sampled]:
        """Distinct points (fewer if there are not so many): prefixes and orders alike likely, tiles log-uniform."""
        found: dict[Point, None] = {}
        for _ in range(DRAWS_PER_POINT * count):
            point = random_point(self.space, self.prefixes, self.choice.point.kernels, self._random)
            if point is not None and point != self.choice.point:
                found.setdefault(point)
            if len(found) == count:
                break
        return [self.priced(point) for point in found]

    def best_decile(self, count: int) -> list[Sampled]:
        """The `count` cheapest of ten times as many uniform ones."""
        return sorted(self.uniform(10 * count), key=lambda one: one.predicted_s)[:count]

    def neighbours(self) -> list[tuple[str, Sampled]]:
        """Every point one step from the choice, with that step."""
        found: dict[Point, str] = {}
        for what, point in self._steps():
            outer_is_sound = not why_not_executable(self.choice.setting.chain, point.outer)
            if outer_is_sound and point != self.choice.point:
                found.setdefault(point, what)
        return [(what, self.priced(point)) for point, what in found.items()]

    def _steps(self) -> Iterator[Step]:
        point, setting = self.choice.point, self.choice.setting
        yield from _outer_steps(self.space, point)
        for operator in setting.chain.operators:
            if operator.name in setting.kernels:
                yield from _inner_steps(setting, point, operator.name)
            if may_stay(setting, operator):
                what = "packed" if operator.name in point.in_place else "in place"
                yield f"{operator.name} {what}", replace(point, in_place=point.in_place ^ {operator.name})
        yield from self._kernel_steps()

    def _kernel_steps(self) -> Iterator[Step]:
        """Every other kernel of the same vectors, for one operator at a time, tiles moved to its nearest multiples."""
        point = self.choice.point
        for name, own in point.kernels:
            for other in self._kernels.values():
                if other.name != own and other.vector_bits == self._kernels[own].vector_bits:
                    kernels = tuple((one, other.name if one == name else kernel) for one, kernel in point.kernels)
                    yield f"{name} on {other.name}", _aligned(space_of(self.setting(kernels)), replace(point, kernels=kernels))


def priced(like: Plan, setting: Setting, point: Point) -> Sampled:
    """The plan of a point, for the chain and machine of another plan."""
    blocking = blocking_of(setting, point)
    chain, used = setting.chain, dict(point.kernels)
    plan = replace(
        like,
        schedule=blocking.schedule,
        operators=tuple(OperatorPlan(op.name, used.get(op.name), setting.roles.get(op.name)) for op in chain.operators),
        levels=(),
        parallel_axes=parallel_axes(chain, blocking.schedule),
        movements=(),
        scratch_bytes=scratch_bytes(setting, blocking.schedule),
        price=price_blocking(setting, blocking),
        rejected=(),
    )
    return Sampled(point, plan, blocking, setting)


def random_point(space: Space, prefixes: Sequence[tuple[str, ...]], kernels: Kernels, source: random.Random) -> Point | None:
    """A point of the space with one of its prefixes, None where the draw cannot be executed."""
    setting = space.setting
    chain, sizes = setting.chain, setting.sizes
    drawn = source.choice(prefixes)
    tiles = {axis: log_uniform(space.prefix_tiles(axis), source) for axis in drawn}
    prefix = tuple(axis for axis in drawn if tiles[axis] < sizes[axis])
    orders: dict[str, tuple[str, ...]] = {}
    own_tiles: dict[str, dict[str, int]] = {}
    for operator in chain.operators:
        own = source.choice(space.own_orders(operator, prefix))
        own_tiles[operator.name] = {axis: log_uniform(space.tiles[axis], source) for axis in own}
        orders[operator.name] = tuple(axis for axis in own if own_tiles[operator.name][axis] < sizes[axis])
    outer = prefixed(chain, prefix, orders, tiles, own_tiles)
    if why_not_executable(chain, outer):
        return None
    inner = {name: _random_inner(setting, outer, name, source) for name in setting.kernels}
    stays = [op.name for op in chain.operators if may_stay(setting, op) and source.random() < 0.5]
    return Point(kernels, outer, tuple((name, loops) for name, loops in inner.items() if loops), frozenset(stays))


def log_uniform(tiles: Sequence[int], source: random.Random) -> int:
    """A tile from an increasing list: that nearest, by ratio, to a number drawn log-uniformly over its range."""
    wanted = exp(source.uniform(log(tiles[0]), log(tiles[-1])))
    return _nearest(tiles, wanted)


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


def _random_inner(setting: Setting, outer: Schedule, name: str, source: random.Random) -> InnerLoops:
    """No loops for L1 in half of the cases, else some in any order."""
    choices = _inner_choices(setting, outer, name)
    if source.random() < 0.5:
        return ()
    order = source.sample(sorted(choices), len(choices))
    tiles = {axis: log_uniform(choices[axis], source) for axis in order}
    return tuple((axis, tiles[axis]) for axis in order if tiles[axis] < choices[axis][-1])


def _inner_choices(setting: Setting, outer: Schedule, name: str) -> dict[str, tuple[int, ...]]:
    """Of the axes of an operator's block that loops for L1 may cut: the tiles, the last one the block's own."""
    roles, block = setting.roles[name], view_schedule(setting.chain, outer).of(name).tiles
    found = {}
    for axis in (roles.row, roles.column, roles.depth):
        if axis is not None:
            tiles = candidates(int(block[axis]), axis_multiple(setting, axis))
            found[axis] = tuple(dict.fromkeys(min(tile, int(block[axis])) for tile in tiles))
    return {axis: tiles for axis, tiles in found.items() if len(tiles) > 1}


def _outer_steps(space: Space, point: Point) -> Iterator[Step]:
    """Tiles of the fusion level one candidate up and down, neighbouring loops exchanged, loops dropped and added."""
    for place, loop in _loops(point.outer.body):
        if loop.axis in space.batch:
            continue
        for what, tile in _next_tiles(space.tiles.get(loop.axis, ()), loop.tile):
            if tile < space.setting.sizes[loop.axis]:
                yield _outer_step(space, point, f"{loop.axis} {what} to {tile}", place, _with_tile(loop, tile))
        yield _outer_step(space, point, f"without loop {loop.axis} by {loop.tile}", place, loop.body)
        (inside, *others) = loop.body
        if not others and isinstance(inside, Loop):
            swapped = (replace(inside, body=(replace(loop, body=inside.body),)),)
            yield _outer_step(space, point, f"{inside.axis} outside {loop.axis}", place, swapped)
    yield from _added_loops(space, point)


def _added_loops(space: Space, point: Point) -> Iterator[Step]:
    """A shared loop more, or one more of a contraction's own, innermost, with the largest tile that cuts."""
    setting, outer = space.setting, point.outer
    shared = shared_loops(outer)
    for axis in sorted({axis for prefix in space.prefixes() for axis in prefix} - {loop.axis for loop in shared}):
        tile = _largest_cut(space, axis)
        body = shared[-1].body if shared else outer.body
        if tile and axis not in _axes(body):
            added = (Loop(axis, tile, body),)
            new = _replaced(outer.body, (0,) * len(shared), lambda loop: (replace(loop, body=added),)) if shared else added  # noqa: B023
            yield f"with shared loop {axis} by {tile}", _sound(space, point, new)
    for name in setting.kernels if len(setting.chain.operators) > 1 else ():
        present = {loop.axis for loop in outer.path(name)}
        for axis in sorted({axis for axes in space.own_orders(setting.chain.operator(name), sorted(present)) for axis in axes}):
            tile = _largest_cut(space, axis)
            if tile and axis not in present:
                yield f"{name} with loop {axis} by {tile}", _sound(space, point, _with_inner(outer.body, {name: ((axis, tile),)}))


def _inner_steps(setting: Setting, point: Point, name: str) -> Iterator[Step]:
    """The same for the loops that cut a contraction's block for L1."""
    loops, choices = dict(point.inner).get(name, ()), _inner_choices(setting, point.outer, name)
    for i, (axis, tile) in enumerate(loops):
        for what, other in _next_tiles(choices.get(axis, ()), tile):
            yield f"{name} for L1: {axis} {what} to {other}", _with_loops(setting, point, name, _put(loops, i, ((axis, other),)))
        yield f"{name} for L1: without {axis}", _with_loops(setting, point, name, _put(loops, i, ()))
        if i + 1 < len(loops):
            swapped = (*loops[:i], loops[i + 1], loops[i], *loops[i + 2 :])
            yield f"{name} for L1: {loops[i + 1][0]} outside {axis}", _with_loops(setting, point, name, swapped)
    for axis in sorted(choices.keys() - {axis for axis, _ in loops}):
        new = (axis, choices[axis][-2])
        for where, more in (("inside", (*loops, new)), ("outside", (new, *loops))):
            yield f"{name} for L1: {axis} by {new[1]} {where}", _with_loops(setting, point, name, more)


def _next_tiles(tiles: Sequence[int], tile: int) -> Iterator[tuple[str, int]]:
    below, above = bisect_left(tiles, tile) - 1, bisect_right(tiles, tile)
    if below >= 0:
        yield "down", tiles[below]
    if above < len(tiles):
        yield "up", tiles[above]


def _largest_cut(space: Space, axis: str) -> int:
    tiles = [tile for tile in space.tiles.get(axis, ()) if tile < space.setting.sizes[axis]]
    return max(tiles) if tiles and axis not in space.batch else 0


def _outer_step(space: Space, point: Point, what: str, place: Place, new: tuple[Node, ...]) -> Step:
    return what, _sound(space, point, _replaced(point.outer.body, place, lambda _: new))


def _sound(space: Space, point: Point, body: tuple[Node, ...]) -> Point:
    """The point with other loops outside: intermediates stored as these ask for, loops for L1 only where they still cut."""
    chain = space.setting.chain
    shared = [loop.axis for loop in shared_loops(Schedule(body))]
    outer = Schedule(body, tuple(prefix_storage(chain, shared).items()))
    return _cut_only(space.setting, replace(point, outer=outer))


def _cut_only(setting: Setting, point: Point) -> Point:
    blocks = {one.operator.name: one.tiles for one in view_schedule(setting.chain, point.outer).operators}
    inner = {name: tuple((axis, tile) for axis, tile in loops if tile < blocks[name][axis]) for name, loops in point.inner}
    return replace(point, inner=tuple((name, loops) for name, loops in inner.items() if loops))


def _with_loops(setting: Setting, point: Point, name: str, loops: InnerLoops) -> Point:
    inner = {**dict(point.inner), name: loops}
    ordered = tuple((one, inner[one]) for one in setting.kernels if inner.get(one))
    return _cut_only(setting, replace(point, inner=ordered))


def _aligned(space: Space, point: Point) -> Point:
    """Every tile at the nearest candidate of another space, without loops that do not cut there."""
    outer = replace(point.outer, body=_aligned_body(space, point.outer.body))
    inner = []
    for name, loops in point.inner:
        choices = _inner_choices(space.setting, outer, name)
        inner.append((name, tuple((axis, _nearest(choices[axis], tile)) for axis, tile in loops if axis in choices)))
    return _sound(space, replace(point, inner=tuple(inner)), outer.body)


def _aligned_body(space: Space, body: tuple[Node, ...]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for node in body:
        if not isinstance(node, Loop):
            nodes.append(node)
            continue
        inside, size = _aligned_body(space, node.body), space.setting.sizes[node.axis]
        tile = node.tile if node.axis in space.batch else _nearest(space.tiles.get(node.axis, (size,)), node.tile)
        nodes += [Loop(node.axis, tile, inside)] if tile < size else inside
    return tuple(nodes)


def _nearest(tiles: Sequence[int], tile: float) -> int:
    """By ratio."""
    return min(tiles, key=lambda other: abs(log(other / tile)))


def _loops(body: tuple[Node, ...], above: Place = ()) -> Iterator[tuple[Place, Loop]]:
    for i, node in enumerate(body):
        if isinstance(node, Loop):
            yield (*above, i), node
            yield from _loops(node.body, (*above, i))


def _replaced(body: tuple[Node, ...], place: Place, change: Callable[[Loop], tuple[Node, ...]]) -> tuple[Node, ...]:
    """The tree with other nodes in place of one loop."""
    position, *deeper = place
    loop = body[position]
    assert isinstance(loop, Loop)
    new = change(loop) if not deeper else (replace(loop, body=_replaced(loop.body, tuple(deeper), change)),)
    return (*body[:position], *new, *body[position + 1 :])


def _with_tile(loop: Loop, tile: int) -> tuple[Loop, ...]:
    return (replace(loop, tile=tile),)


def _with_inner(body: tuple[Node, ...], inner: Mapping[str, InnerLoops]) -> tuple[Node, ...]:
    """The tree with loops around the leaves of some operators."""
    nodes: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            node = replace(node, body=_with_inner(node.body, inner))
        elif isinstance(node, Compute):
            for axis, tile in reversed(inner.get(node.operator, ())):
                node = Loop(axis, tile, (node,))
        nodes.append(node)
    return tuple(nodes)


def _axes(body: tuple[Node, ...]) -> set[str]:
    return {loop.axis for _, loop in _loops(body)}


def _put(loops: InnerLoops, position: int, new: InnerLoops) -> InnerLoops:
    return (*loops[:position], *new, *loops[position + 1 :])


def _body_text(body: tuple[Node, ...]) -> str:
    parts = []
    for node in body:
        if isinstance(node, Loop):
            parts.append(f"{node.axis} by {node.tile} ({_body_text(node.body)})")
        elif isinstance(node, Compute):
            parts.append(node.operator)
    return ", ".join(parts)


def _loops_text(loops: InnerLoops) -> str:
    return ", ".join(f"{axis} by {tile}" for axis, tile in loops)
