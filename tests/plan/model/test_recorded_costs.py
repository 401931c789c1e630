"""Costs are formulas: programs recorded from them give the bits of the planner's own figures, for all candidates of a search."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tilewright
from tests.replay.planning import graphs_of
from tests.test_formulas import equal
from tilewright.arrays import Quantity
from tilewright.formulas.programs import evaluated, holds, recorded
from tilewright.leaves import lowerings
from tilewright.plan.model.cost import Block, measure, moving_of, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.model.needed_work import guarded_work
from tilewright.plan.planner import forget_plans
from tilewright.plan.regions.loop_views import ChainView, OperatorView
from tilewright.plan.search import exact_search
from tilewright.plan.search.outer_loops import OuterLoops

PACKAGE = Path(tilewright.__file__).parent
MACHINE = "cascadelake-6240"
GRAPHS = (
    *("convolutions/depthwise", "convolutions/three-stride", "convolutions/chain-separable", "convolutions/three-dimensions"),
    *("layers/mlp-relu", "layers/product-batched", "attention/plain", "attention/window"),
    *("rows/layer-norm", "decoding/vector-by-constant"),
)


@dataclass(frozen=True)
class Searched:
    """What a search asked the price of: an operator inside loops, for arrays of tiles."""

    context: CostContext
    around: ChainFigures
    view: OperatorView

    def price(self, conflict: float | None) -> Quantity:
        """Its price with the right operand packed, or in place."""
        return seconds(self.context, work_of(moving_of(passing_of(self.context, self.around, self.view), conflict)))

    def arrays(self) -> dict[int, Any]:
        """All arrays that figures are, by identity."""
        found = {}

        def note(figure: Any) -> Any:
            found.update({id(figure): figure} if isinstance(figure, np.ndarray) else {})
            return figure

        self.each(note)
        return found

    def each(self, change: Any) -> Searched:
        """The same with all figures changed alike."""
        held = {level: tuple(map(change, conditions)) for level, conditions in self.around.held.items()}
        around = replace(self.around, live_bytes=change(self.around.live_bytes), held=held)
        return Searched(self.context, around, self.view.each(change))


@cache
def traced(graph: str) -> tuple[tuple[Searched, ...], tuple[OuterLoops, ...]]:
    """Some of what a search of a replay graph prices, and of its orders of outer loops; no plan that is kept is taken."""
    subject, name = graph.split("/")
    kept: list[Searched] = []
    orders: list[OuterLoops] = []
    price = OuterLoops._price

    def keeping(self: OuterLoops, around: ChainFigures, view: OperatorView, block: Block) -> Quantity:
        kept.append(Searched(self.context, around, view))
        orders.append(self)
        return price(self, around, view, block)

    by_arrays = mock.patch.object(exact_search, "found_by_core_or_arrays", exact_search.searched_by_arrays)
    forget_plans()
    with (
        TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, TILEWRIGHT_CACHE_DIR=cache),
        by_arrays,
        mock.patch.object(OuterLoops, "_price", keeping),
    ):
        graphs_of(subject)[name](MACHINE)
    some = [one for one in kept if one.view.operator.name not in one.context.in_tiles]
    return tuple(some[:: -(-len(some) // 10)]), tuple(orders[:: -(-len(orders) // 5)])


def searched(graph: str) -> tuple[Searched, ...]:
    """Some of what a search of a replay graph prices."""
    return traced(graph)[0]


@pytest.mark.parametrize("graph", GRAPHS)
def test_prices_are_programs_of_tiles_and_trips(graph: str) -> None:
    for one in searched(graph):
        arrays = one.arrays()
        for conflict in (None, 1.5) if one.view.operator.name in one.context.kernels else (None,):

            def price(of: Mapping[str, Any], one: Searched = one, conflict: float | None = conflict) -> list[Any]:
                return [one.each(lambda figure: of.get(str(id(figure)), figure)).price(conflict)]

            inputs = {str(name): array for name, array in arrays.items()}
            guarded = guarded_work(one.context, one.view, one.around.shared_loops[one.view.operator.name])
            inputs |= {"computed pairs": guarded.computed, "masked pairs": guarded.masked}
            (found,) = evaluated(recorded(price, {}, inputs), inputs)
            assert equal(found, one.price(conflict)), one.view


@pytest.mark.parametrize("graph", GRAPHS)
def test_working_sets_are_programs_of_tiles_and_trips(graph: str) -> None:
    for order in traced(graph)[1]:
        inputs: dict[str, Any] = {}

        def note(figure: Any, inputs: dict[str, Any] = inputs) -> Any:
            inputs.update({str(id(figure)): figure} if isinstance(figure, np.ndarray) else {})
            return figure

        def needs(of: Mapping[str, Any], order: OuterLoops = order) -> list[Any]:
            view = order.view
            operators = tuple(member.each(lambda figure: of.get(str(id(figure)), figure)) for member in view.operators)
            changed = ChainView(view.chain, operators, view.storage, view.sizes)
            figures = chain_figures(order.context, changed)
            return [
                working_set_bytes(changed),
                figures.live_bytes,
                *figures.touched_bytes,
                *chain.from_iterable(figures.held.values()),
            ]

        for member in order.view.operators:
            member.each(note)
        assert all(map(equal, evaluated(recorded(needs, {}, inputs), inputs), needs({})))


@pytest.mark.parametrize("room", ["plan/model", "leaves"])
def test_costs_use_numbers_by_arrays_alone(room: str) -> None:
    """But lowerings, to tile programs and of devices, which have no cost of their own."""
    of_lowerings = {"tile_programs", *(lowering.device for lowering in lowerings.registered())}
    for path in (one for one in (PACKAGE / room).rglob("*.py") if of_lowerings.isdisjoint(one.parts)):
        assert "numpy" not in path.read_text(), path


def blocks(one: Searched, sizes: Mapping[str, Any], tiles: Mapping[str, Any]) -> Iterator[Quantity]:
    """What the blocks of an operator are like: compute cost, calls, footprints."""
    block = measure(replace(one.context, sizes={**one.context.sizes, **sizes}), one.view.operator, tiles)
    yield from (block.arithmetic_s, block.functions_s, block.calls, *block.footprints.tile, *block.footprints.swept)


@pytest.mark.parametrize("graph", GRAPHS)
def test_costs_of_blocks_are_programs_of_sizes_and_tiles(graph: str) -> None:
    """Other sizes, too, where guards let them through."""
    operators = {one.view.operator.name: one for one in searched(graph) if not one.view.regions}
    for one in operators.values():
        axes = [axis.name for axis in one.view.operator.axes]
        sizes = {axis: one.context.sizes[axis] for axis in axes}
        tiles = {axis: np.unique(np.minimum([1, 3, 16, sizes[axis]], sizes[axis])) for axis in axes}
        tiles = {axis: tile.reshape(-1, *(1,) * (len(axes) - 1 - at)) for at, (axis, tile) in enumerate(tiles.items())}

        def costs(of: Mapping[str, Any], one: Searched = one, axes: list[str] = axes) -> list[Any]:
            return list(blocks(one, {axis: of[f"size of {axis}"] for axis in axes}, {axis: of[axis] for axis in axes}))

        program = recorded(costs, {f"size of {axis}": size for axis, size in sizes.items()}, tiles)
        for more in (0, 1, 40):
            others = {axis: size + more for axis, size in sizes.items()}
            inputs = {f"size of {axis}": size for axis, size in others.items()} | tiles
            assert more or holds(program, inputs)
            if holds(program, inputs):
                assert all(map(equal, evaluated(program, inputs), blocks(one, others, tiles))), one.view.operator
