"""Plans of run-time extents at the extents of a call."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.plan.repriced import at_extents, with_hints
from tilewright.plan.types import ModelPlan, TermKind

ROWS = tw.Dim("t", 1, 4096)


def attention(q, k, v):
    return tw.softmax(q @ k.swapaxes(-1, -2)) @ v


def products(x, w):
    return tw.relu(x @ w) @ w


def norms(x):
    return tw.softmax(x)


def whole_numbers(x):
    return tw.where(x * 3 > x, 1.0, 0.0)


def split_sums(x, w):
    return x.swapaxes(0, 1) @ w


def planned(function, *shapes) -> ModelPlan:
    operands = [tw.spec(shape, "int32" if function is whole_numbers else "float32") for shape in shapes]
    return tw.jit(function, target="x86-64-v3").lower(*operands).model_plan


LONG = tw.Dim("t", 4096, 1 << 20, hint=1 << 16)
CASES = [
    (attention, ((2, ROWS, 16), (2, ROWS, 16), (2, ROWS, 16))),
    (products, ((ROWS, 64), (64, 64))),
    (norms, ((ROWS, 32),)),
    (whole_numbers, ((ROWS, 32),)),
    (split_sums, ((LONG, 8), (LONG, 8))),
]
IDS = [function.__name__ for function, _ in CASES]


@pytest.mark.parametrize(("function", "shapes"), CASES, ids=IDS)
def test_at_the_planned_values_prices_and_floors_are_those_of_the_plan(function, shapes):
    for plan in planned(function, *shapes).plans:
        (planned_value,) = {extent.hint for extent in plan.chain.extents.values() if not isinstance(extent, int)}
        moved = at_extents(plan, {"t": planned_value + 1})
        assert moved.floor.compulsory_bytes != plan.floor.compulsory_bytes
        again = at_extents(moved, {"t": planned_value})
        assert (again.predicted_seconds, again.floor) == (plan.predicted_seconds, plan.floor)
        assert again.chain == plan.chain


def test_the_cases_have_scalar_loops_and_split_sums():
    plans = {function.__name__: planned(function, *shapes).plans for function, shapes in CASES}
    assert plans["whole_numbers"][0].price.terms[0].kind is TermKind.EXACT_ARITHMETIC
    assert plans["split_sums"][-1].schedule.split


@pytest.mark.parametrize("rows", [1, 7, 128, 1000])
def test_floors_are_those_of_a_chain_of_fixed_extents(rows):
    shapes = ((ROWS, 64), (64, 64))
    dynamic = [at_extents(plan, {"t": rows}) for plan in planned(products, *shapes).plans]
    fixed = planned(products, (rows, 64), (64, 64)).plans
    assert sum(plan.floor.flops for plan in dynamic) == sum(plan.floor.flops for plan in fixed)


def test_expressions_of_dimensions_follow():
    def halves(x):
        return tw.relu(x[: x.shape[0] // 2].reshape(-1))

    for plan in planned(halves, (ROWS, 64)).plans:
        moved = at_extents(plan, {"t": 11})
        assert {with_hints(extent, {"t": 11}) for extent in moved.chain.extents.values()} == {*moved.chain.extents.values()}
        assert moved.floor.compulsory_bytes == 4 * 2 * 5 * 64


def test_a_plan_of_fixed_extents_stays():
    (plan,) = planned(norms, (4, 32)).plans
    assert at_extents(plan, {}) is plan
