"""Layer norm and RMS norm: against float64, and against PyTorch where there is PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.support.graphs import random

jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)
X, Y, WEIGHT, BIAS, LAYER = random(13, 37) + 1, random(13, 37, seed=1), random(37, seed=2), random(37, seed=3), random(37, 24)
IMAGE = random(2, 6, 5, 4)
CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "plain": (tw.layer_norm, (X,)),
    "weight and bias": (lambda x, w, b: tw.layer_norm(x, 37, w, b), (X, WEIGHT, BIAS)),
    "weight and bias are the same tensor": (lambda x, w: tw.layer_norm(x, 37, w, w), (X, WEIGHT)),
    "of conditions, with weight and bias": (
        lambda x, w, b: tw.layer_norm(tw.where(x > 1.0, x, 0.5), 37, w, b),
        (X, WEIGHT, BIAS),
    ),
    "bias alone": (lambda x, b: tw.layer_norm(x, (37,), bias=b), (X, BIAS)),
    "several dimensions": (lambda x, w: tw.layer_norm(x, (5, 7), w), (random(6, 5, 7), random(5, 7))),
    "bias of rows": (lambda x, b: tw.layer_norm(x, bias=b, axis=0), (X, random(13))),
    "lanes are rows": (lambda x, w: tw.layer_norm(x, weight=w, axis=0), (X, random(13))),
    "rms": (lambda x, w: tw.rms_norm(x, 37, w), (X, WEIGHT)),
    "transposed": (lambda x, w: tw.rms_norm(x.T, weight=w), (X.T, WEIGHT)),
    "groups": (lambda x, w, b: tw.group_norm(x, 3, w, b), (IMAGE, random(6), random(6, seed=1))),
    "groups, bias alone": (lambda x, b: tw.silu(tw.group_norm(x, 2, bias=b)), (IMAGE, random(6))),
    "behind a residual, before a layer": (
        lambda x, y, w, b, m: tw.layer_norm(x + y, 37, w, b) @ m,
        (X, Y, WEIGHT, BIAS, LAYER),
    ),
    "behind a layer": (lambda x, m, y: tw.layer_norm(x @ m + y), (X, LAYER, random(13, 24))),
}


def double(arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    return [np.asarray(x, np.float64) for x in arrays]


def two_pass(x: Any, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5) -> Any:
    """The formula, row by row."""
    rows = [(row - row.sum() / row.size) / np.sqrt(((row - row.sum() / row.size) ** 2).sum() / row.size + eps) for row in x]
    return np.array(rows) * weight + bias


@pytest.mark.parametrize("name", CASES)
def test_tracing_keeps_the_numpy_reference(name: str) -> None:
    function, arrays = CASES[name]
    traced = tw.jit(function)(*double(arrays), interpret=True)
    np.testing.assert_allclose(traced, function(*double(arrays)), rtol=1e-12, atol=1e-12)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str) -> None:
    function, arrays = CASES[name]
    np.testing.assert_allclose(jit(function)(*arrays), function(*double(arrays)), rtol=2e-5, atol=2e-5)


def test_the_formula() -> None:
    x, weight, bias = double((X, WEIGHT, BIAS))
    np.testing.assert_allclose(tw.layer_norm(x, 37, weight, bias), two_pass(x, weight, bias), rtol=1e-12)


@functools.cache
def _symbolic() -> Any:
    shape = ("m", "n")
    return jit(lambda x, w: tw.layer_norm(x, weight=w)).lower(tw.spec(shape), tw.spec(("n",))).compile()


@pytest.mark.needs("avx2", "fma")
@given(rows=st.integers(1, 19), columns=st.integers(1, 70), offset=st.sampled_from([0.0, 100.0, -3000.0]))
def test_rows_of_any_length_far_from_zero(rows: int, columns: int, offset: float) -> None:
    x, weight = random(rows, columns) + np.float32(offset), random(columns, seed=1)
    expected = two_pass(x.astype("f8"), weight.astype("f8"))
    deviation = np.sqrt(x.astype("f8").var(axis=1, keepdims=True) + 1e-5)
    error = 6e-8 * (columns / 8 + 6) * (np.abs(x).mean(axis=1, keepdims=True) / deviation + np.abs(expected) + 1)
    assert (np.abs(_symbolic()(x, weight) - expected) <= error * (np.abs(weight) + 1)).all()


@pytest.mark.parametrize("name", ["weight and bias", "several dimensions", "rms"])
def test_pytorch_means_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    function, arrays = CASES[name]
    own = torch.nn.functional.rms_norm if name == "rms" else torch.nn.functional.layer_norm
    x, *others = (torch.from_numpy(array) for array in arrays)
    np.testing.assert_allclose(function(*arrays), own(x, others[0].shape, *others), rtol=2e-5, atol=2e-6)


def test_groups_that_do_not_divide_the_channels() -> None:
    for function in (tw.group_norm, tw.jit(tw.group_norm, static_argnames="num_groups")):
        with pytest.raises(tw.ShapeError, match="in 4 groups"):
            function(IMAGE, num_groups=4)
