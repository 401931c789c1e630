"""Schedules to compare a plan with: drawn at random from its space, the cheapest of many drawn, and all one step away."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp, log

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.schedule import Schedule, fused_schedule
from tilewright.plan.search.inner_loops import InnerLoops
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import Space, space_of
from tilewright.tune.schedules.neighbours import kernel_steps, nearest, steps
from tilewright.tune.schedules.space import Kernels, Point, Sampled, distinct, inner_choices, priced
from tilewright.tune.schedules.two_levels import TwoLevels


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
