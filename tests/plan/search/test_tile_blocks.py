"""Blocks and views of some tiles, taken from those of all tiles, are those that these tiles alone have."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.plan.cases import CASCADE_LAKE, gemm_chain, kernel
from tests.support.halo_chains import convolution_chain
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain
from tilewright.plan.memory import NEW_OBJECTS, rare_collections
from tilewright.plan.model.cost import measure
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.search.bounds import TileBlocks, tile_bytes
from tilewright.plan.search.outer_loops import OuterLoops, outer_orders
from tilewright.plan.space.schedule_space import Space, space_of

CHAINS = {
    "two products": gemm_chain(24, 40, 128, 16),
    "required regions": convolution_chain(height=8, width=8, channels=(8, 8, 16), kernels=(3, 3)),
}


def space(chain: Chain) -> Space:
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    kernels = {operator.name: kernel(2, 4) for operator in contractions}
    return space_of(context_of(chain, CASCADE_LAKE, kernels, {op.name: contraction_roles(op) for op in contractions}, DEFAULT))


@pytest.mark.parametrize("name", CHAINS)
def test_some_tiles_of_an_order_cost_what_they_cost_alone(name: str) -> None:
    every = outer_orders(found := space(CHAINS[name]), TileBlocks(found))
    for number, order in enumerate(every):
        able = np.random.default_rng(number).random(order.shape) < 0.5
        some = order.restricted(able)
        if some is not None and some is not order:
            alone = OuterLoops(found, order.outer_loops, order.line_buffered, some.choices)
            assert np.array_equal(some.live_bytes(), alone.live_bytes())
            assert some.best() == alone.best()


@pytest.mark.parametrize("name", CHAINS)
def test_blocks_below_an_order_are_those_of_its_tiles(name: str) -> None:
    every = TileBlocks(found := space(CHAINS[name]))
    for order in outer_orders(found, every):
        for member in order.view.operators:
            if not member.regions:
                taken = every.below(member.operator, order.choices, (), member.tiles)
                measured = measure(order.context, member.operator, member.tiles)
                used = tile_bytes(order.context, member.operator, measured)
                pairs = [(taken.block.arithmetic_s, measured.arithmetic_s), (taken.used_bytes, used)]
                pairs += zip(taken.block.footprints.swept, measured.footprints.swept, strict=True)
                assert all(np.array_equal(*(np.broadcast_to(figure, order.shape) for figure in pair)) for pair in pairs)


def test_blocks_of_required_regions_are_others() -> None:
    """Why those are measured for every order: they reach over each other, and follow no tile of their own axes."""
    every = TileBlocks(found := space(CHAINS["required regions"]))
    moving = [(order, member) for order in outer_orders(found, every) for member in order.view.operators if member.regions]
    assert moving
    order, member = moving[0]
    computed = order.context.for_view(member)
    taken = every.below(member.operator, order.choices, (), member.tiles)
    assert not np.array_equal(taken.block.arithmetic_s, measure(computed, member.operator, member.tiles).arithmetic_s)


@pytest.mark.parametrize("threshold", [0, 700, 2 * NEW_OBJECTS])
def test_collections_of_garbage_are_as_before_behind_planning(threshold: int) -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(threshold, 10, 10)
        with rare_collections():
            assert gc.get_threshold()[0] == (max(threshold, NEW_OBJECTS) if threshold else 0)
        assert gc.get_threshold() == (threshold, 10, 10)
    finally:
        gc.set_threshold(*before)
