"""PolyDL's variants of a matrix product: two levels of tiles, and the orders of the six loops over them (sections 3.2 and 5).

A loop over outer tiles of an axis stands around the loop over its inner tiles; else every order is allowed, 90 in all. The micro
kernel is below. A loop that does not cut is left out. Axes of a batch have their loops outermost, as everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TypeAlias

from tilewright.graph.types import SymbolicExtent
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.schedule import Compute, Loop, Node, Schedule
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import Space, space_of
from tilewright.plan.space.tile_sizes import thinned
from tilewright.tune.schedules.space import Point, Sampled, distinct

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
        body: tuple[Node, ...] = (Compute(operator.name),)
        for axis, tile in reversed(loops[:outer]):
            body = (Loop(axis, tile, body),)
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
