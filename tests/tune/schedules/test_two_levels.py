"""Two-level tilings: all orders of six loops, tiles inside tiles, results of NumPy, and a space for exhaustive searches."""

from __future__ import annotations

import random
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.plan.schedule import Schedule
from tilewright.tune.chain_functions import gemm_chain
from tilewright.tune.schedules.cases import Case, choice, kernels_for, product, transposed_product
from tilewright.tune.schedules.sampling import Sampler, TwoLevels, orders
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.schedules.timing import compiled_models, wrong

SQUARE = Case("square", product, ((256, 256), (256, 256)))
BATCHED = Case("batched", lambda a, b: tw.einsum("bmk,bkn->bmn", a, b), ((3, 101, 193), (3, 193, 139)))
TRANSPOSED = Case("transposed", transposed_product, ((61, 257), (83, 257)))


def choice_of(case: Case) -> Sampled:
    (plan,) = case.model_plan(fuse=None).plans
    return choice(plan)


def test_there_are_ninety_orders_and_every_axis_has_two_loops():
    every = orders(3)
    assert len(set(every)) == 90
    assert all(sorted(order) == [0, 0, 1, 1, 2, 2] for order in every)


def test_inner_tiles_cut_outer_ones():
    for point in TwoLevels(choice_of(SQUARE)).draw(200, random.Random(0)):
        around: dict[str, int] = {}
        for axis, tile in loops_of(point.outer, dict(point.inner)):
            assert tile < around.get(axis, 10**9)
            around[axis] = tile


def test_every_order_of_six_loops_is_a_schedule_of_its_own():
    tilings = TwoLevels(choice_of(SQUARE))
    tiles = ((90, 18), (128, 32), (128, 64))
    found = {tilings.point(order, tiles, is_packed=True) for order in orders(3)}
    assert len(found) == 90
    assert all(len(loops_of(point.outer, dict(point.inner))) == 6 for point in found)


def loops_of(outer: Schedule, inner: dict[str, Any]) -> list[tuple[str, int]]:
    """All loops, outermost first."""
    (leaf,) = (leaf for _, leaf in outer.leaves())
    return [*((loop.axis, loop.tile) for loop in outer.path(leaf.operator)), *inner.get(leaf.operator, ())]


@pytest.mark.parametrize("case", [SQUARE, BATCHED, TRANSPOSED], ids=lambda case: case.name)
def test_tilings_are_priced_and_compute_the_product(case: Case, tmp_path: Path):
    own = choice_of(case)
    found = Sampler(own, kernels_for(own.plan.machine), 1).tilings(10)
    assert len(found) == len({one.point for one in found}) == 10
    assert all(isfinite(one.predicted_s) for one in found)
    model = case.model_plan(fuse=None)
    assert wrong(case, compiled_models(case, [model.with_plan(0, one.plan) for one in found], tmp_path)) == {}


def test_draws_are_repeatable_and_differ_by_seed():
    tilings = TwoLevels(choice_of(SQUARE))
    first, again, other = (tilings.draw(20, random.Random(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_chains_and_tiny_products_have_no_tilings():
    chain = Case("chain", gemm_chain, ((2, 96, 64), (2, 64, 80), (2, 80, 48)))
    assert "one product" in TwoLevels(choice_of(chain)).why_none
    assert "one tile" in TwoLevels(choice_of(Case("tiny", product, ((2, 8), (8, 8))))).why_none
