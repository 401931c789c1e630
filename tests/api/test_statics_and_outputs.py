"""Static values that compare equal but differ, results written by key, and containers that would lose something."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import tilewright as tw

ONES = np.ones((2, 2), np.float32)


@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 1.0), (2, 1)), ((True,), (1,)), (((True,),), ((1,),)), (frozenset((True,)), frozenset((1,))), (0.0, -0.0)],
    ids=repr,
)
def test_static_values_that_can_be_told_apart_are_different(first: object, second: object) -> None:
    seen: list[object] = []

    def function(x: Any, n: object) -> Any:
        seen.append(n)
        return x + 1

    jitted = tw.jit(function, static_argnames="n")
    for value in (first, second, first):
        jitted(ONES, value)
    assert [repr(value) for value in seen] == [repr(first), repr(second)]


def test_a_static_nan_is_compiled_once() -> None:
    seen = []

    @tw.jit(static_argnames="n")
    def function(x: Any, n: float) -> Any:
        seen.append(n)
        return x + 1

    for _ in range(3):
        function(ONES, float("nan"))
    assert len(seen) == 1
    assert math.isnan(seen[0])


def test_keys_of_different_types_are_different() -> None:
    function = tw.jit(lambda tree: next(iter(tree.values())) * (2 if next(iter(tree)) is True else 3))
    assert function({1: ONES})[0, 0] == 3
    assert function({True: ONES})[0, 0] == 2


@pytest.mark.parametrize("interpret", [False, True])
def test_out_is_written_by_key(interpret: bool) -> None:
    function = tw.jit(lambda x: {"a": x + 1, "b": x * 4})
    out = {"b": np.empty_like(ONES), "a": np.empty_like(ONES)}
    assert function(ONES, out=out, interpret=interpret) is out
    assert (out["a"][0, 0], out["b"][0, 0]) == (2, 4)


@pytest.mark.parametrize("out", [{"a": ONES.copy(), "b": ONES.copy()}, ONES.copy(), (ONES.copy(),), (ONES.copy(), None)])
def test_out_of_another_structure_is_refused(out: object) -> None:
    with pytest.raises(tw.ShapeError, match=r"out.* is a .*, where the function returns"):
        tw.jit(lambda x: (x + 1, x * 2))(ONES, out=out)


@dataclasses.dataclass
class Scaled:
    weights: object
    scale: float = dataclasses.field(default=1.0, init=False)


def test_a_dataclass_that_its_constructor_cannot_rebuild_is_refused() -> None:
    with pytest.raises(tw.TilewrightError, match="a Scaled cannot be an argument or a result"):
        tw.jit(lambda q: q.weights * q.scale)(Scaled(ONES))


def test_an_integer_beyond_float64_is_infinite() -> None:
    assert np.isinf(tw.jit(lambda x: x + 10**400)(ONES)).all()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum() + (x * 2).sum(),
        lambda x: tw.softmax(tw.softmax(x)),
        lambda x: (x - x.mean()) / ((x - x.mean()) * (x - x.mean())).mean(),
        lambda x: (x - x.min()) / (x.max() - x.min()),
    ],
)
def test_several_reductions_of_a_vector(function: Any) -> None:
    x = np.random.default_rng(0).standard_normal(40, np.float32)
    for fuse in (None, True, False):
        np.testing.assert_allclose(tw.jit(function, fuse=fuse)(x), function(x.astype("f8")), rtol=1e-4, atol=1e-5)
