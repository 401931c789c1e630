"""Schedules to compare a plan with: drawn at random from its space, the cheapest of many drawn, and all one step away.

PolyDL's variants of a matrix product: two levels of tiles, and the orders of the six loops over them (sections 3.2 and 5).

A loop over outer tiles of an axis stands around the loop over its inner tiles; else every order is allowed, 90 in all. The micro
kernel is below. A loop that does not cut is left out. Axes of a batch have their loops outermost, as everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import exp, log
from typing import TypeAlias

from tilewright.graph.types import SymbolicExtent
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.schedule import Compute, Schedule, fused_schedule, nest
from tilewright.plan.search.inner_loops import InnerLoops
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import Space, space_of, thinned
from tilewright.tune.schedules.cases import Case, choice, kernels_for
from tilewright.tune.schedules.space import Kernels, Point, Sampled, distinct, inner_choices, kernel_steps, nearest, priced, steps

SIZES = 8
"""Tiles of an axis, evenly spread over those that the planner tries; the inner and the outer of a pair are of them."""

Order: TypeAlias = tuple[int, ...]
"""Of the six loops, outermost first, the number of the axis: its first loop is over outer tiles, its second over inner ones."""
Tiles: TypeAlias = tuple[tuple[int, int], ...]
"""An outer and an inner tile of every axis; the inner one is no larger."""


def orders(axes: int) -> tuple[Order, ...]:
    """Every order of two loops for each of some axes.

    >>> len(orders(3)), orders(1), orders(2)[:2]
    (90, ((0, 0),), ((0, 0, 1, 1), (0, 1, 0, 1)))
    """
    return tuple(sorted(set(permutations([axis for axis in range(axes) for _ in range(2)]))))


@dataclass(frozen=True)
class TwoLevels:
    """The two-level tilings of a chain of one product, around the planner's choice, whose micro kernel they have."""

    choice: Sampled

    @property
    def why_none(self) -> str:
        """Why the chain has no such space; empty if it has."""
        chain = self.choice.context.chain
        if len(chain.operators) != 1 or len(self.choice.context.kernels) != 1:
            return "two-level tilings are of chains of one product"
        if any(isinstance(extent, SymbolicExtent) for extent in chain.extents.values()):
            return "two-level tilings are of extents that are known"
        return "" if self.axes else "the product fits into one tile"

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Row, column and depth, as far as loops can cut them."""
        ((name, _),) = self.choice.point.kernels
        roles, tiles = self.choice.context.roles[name], self._space.tiles
        return tuple(axis for axis in (roles.row, roles.column, roles.depth) if axis is not None and axis in tiles)

    @cached_property
    def tiles(self) -> dict[str, tuple[int, ...]]:
        """The sizes of tiles of every axis, the last one covers it."""
        return {axis: thinned(self._space.tiles[axis], SIZES) for axis in self.axes}

    def draw(self, count: int, source: random.Random) -> list[Point]:
        """Distinct schedules (fewer if there are not so many), none of them the choice: all orders and all tiles alike likely."""
        every, chain = orders(len(self.axes)), self.choice.context.chain

        def drawn() -> Point | None:
            tiles = tuple(self._pair(axis, source) for axis in self.axes)
            point = self.point(source.choice(every), tiles, is_packed=not self._may_stay() or source.random() < 0.5)
            return None if why_not_executable(chain, point.outer) else point

        return distinct(drawn, count, self.choice.point)

    def point(self, order: Order, tiles: Tiles, *, is_packed: bool) -> Point:
        """The schedule of one choice."""
        context = self.choice.context
        loops = [(axis, 1) for axis in self._space.batch] + list(self._loops(order, tiles))
        outer = _leading(loops)
        (operator,) = context.chain.operators
        body = nest(loops[:outer], (Compute(operator.name),))
        inner = ((operator.name, tuple(loops[outer:])),) if loops[outer:] else ()
        stays = frozenset() if is_packed else frozenset(self._may_stay())
        return Point(self.choice.point.kernels, Schedule(body), inner, stays)

    def _loops(self, order: Order, tiles: Tiles) -> Iterator[tuple[str, int]]:
        """Those that cut what is left of their axis."""
        left = [self.choice.context.sizes[axis] for axis in self.axes]
        seen = [0] * len(self.axes)
        for number in order:
            tile = tiles[number][seen[number]]
            seen[number] += 1
            if tile < left[number]:
                left[number] = tile
                yield self.axes[number], tile

    def _pair(self, axis: str, source: random.Random) -> tuple[int, int]:
        inner, outer = sorted(source.choices(self.tiles[axis], k=2))
        return outer, inner

    def _may_stay(self) -> list[str]:
        context = self.choice.context
        return [operator.name for operator in context.chain.operators if may_stay(context, operator)]

    @cached_property
    def _space(self) -> Space:
        return space_of(self.choice.context)


def _leading(loops: Sequence[tuple[str, int]]) -> int:
    """How many loops there are before the first that cuts an axis again: the others are loops for L1."""
    axes = [axis for axis, _ in loops]
    return next((at for at, axis in enumerate(axes) if axis in axes[:at]), len(axes))


class Sampler:
    """Points around one plan of the planner, priced. Deterministic: equal seeds give equal points."""

    def __init__(self, choice: Sampled, kernels: Sequence[MicroKernel], seed: int = 0) -> None:
        self.choice = choice
        self.space: Space = space_of(choice.context)
        self.outer_orders = self.space.outer_orders()
        self._kernels = {kernel.name: kernel for kernel in kernels}
        self._random = random.Random(seed)
        self._contexts: dict[Kernels, CostContext] = {choice.point.kernels: choice.context}

    def context(self, kernels: Kernels) -> CostContext:
        """The choice's cost context with other micro kernels."""
        if kernels not in self._contexts:
            own = self.choice.context
            used = {name: self._kernels[kernel] for name, kernel in kernels}
            self._contexts[kernels] = context_of(own.chain, own.machine, used, own.roles, own.coefficients)
        return self._contexts[kernels]

    def priced(self, point: Point) -> Sampled:
        """The plan of a point."""
        return priced(self.choice.plan, self.context(point.kernels), point)

    def uniform(self, count: int, outer_orders: Sequence[tuple[str, ...]] | None = None) -> list[Sampled]:
        """Distinct points (fewer if there are not so many): orders of outer loops and orders alike likely, tiles log-uniform."""
        orders, own = outer_orders or self.outer_orders, self.choice.point
        found = distinct(lambda: random_point(self.space, orders, own.kernels, self._random), count, own)
        return [self.priced(point) for point in found]

    def tilings(self, count: int) -> list[Sampled]:
        """Distinct two-level tilings (fewer if there are not so many); none of chains that are not one product."""
        tilings = TwoLevels(self.choice)
        return [] if tilings.why_none else [self.priced(point) for point in tilings.draw(count, self._random)]

    def drawn(self, count: int) -> list[tuple[str, Sampled]]:
        """So many of both spaces, half of them two-level tilings as far as there are any, each with the name of its space."""
        tilings = [("two levels", one) for one in self.tilings(count // 2)]
        return [*(("uniform", one) for one in self.uniform(count - len(tilings))), *tilings]

    def best_decile(self, count: int) -> list[Sampled]:
        """The `count` cheapest of ten times as many uniform ones."""
        return sorted(self.uniform(10 * count), key=lambda one: one.predicted_s)[:count]

    def neighbours(self) -> list[tuple[str, Sampled]]:
        """Every point one step from the choice, with that step."""
        found: dict[Point, str] = {}
        own = self.choice.point
        others = kernel_steps(lambda kernels: space_of(self.context(kernels)), own, self._kernels)
        for what, point in (*steps(self.space, own), *others):
            if point != own and not why_not_executable(self.space.context.chain, point.outer):
                found.setdefault(point, what)
        return [(what, self.priced(point)) for point, what in found.items()]


def random_point(space: Space, outer_orders: Sequence[tuple[str, ...]], kernels: Kernels, source: random.Random) -> Point | None:
    """A point of the space with one of its orders of outer loops, None where the draw cannot be executed."""
    context = space.context
    chain, sizes = context.chain, context.sizes
    drawn = source.choice(outer_orders)
    tiles = {axis: log_uniform(space.outer_tiles(axis), source) for axis in drawn}
    outer_loops = tuple(axis for axis in drawn if tiles[axis] < sizes[axis])
    orders: dict[str, tuple[str, ...]] = {}
    inner_tiles: dict[str, dict[str, int]] = {}
    for operator in chain.operators:
        own = source.choice(space.inner_orders(operator, outer_loops))
        inner_tiles[operator.name] = {axis: log_uniform(space.tiles[axis], source) for axis in own}
        orders[operator.name] = tuple(axis for axis in own if inner_tiles[operator.name][axis] < sizes[axis])
    outer = fused_schedule(chain, outer_loops, orders, tiles, inner_tiles)
    if why_not_executable(chain, outer):
        return None
    inner = {name: _random_inner(context, outer, name, source) for name in context.kernels}
    stays = [op.name for op in chain.operators if may_stay(context, op) and source.random() < 0.5]
    return Point(kernels, outer, tuple((name, loops) for name, loops in inner.items() if loops), frozenset(stays))


def log_uniform(tiles: Sequence[int], source: random.Random) -> int:
    """A tile from an increasing list: that nearest, by ratio, to a number drawn log-uniformly over its range."""
    wanted = exp(source.uniform(log(tiles[0]), log(tiles[-1])))
    return nearest(tiles, wanted)


def _random_inner(context: CostContext, outer: Schedule, name: str, source: random.Random) -> InnerLoops:
    """No loops for L1 in half of the cases, else some in any order."""
    choices = inner_choices(context, outer, name)
    if source.random() < 0.5:
        return ()
    order = source.sample(sorted(choices), len(choices))
    tiles = {axis: log_uniform(choices[axis], source) for axis in order}
    return tuple((axis, tiles[axis]) for axis in order if tiles[axis] < choices[axis][-1])


Named = tuple[str, str, Sampled]
"""Where a plan comes from, how it differs from the choice (a neighbour's step), and the plan."""


def population(case: Case, *, uniform: int, best: int, neighbours: int, seed: int = 0) -> list[Named]:
    """The choice first, then everything that it is compared with, each schedule once."""
    (plan,) = case.model_plan().plans
    own = choice(plan)
    sampler = Sampler(own, kernels_for(plan.machine), seed)
    beside = sampler.neighbours()
    if 0 <= neighbours < len(beside):
        beside = random.Random(seed).sample(beside, neighbours)
    found: list[Named] = [
        ("choice", "", own),
        *(("uniform", "", one) for one in sampler.uniform(uniform)),
        *(("best decile", "", one) for one in sampler.best_decile(best)),
        *(("neighbour", step, one) for step, one in beside),
    ]
    return list({named[2].point: named for named in reversed(found)}.values())[::-1]
