"""Formulas of rows, compiled, against NumPy in float64: what holds of softmax is not said of formulas that resemble it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.support.graphs import random
from tests.support.onnx_models import info, model
from tilewright.graph.expressions.scalar import Point, State, apply
from tilewright.graph.types import Reduction, StateVariable
from tilewright.leaves.rowwise_reductions_form import may_lose_nan
from tilewright.leaves.tile_programs.rows.expressions import fall
from tilewright.onnx import InferenceSession

needs_avx2 = pytest.mark.needs("avx2", "fma")
LONG = ("exp", "log", "tanh", "erf", "sigmoid", "silu", "gelu")
ROOT = apply("sqrt", Point())


Formulas = dict[str, Callable[[Any], Any]]


def check(formulas: Formulas, x: Any, fuse: bool | None = None) -> None:
    """That all results are those of the same formulas on float64 arrays. Each has an argument of its own, so that none shares
    parts with another."""

    def function(xs: dict[str, Any]) -> dict[str, Any]:
        return {name: formula(xs[name]) for name, formula in formulas.items()}

    got = tw.jit(function, fuse=fuse, target="x86-64-v3")({name: x.copy() for name in formulas})
    with np.errstate(all="ignore"):
        expected = function(dict.fromkeys(formulas, x.astype("f8")))
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", LONG)
def test_only_the_exponential_of_a_fall_is_a_power_of_two(name: str) -> None:
    below_largest = apply("subtract", Point(), State("row_max"))
    assert (fall(apply(name, below_largest), ["row_max"]) is not None) == (name == "exp")


@needs_avx2
@pytest.mark.parametrize(("axis", "fuse"), [(0, None), (1, None), ((0, 1), None), (1, False)], ids=str)
def test_every_function_of_what_falls_or_climbs(axis: int | tuple[int, ...], fuse: bool | None) -> None:
    largest, least = (partial(one, axis=axis, keepdims=True) for one in (tw.max, tw.min))
    distances: Formulas = {
        "x - max": lambda x: x - largest(x),
        "x - min": lambda x: x - least(x),
        "max - x": lambda x: largest(x) - x,
        "scaled": lambda x: (x - largest(x)) * 0.5,
        "turned": lambda x: (x - largest(x)) * -0.5,
    }
    formulas: Formulas = {
        f"{name} {of}": lambda x, name=name, distance=distance: getattr(tw, name)(distance(x))  # type: ignore[misc]
        for name in LONG
        for of, distance in distances.items()
    }
    check(formulas, random(7, 37, seed=1), fuse)


def largest(x: Any) -> Any:
    return tw.max(x, axis=1, keepdims=True)


def total(x: Any) -> Any:
    return tw.sum(x, axis=1, keepdims=True)


def shares(x: Any) -> Any:
    return tw.exp(x - largest(x))


RESEMBLING: Formulas = {
    "points beside shares": lambda x: shares(x) / total(shares(x)) * x,
    "points beside a function of them": lambda x: (tw.tanh(x) * largest(x) - largest(tw.tanh(x))) * x,
    "shares beside shares": lambda x: shares(x) / total(shares(x)) + shares(x),
    "over more than the sum": lambda x: shares(x) / (1 + total(shares(x))),
    "over the largest": lambda x: shares(x) / largest(shares(x)),
    "over a sum of columns": lambda x: shares(x) / tw.sum(shares(x), axis=0, keepdims=True),
    "from the smallest": lambda x: tw.exp(x - tw.min(x, axis=1, keepdims=True)),
    "to the largest": lambda x: tw.exp(largest(x) - x),
    "a larger maximum": lambda x: tw.exp(x - tw.maximum(largest(x), 0.0)),
    "of other rows": lambda x: tw.exp(x - largest(x[::-1] + 3)),
    "of magnitudes": lambda x: tw.exp(tw.abs(x) - largest(x)),
    "another function": lambda x: tw.tanh(x - largest(x)) / total(tw.tanh(x - largest(x))),
}


@needs_avx2
@pytest.mark.parametrize("fuse", [None, False])
def test_what_resembles_a_softmax(fuse: bool | None) -> None:
    check(RESEMBLING, random(6, 37, seed=2), fuse)


@needs_avx2
@pytest.mark.parametrize("name", ["Tanh", "Sigmoid", "Erf"])
def test_imported_functions_of_what_falls(name: str) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x", "axes"], ["m"], keepdims=1),
        helper.make_node("Sub", ["x", "m"], ["d"]),
        helper.make_node(name, ["d"], ["y"]),
    ]
    proto = model(nodes, [info("x", [3, 9])], [info("y", [3, 9])], {"axes": np.array([1])})
    x = random(3, 9, seed=3)
    (got,) = InferenceSession(proto).run(None, {"x": x})
    distance = x.astype("f8") - x.max(1, keepdims=True)
    np.testing.assert_allclose(got, getattr(tw, name.lower())(distance), rtol=1e-6, atol=1e-7)


def test_rows_of_a_number_alone_have_a_plan() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"]),
    ]
    session = InferenceSession(model(nodes, [info("x", ["n", 5])], [info("y", ["n", 5])], {}))
    np.testing.assert_allclose(session.run(None, {"x": random(3, 5)})[0], np.full((3, 5), 0.2), rtol=1e-6)


def test_nan_is_told_by_what_has_the_same_contribution() -> None:
    def norm(contribution: Any) -> Reduction:
        states = (StateVariable("top", -np.inf, ROOT, "maximum"), StateVariable("total", 0.0, contribution, "add"))
        return Reduction(states, apply("multiply", State("top"), State("total")))

    for contribution, told in ((Point(), False), (ROOT, True), (apply("exp", apply("subtract", ROOT, State("top"))), True)):
        reduction = norm(contribution)
        assert may_lose_nan(reduction, reduction.states[0]) == told


@needs_avx2
def test_an_extreme_keeps_nan_that_a_sum_of_points_does_not_have() -> None:
    x = np.abs(random(3, 37, seed=4))
    x[1, 3] = -1
    check(
        {
            "maximum": lambda x: x * largest(tw.sqrt(x)) + total(x),
            "minimum": lambda x: x * tw.min(tw.sqrt(x), axis=1, keepdims=True) + total(x),
        },
        x,
    )


@needs_avx2
@pytest.mark.parametrize("fuse", [None, True])
def test_contributions_do_not_wait_where_something_lies_that_the_result_needs(fuse: bool | None) -> None:
    """The row-wise reduction leaves its result in the place of a product that it reads at the end."""

    def function(x: Any, w: Any) -> Any:
        bent = tw.tanh(x - largest(x))
        return (bent / total(bent) * (x @ w)) @ w

    x, w = random(6, 37, seed=5), random(37, 37, seed=6)
    found = tw.jit(function, fuse=fuse, target="x86-64-v3")(x, w)
    np.testing.assert_allclose(found, function(x.astype("f8"), w.astype("f8")), rtol=1e-4, atol=1e-5)


@needs_avx2
def test_quotients_by_what_has_no_reciprocal_in_float32() -> None:
    quotients: Formulas = {
        "of a sum": lambda x: x / total(x),
        "of a difference": lambda x: (x - largest(x)) / (largest(x) - 2.0 * total(x)),
    }
    for size in (1e-41, 1e-39, 1.0, 1e36):
        check({**quotients, "of the largest": lambda x: x / largest(x)}, np.abs(random(3, 37, seed=7)) * np.float32(size))
