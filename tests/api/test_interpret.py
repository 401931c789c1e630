"""Calling conventions of jitted functions, interpreted in NumPy: no compiler runs."""

from __future__ import annotations

import array
import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any = None


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


def test_decorators_with_and_without_arguments() -> None:
    @tw.jit
    def plain(x: Any) -> Any:
        """Twice x."""
        return x * 2

    @tw.jit(threads=1, static_argnames="n")
    def options(x: Any, n: int) -> Any:
        return x * n

    assert plain.__doc__ == "Twice x."
    assert plain.__name__ == "plain"
    assert plain(np.ones(2, "f4"), interpret=True).tolist() == [2, 2]
    assert options(np.ones(2, "f4"), 3, interpret=True).tolist() == [3, 3]


def test_interpretation_takes_any_element_type() -> None:
    double = tw.jit(lambda x: x * 2)
    for dtype in ("f8", "f2", "i4"):
        result = double(np.ones(2, dtype), interpret=True)
        assert result.dtype == np.dtype(dtype)
        assert result.tolist() == [2, 2]


def test_containers_in_and_out() -> None:
    @tw.jit
    def network(x: Any, layers: list[Layer], extra: dict[str, Any]) -> dict[str, Any]:
        for layer in layers:
            x = x @ layer.weight
            if layer.bias is not None:
                x = x + layer.bias
        return {"out": x, "pair": (x * extra["scale"], None), "layer": Layer(x.sum()), "count": len(layers)}

    x = random(2, 3).astype("f8")
    layers = [Layer(random(3, 4, seed=1).astype("f8"), np.ones(4)), Layer(random(4, 2, seed=2).astype("f8"))]
    result = network(x, layers, {"scale": 2.0}, interpret=True)
    expected = (x @ layers[0].weight + 1) @ layers[1].weight
    np.testing.assert_allclose(result["out"], expected)
    np.testing.assert_allclose(result["pair"][0], 2 * expected)
    assert result["pair"][1] is None
    np.testing.assert_allclose(result["layer"].weight, expected.sum())
    assert result["count"] == 2


def test_keywords_defaults_and_variadic_arguments() -> None:
    @tw.jit(static_argnames=("axis", "mode"))
    def function(x: Any, /, *others: Any, axis: int = -1, scale: float = 1.0, mode: Mode = Mode.UP, **more: Any) -> Any:
        for other in others:
            x = x + other
        x = tw.softmax(x, axis=axis) * scale + sum(more.values())
        return x if mode is Mode.UP else -x

    x = random(3, 4).astype("f8")
    one = function(x, x, x, axis=0, scale=3.0, mode=Mode.DOWN, a=1.0, b=x, interpret=True)
    np.testing.assert_allclose(one, -(tw.softmax(3 * x, axis=0) * 3 + 1 + x), rtol=1e-6)
    np.testing.assert_allclose(function(x, interpret=True), tw.softmax(x), rtol=1e-6)


def test_a_gap_in_the_positional_arguments() -> None:
    function = tw.jit(lambda x, a=1.0, b=2.0: x * a + b)
    assert function(np.ones(1), b=5.0, interpret=True).tolist() == [6]


def test_numbers_are_traced_and_defaults_are_not() -> None:
    seen = []

    @tw.jit
    def function(x: Any, scale: Any, power: int = 2) -> Any:
        seen.append((type(scale).__name__, type(power).__name__))
        return x**power * scale

    assert function(np.ones(2, "f4"), 3, interpret=True).tolist() == [3, 3]
    assert seen == [("Traced", "int")]
    assert function(np.full(2, 2, "f4"), 3, 3, interpret=True).tolist() == [24, 24]
    assert seen[1:] == [("Traced", "Traced")]


def test_jitted_functions_inside_jitted_functions_are_inlined() -> None:
    inner = tw.jit(lambda x: tw.relu(x) * 2)
    outer = tw.jit(lambda x: inner(x - 1) + inner(x=x))
    np.testing.assert_array_equal(outer(np.arange(3.0), interpret=True), [0, 2, 6])


def test_methods() -> None:
    class Model:
        def __init__(self, weight: Any) -> None:
            self.weight = weight

        @tw.jit(static_argnames="self")
        def __call__(self, x: Any) -> Any:
            return x * self.weight

    assert Model(np.full(2, 3.0))(np.ones(2), interpret=True).tolist() == [3, 3]


def test_results_go_into_out() -> None:
    function = tw.jit(lambda x: (x + 1, {"y": x * 2}))
    first, second = np.zeros(2), np.zeros(2)
    result = function(np.ones(2), out=(first, {"y": second}), interpret=True)
    assert result[0] is first
    assert result[1]["y"] is second
    assert (first.tolist(), second.tolist()) == ([2, 2], [2, 2])
    with pytest.raises(tw.ShapeError, match="out is a ndarray, where the function returns a tuple of 2"):
        function(np.ones(2), out=first, interpret=True)


def test_foreign_arrays() -> None:
    torch = pytest.importorskip("torch")
    double = tw.jit(lambda x: x * 2)
    result = double(torch.ones(2), interpret=True)
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [2, 2]
    assert isinstance(double(array.array("f", [1, 2]), interpret=True), np.ndarray)
    assert double(memoryview(np.ones(2, "f4")), interpret=True).tolist() == [2, 2]
    mixed = tw.jit(lambda x, y: x + y)
    assert isinstance(mixed(2.0, torch.ones(2), interpret=True), torch.Tensor)
    assert isinstance(mixed(np.ones(2), torch.ones(2), interpret=True), np.ndarray)


def test_specs() -> None:
    assert tw.spec((12, "s", 64), "f4").shape == (12, tw.Dim("s"), 64)
    assert tw.Dim("s", low=8, high=64).hint == 64
    assert tw.Dim("s", low=1024, high=4096).hint == 1024
    with pytest.raises(tw.ShapeError, match="no possible value"):
        tw.Dim("s", low=3, high=2)
    with pytest.raises(tw.ShapeError, match="cannot name a dimension"):
        tw.Dim("2*s")
    with pytest.raises(tw.ShapeError, match="cannot be -1"):
        tw.spec((-1, 3))
    with pytest.raises(tw.DTypeError, match="no element type"):
        tw.spec((1,), "float33")
