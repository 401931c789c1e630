"""Hints: the code in them runs and does what they say, and names are guessed only where one is close."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import TilewrightError
from tilewright.frontend.tracing import functions
from tilewright.frontend.tracing.functions import FUNCTION_NAMES
from tilewright.frontend.tracing.hints import EXPRESSIONS, instead_of

X = (np.random.default_rng(0).random((4, 4)) * 3 - 1).astype(np.float32)
X[X == 0] = 1
POSITIVE = np.abs(X)
ONES = np.ones(3, np.float32)


def _log_softmax(x: Any) -> Any:
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


MEANINGS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(np, name) for name in ("dot", "inner", "outer")},
    "leaky_relu": lambda x, y: np.where(x > 0, x, 0.1 * x),
    "log_softmax": lambda x, y: _log_softmax(x),
    "logsumexp": lambda x, y: np.log(np.exp(x).sum(axis=-1)),
    "norm": lambda x, y: np.linalg.norm(x),
    "rsqrt": lambda x, y: 1 / np.sqrt(np.abs(x)),
    "std": lambda x, y: x.std(axis=-1),
    "var": lambda x, y: x.var(axis=-1),
    "xor": lambda x, y: (x > 0) ^ (y > 0),
}
OF_POSITIVE = ("rsqrt",)


def evaluated(code: str, **values: Any) -> Any:
    """The value of an expression in a user's module that has imported our functions."""
    names = {name: getattr(functions, name) for name in FUNCTION_NAMES}
    return eval(code, {"math": math, "numpy": np, "tw": tw, **names, **values})


def hint_of(trigger: Callable[[], object]) -> str:
    with pytest.raises(TilewrightError) as caught:
        trigger()
    return str(caught.value.hint)


@pytest.mark.needs("avx2", "fma")
def test_expressions_in_place_of_functions_mean_the_same():
    def function(x: Any, positive: Any, y: Any) -> Any:
        values = {
            name: evaluated(EXPRESSIONS[name], x=positive if name in OF_POSITIVE else x, y=y, a=-1, slope=0.1)
            for name in MEANINGS
        }
        return {name: tw.where(value, 1.0, 0.0) if value.dtype == np.bool_ else value for name, value in values.items()}

    y = X[::-1].copy()
    found = tw.jit(function, target="x86-64-v3", threads=1)(X, POSITIVE, y)
    for name, meaning in MEANINGS.items():
        np.testing.assert_allclose(found[name], meaning(X.astype(float), y.astype(float)), rtol=1e-4, atol=1e-5, err_msg=name)


def test_every_expression_has_a_meaning_here():
    assert set(EXPRESSIONS) == set(MEANINGS)


@pytest.mark.parametrize("name", ["gather", "tan", "sin", "take", "mod", "vecdot", "x", "conv"])
def test_names_that_are_not_close_are_not_guessed(name):
    assert "did you mean" not in instead_of(name, FUNCTION_NAMES)


@pytest.mark.parametrize(("name", "meant"), [("sofmax", "softmax"), ("sqaure", "square"), ("einsumm", "einsum")])
def test_names_that_are_close_are_guessed(name, meant):
    assert instead_of(name, FUNCTION_NAMES) == f"did you mean {meant}?"


@pytest.mark.parametrize("name", ["exp", "relu", "softmax", "maximum"])
def test_functions_that_are_no_methods_are_named(name):
    assert hint_of(_traced(lambda x: getattr(x, name)(), ONES)) == f"use tilewright.{name}"
    assert callable(getattr(tw, name))


def _traced(function: Callable[[Any], Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: tw.jit(function)(*arguments)


def _on_a_device(function: Callable[[Any], Any], *arguments: Any) -> Callable[[], Any]:
    """For one that does not compute in all element types."""
    return lambda: tw.jit(function, target="a100").lower(*arguments)


INDICES = np.arange(3, dtype=np.int32)
CASES: dict[str, tuple[Callable[[], Any], str, Callable[[str], Any]]] = {
    "a promotion": (
        lambda: tw.jit(lambda x, n: x @ n, target="a100").lower(ONES, INDICES),
        r"x\.astype\(numpy\.float32\)",
        lambda code: tw.jit(lambda x, n: x @ evaluated(code, x=n), target="a100").lower(ONES, INDICES),
    ),
    "truth values": (
        _traced(lambda x: (x > 0) + (x > 1), ONES),
        r"x \| y",
        lambda code: tw.jit(lambda x: tw.where(evaluated(code, x=x > 0, y=x > 1), 1.0, 0.0))(ONES),
    ),
    "truth values multiplied": (
        _traced(lambda x: (x > 0) * (x > 1), ONES),
        "x & y",
        lambda code: tw.jit(lambda x: tw.where(evaluated(code, x=x > 0, y=x > 1), 1.0, 0.0))(ONES),
    ),
    "truth values subtracted": (
        _traced(lambda x: (x > 0) - (x > 1), ONES),
        "x != y",
        lambda code: tw.jit(lambda x: tw.where(evaluated(code, x=x > 0, y=x > 1), 1.0, 0.0))(ONES),
    ),
    "a truth value negated": (
        _traced(lambda x: -(x > 0), ONES),
        "~x",
        lambda code: tw.jit(lambda x: tw.where(evaluated(code, x=x > 0), 1.0, 0.0))(ONES),
    ),
    "an integer that does not fit": (
        lambda: tw.jit(lambda n: (n + 300).astype(np.float32))(INDICES.astype(np.int8)),
        r"x\.astype\(numpy\.float32\)",
        lambda code: tw.jit(lambda n: evaluated(code, x=n) + 300)(INDICES.astype(np.int8)),
    ),
    "an argument": (
        _on_a_device(lambda a: a, ONES.astype(np.float64)),
        r"a\.astype\(numpy\.float32\)",
        lambda code: tw.jit(lambda a: a)(evaluated(code, a=ONES.astype(np.float64))),
    ),
    "an argument in a container": (
        _on_a_device(lambda a: a["w"], {"w": ONES.astype(np.float64)}),
        r"a\['w'\]\.astype\(numpy\.float32\)",
        lambda code: tw.jit(lambda a: a)(evaluated(code, a={"w": ONES.astype(np.float64)})),
    ),
    "a buffer": (
        _on_a_device(lambda a: a, memoryview(ONES.astype(np.float64))),
        r"numpy\.asarray\(a, numpy\.float32\)",
        lambda code: tw.jit(lambda a: a)(evaluated(code, a=memoryview(ONES.astype(np.float64)))),
    ),
    "truth values returned": (
        _on_a_device(lambda x: x > 0, ONES),
        r"where\(condition, 1\.0, 0\.0\)",
        lambda code: tw.jit(lambda x: evaluated(code, condition=x > 0))(ONES),
    ),
    "integers returned": (
        _on_a_device(lambda n: n + 1, INDICES.astype(np.int64)),
        r"x\.astype\(numpy\.float32\)",
        lambda code: tw.jit(lambda n: evaluated(code, x=n + 1))(INDICES),
    ),
    "a masked array": (
        _traced(lambda x: x, np.ma.masked_array(ONES)),
        r"x\.filled\(value\)",
        lambda code: tw.jit(lambda x: x)(evaluated(code, x=np.ma.masked_array(ONES), value=0)),
    ),
    "no array": (
        _traced(lambda x: x, object()),
        r"tw\.jit\(static_argnames=\('x',\)\)",
        lambda code: evaluated(code)(lambda x: ONES * 2)(x=object()),
    ),
    "matrices that do not fit": (
        _traced(lambda x: x @ x, X[:2]),
        r"\.mT",
        lambda code: tw.jit(lambda x: x @ evaluated(f"x{code}", x=x))(X[:2]),
    ),
    "bits": (
        _traced(lambda x: x & 1, ONES),
        r"logical_not\(x\)",
        lambda code: tw.jit(lambda x: tw.where(evaluated(code, x=x), 1.0, 0.0))(ONES),
    ),
    "a reserved name": (
        lambda: tw.jit(lambda out: out),
        r"tw\.jit\(lambda x: function\(x\)\)",
        lambda code: evaluated(code, function=lambda out: out * 2)(ONES),
    ),
    "floor of fractions": (
        _on_a_device(lambda x: x.astype(int), ONES),
        "floor",
        lambda code: tw.jit(lambda x: evaluated(f"{code}(x)", x=x))(ONES),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_code_of_a_hint_runs(case):
    trigger, pattern, use = CASES[case]
    found = re.search(pattern, hint_of(trigger))
    assert found, hint_of(trigger)
    use(found[0])


class TestTorch:
    """Arguments and constants that are torch's, and its functions."""

    torch: Any = None

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        self.torch = pytest.importorskip("torch")

    def test_tensors_are_converted_by_their_own_method(self):
        a = self.torch.ones(3, dtype=self.torch.float64)
        hint = hint_of(_on_a_device(lambda a: a, a))
        assert "a.float();" in hint
        tw.jit(lambda a: a)(evaluated("a.float()", a=a))

    def test_gradients_are_detached(self):
        w = self.torch.nn.Parameter(self.torch.ones(3))
        assert hint_of(_traced(lambda x: x, w)) == "pass x.detach()"
        tw.jit(lambda x: x)(evaluated("x.detach()", x=w))
        for function in (lambda x: x * w, lambda x: w * x, lambda x: tw.maximum(x, w), lambda x: tw.layer_norm(x, 3, w)):
            assert hint_of(_traced(function, ONES)).endswith("w.detach()")
        found = tw.jit(lambda x: x * evaluated("w.detach()", w=w))(ONES)
        np.testing.assert_array_equal(found, ONES)

    def test_tensors_without_values_are_no_constants(self):
        w = self.torch.ones(3, device="meta")
        assert hint_of(_traced(lambda x: x * w, ONES)) == "close over a NumPy array of numbers"

    @pytest.mark.parametrize("name", ["exp", "sub", "relu", "matmul"])
    def test_functions_of_torch_have_ours_as_a_hint(self, name):
        arguments = {"sub": 2, "matmul": 2}.get(name, 1)
        with pytest.raises(TilewrightError, match=f"torch.{name} cannot be traced") as caught:
            tw.jit(lambda x: getattr(self.torch, name)(*(x,) * arguments))(ONES)
        assert __file__ in caught.value.where
        ours = evaluated(caught.value.hint.removeprefix("use ").replace("tilewright.", "tw."))
        tw.jit(lambda x: ours(*(x,) * arguments))(ONES)

    def test_modules_of_torch_say_where_they_were_called(self):
        layer = self.torch.nn.Linear(3, 3)
        with pytest.raises(TilewrightError, match=r"torch\.nn\.functional\.linear cannot be traced") as caught:
            tw.jit(lambda x: layer(x))(ONES)
        assert __file__ in caught.value.where

    def test_operators_with_tensors_on_either_side_stay(self):
        w = self.torch.full((3,), 2.0)
        function = tw.jit(lambda x: (w - x, x - w, w @ x, tw.where(w > x, w, x)), threads=1)
        for found, expected in zip(function(ONES), (ONES, -ONES, 6, 2 * ONES), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("subscripts", ["ij=>i", "ij>i", "ij->i->j", "i1->i"])
def test_subscripts_that_are_no_letters_are_named(subscripts):
    with pytest.raises(tw.ShapeError, match=r"is not an index") as caught:
        tw.jit(lambda x: tw.einsum(subscripts, x))(X)
    assert "'->'" in caught.value.hint
