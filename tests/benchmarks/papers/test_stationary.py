"""Both stationary orders, forced: right by the interpreter, with the loops and packs that the paper's figure has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from benchmarks.papers.example_chains import gemm_chain, matrix_product
from benchmarks.papers.stationary import Stays, stationary_plan, with_stationary_orders
from tests.support.algorithms import forced
from tilewright import compiler
from tilewright.backends import loading
from tilewright.errors import PlanningError
from tilewright.graph.interpreter import evaluate
from tilewright.kernels.registry import registered
from tilewright.machine import Machine
from tilewright.plan.schedule import Loop, Pack
from tilewright.plan.types import ModelPlan, Plan

MACHINE = Machine.named("x86-64-v2")
SMALL_CACHES = replace(
    MACHINE,
    levels=tuple(
        replace(level, size_bytes=size)
        for level, size in zip(MACHINE.levels, (4 << 10, 16 << 10, 64 << 10, 1 << 40), strict=True)
    ),
)
"""Caches so small that layers of a test have several tiles in each of the five loops."""
ALGORITHMS = ("windows by columns", "filter lanes", "im2col", "pointwise")
OF_ONE_TAP = ("filter lanes", "pointwise")


@cache
def planned(algorithm: str, size: int = 20, *, has_relu: bool = True) -> tuple[ModelPlan, dict[str, np.ndarray[Any, Any]], Any]:
    """A convolution of 40 channels by 24 filters, planned by one algorithm; its inputs, and its result in float64."""
    taps, random = (1 if algorithm in OF_ONE_TAP else 3), np.random.default_rng(0)
    w = random.standard_normal((24, 40, taps, taps)).astype(np.float32)

    def block(x: Any) -> Any:
        y = tw.conv2d(x, w, padding=taps // 2)
        return tw.relu(y) if has_relu else y

    with forced(algorithm):
        lowered = tw.jit(block, target=SMALL_CACHES).lower(tw.spec((1, 40, size, size), "float32"))
        found = lowered.model_plan
    x = random.standard_normal((1, 40, size, size)).astype(np.float32)
    inputs = dict(zip(lowered.graph.inputs, [x], strict=True))
    return found, inputs, evaluate(lowered.graph, inputs, dtype="float64")[lowered.graph.outputs[0]]


def result(model_plan: ModelPlan, inputs: dict[str, np.ndarray[Any, Any]], like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    given = replace(model_plan.graph, constants=model_plan.given)
    executable, constants = loading.load(compiler.generate(model_plan), given, model_plan.machine, threads=1)
    out = np.full(like.shape, np.nan, np.float32)
    executable.run((*inputs.values(), *constants), (out,))
    return out


@pytest.mark.parametrize("packs_on_demand", [None, True, False])
@pytest.mark.parametrize("stays", Stays)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_results(algorithm: str, stays: Stays, packs_on_demand: bool | None) -> None:
    model_plan, inputs, wanted = planned(algorithm)
    ordered = with_stationary_orders(model_plan, stays, packs_on_demand=packs_on_demand)
    plan = product_of(ordered)
    assert len(plan.schedule.path(plan.chain.operators[0].name)) >= 3
    np.testing.assert_allclose(result(ordered, inputs, wanted), wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


def test_columns_that_stay_are_packed_one_tile_at_a_time() -> None:
    """Layer 2 of the figure: the windows of one tile are packed, then all filters of the set pass by."""
    plan = product_of(with_stationary_orders(planned("im2col")[0], Stays.COLUMNS))
    around, _ = place_of_pack(plan)
    roles = plan.operators[0].roles
    assert roles is not None
    assert around[-1].axis == roles.column
    assert around[-1].tile == next(k.columns for k in registered() if k.name == plan.operators[0].micro_kernel)


def test_columns_that_stream_are_packed_a_set_at_a_time() -> None:
    """Layer 3 of the figure: all windows of a set are packed, then each tile of filters meets all of them."""
    plan = product_of(with_stationary_orders(planned("im2col")[0], Stays.ROWS))
    around, behind = place_of_pack(plan)
    roles = plan.operators[0].roles
    assert roles is not None
    assert around[-1].axis == roles.column
    assert [loop.axis for loop in behind] == [roles.row]


def test_depth_is_outermost() -> None:
    plan = product_of(with_stationary_orders(planned("windows by columns")[0], Stays.COLUMNS))
    roles = plan.operators[0].roles
    assert roles is not None
    axes = [loop.axis for loop in plan.schedule.path(plan.chain.operators[0].name)]
    assert axes.index(roles.depth or "") < axes.index(roles.column or "")


@pytest.mark.parametrize("stays", Stays)
def test_maps_wait_until_all_that_they_read_is_computed(stays: Stays) -> None:
    """A map that walks pixels as rows and columns runs once, behind the last block of pixels in a row."""

    def pointwise(x: Any, w: Any) -> Any:
        return tw.conv2d(x, w)[:, :, ::-1]

    with forced("pointwise"):
        specs = tw.spec((1, 64, 28, 28)), tw.spec((256, 64, 1, 1))
        model_plan = tw.jit(pointwise, target="zen5", fuse=True).lower(*specs).model_plan
    plan = product_of(with_stationary_orders(model_plan, stays))
    product, *maps = plan.chain.operators
    loops = {loop.axis for loop in plan.schedule.path(product.name)}
    assert maps
    for one in maps:
        assert set(plan.schedule.conditions(one.name)) == loops - {axis.name for axis in one.axes}


def test_a_matrix_product_in_both_orders() -> None:
    """Rows or columns are in the innermost loop but that of the tiles."""
    plans = {stays: stationary_plan(matrix_product(96, 64, 80), SMALL_CACHES, stays) for stays in Stays}
    for stays, plan in plans.items():
        roles, innermost = plan.operators[0].roles, plan.schedule.path(plan.chain.operators[0].name)[-1]
        assert roles is not None
        assert innermost.axis == (roles.column if stays is Stays.COLUMNS else roles.row)


def test_chains_of_several_contractions_are_refused() -> None:
    with pytest.raises(PlanningError, match="not a contraction with maps behind it"):
        stationary_plan(gemm_chain(64, 64, 64, 64), MACHINE, Stays.ROWS)


def product_of(model_plan: ModelPlan) -> Plan:
    (plan,) = (plan for plan in model_plan.plans if plan.chain.operators[0].is_contraction())
    return plan


def pack_of(plan: Plan) -> Pack:
    (pack,) = (leaf for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack))
    return pack


def place_of_pack(plan: Plan) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """The loops around the pack, and those around the product but not around the pack."""
    pack = pack_of(plan)
    (around,) = (loops for loops, leaf in plan.schedule.leaves() if leaf is pack)
    return around, plan.schedule.path(pack.operator)[len(around) :]
