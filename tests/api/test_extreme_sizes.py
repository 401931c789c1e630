"""Programs that are very deep, wide or long, or of high rank: right, or one clear error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.random.extremes.growing import FAMILIES, program
from tests.support.random.extremes.judging import outcome
from tests.support.random.extremes.program import Program
from tests.support.random.extremes.shrinking import shrunk
from tests.support.sweeps import EQUAL, INTERNAL, Outcome
from tilewright.errors import PlanningError, ShapeError, UnsupportedOperation, bugs_reported
from tilewright.plan.reasons import Barrier, CannotFuse

TARGET = "x86-64-v2"


def _plans(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Any:
    return tw.jit(function, target=TARGET).lower(*map(tw.spec, shapes)).model_plan


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: a @ b, ((1 << 40, 4), (4, 4))),
        (lambda a, b: a @ b, ((4, (1 << 31) - 1), ((1 << 31) - 1, 4))),
        (lambda a, b: tw.tanh(a) + b, ((1 << 40, 3), (3,))),
        (lambda a: tw.softmax(a, axis=-1), ((3, 1 << 40),)),
        (lambda a: tw.sum(a), ((1 << 50,),)),
        (lambda x, w: tw.conv1d(x, w), ((1, 3, 1 << 31), (4, 3, 3))),
    ],
)
def test_long_axes_have_plans(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    longest = max(extent for shape in shapes for extent in shape)
    assert _plans(function, *shapes).predicted_seconds > longest / 1e12


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a: tw.tanh(a), ((1 << 62,),)),
        (lambda a, b: a @ b, ((1 << 25, 1 << 25), (1 << 25, 1 << 25))),  # arrays fit, and points are 2^75
        (lambda a, b: tw.softmax(a @ b), ((1 << 40, 4), (4, 1 << 40))),  # the intermediate has 2^82 bytes
        (lambda a: tw.tanh(a), ((2,) * 60,)),
    ],
)
def test_what_no_count_of_a_plan_can_hold_is_refused(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(PlanningError, match=r"bytes|points"):
        _plans(function, *shapes)


def test_known_values_of_run_time_extents_decide_what_is_too_large() -> None:
    shape = tuple(tw.Dim(name, hint=4) for name in "abcd")
    assert tw.jit(lambda x: tw.tanh(x), target=TARGET).lower(tw.spec(shape)).model_plan.plans


@pytest.mark.parametrize("rank", [20, 32])
def test_axes_of_high_rank_have_plans(rank: int) -> None:
    """More axes of two points than the search has room for: each has one tile left, which is no loop."""
    order = [*range(1, rank, 2), *range(0, rank, 2)]
    assert _plans(lambda x: tw.permute_dims(x, order) + 1.0, (2,) * rank).plans


def test_arrays_have_at_most_64_dimensions() -> None:
    assert _plans(lambda x: tw.tanh(tw.transpose(x)), (1,) * 60 + (2, 3, 2, 2)).plans
    with pytest.raises(ShapeError, match="65 dimensions"):
        _plans(lambda x: tw.tanh(tw.transpose(x)), (1,) * 61 + (2, 3, 2, 2))


def test_ranges_that_nothing_could_hold_are_refused_without_being_made() -> None:
    with pytest.raises(ShapeError, match="arange runs"):
        _plans(lambda x: x + tw.arange(1 << 40), (1,))
    with pytest.raises(ShapeError, match="no length"):
        _plans(lambda x: x + tw.arange(0, 3, 0), (1,))


def test_long_chains_of_products_are_planned_in_groups() -> None:
    def products(x: Any, w: Any) -> Any:
        for _ in range(200):
            x = x @ w
        return x

    found = _plans(products, (4, 4), (4, 4))
    assert sum(len(plan.chain.operators) for plan in found.plans) == 200
    assert sum(cut.reason == CannotFuse(Barrier.LONG_GROUP) for cut in found.cuts) == 3


def test_too_many_nested_calls_are_no_bug() -> None:
    def nested(depth: int) -> int:
        return nested(depth - 1) + 1 if depth else 0

    with pytest.raises(UnsupportedOperation, match="nested calls"), bugs_reported("planning f", lambda: "f"):
        nested(sys.getrecursionlimit())


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    one = program(seed, most_steps=60)
    found = outcome(one)
    assert found.kind == EQUAL or (one.family == "rank" and "dimensions" in found.reason), f"{found}\n{one.text()}"


def test_a_seed_has_one_program() -> None:
    assert [program(seed).text() for seed in range(8)] == [program(seed).text() for seed in range(8)]
    assert {program(seed).family for seed in range(len(FAMILIES))} == {"deep", "wide", "rank", "long"}


def test_failing_programs_are_shrunk_to_what_fails() -> None:
    def judge(one: Program) -> Outcome:
        return Outcome(INTERNAL if one.count > 20 and "x = F.tanh(x)" in one.steps else EQUAL)

    found = next(one for one in map(program, range(0, 4000, 4)) if judge(one).kind == INTERNAL)
    smallest = shrunk(found, judge(found).cause, judge)
    assert (smallest.steps, smallest.count, smallest.shapes) == (("x = F.tanh(x)",), 21, ((1, 1),))


def test_sums_of_many_operands_are_right() -> None:
    def total(*xs: Any) -> Any:
        x = xs[0]
        for one in xs[1:]:
            x = x + one
        return x

    arrays = [np.full((2, 3), number, np.float32) for number in range(150)]
    assert np.array_equal(tw.jit(total, target=TARGET)(*arrays), np.full((2, 3), sum(range(150)), np.float32))
