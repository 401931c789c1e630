"""Arrays that a function closes over: right operands are packed once, and results are those of the interpreter."""

from __future__ import annotations

import functools
import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support.graphs import random
from tilewright import compiler
from tilewright.runtime.compilation.toolchain import Toolchain

pytestmark = pytest.mark.needs("avx2", "fma")
jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)

EXTENTS = (1, 2, 5, 7, 13, 16, 17, 31, 33, 48)
"""One, primes, vectors and panels of 16 columns, and one more or less."""


def scaled(*shape: int, seed: int) -> np.ndarray:
    return random(*shape, seed=seed) / np.float32(np.sqrt(max(shape[-2], 1)))


def exact(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(tw.jit(function)(*arrays, interpret=True))


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=3e-5, atol=3e-5)


def kernel_of(function: Callable[..., Any], *arrays: Any, threads: int = 1) -> Any:
    return jit(function, threads=threads).lower(*arrays).compile()


def arguments_of(lowered: tw.Lowered) -> list[tuple[int, ...]]:
    """The shapes of the constants that calls read as they are."""
    slots = compiler.generate(lowered.model_plan).signature.inputs
    return [slot.shape for slot in slots[len(lowered.graph.inputs) :]]


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    m=st.sampled_from(EXTENTS),
    k=st.sampled_from(EXTENTS),
    n=st.sampled_from(EXTENTS),
    batch=st.sampled_from([(), (1,), (3,)]),
    layout=st.sampled_from(["kn", "nk"]),
    step=st.sampled_from([1, -1, 2]),
)
def test_products_with_constants_of_any_layout(m: int, k: int, n: int, batch: tuple[int, ...], layout: str, step: int) -> None:
    """Strides that the function's array has are gone when it is traced; dimensions stay where they are."""
    weights = scaled(*batch, *((k, n * abs(step)) if layout == "kn" else (n, k * abs(step))), seed=1)[..., ::step]
    b = "b" * len(batch)

    def product(x: Any) -> Any:
        return tw.einsum(f"{b}mk,{b}{layout}->{b}mn", x, weights) + 1

    x = random(*batch, m, k)
    close(kernel_of(product, x)(x), exact(product, x))


W1, B1, W2 = scaled(24, 50, seed=1), random(50, seed=2), scaled(19, 50, seed=3)


def two_layers(x: Any) -> Any:
    return tw.relu(x @ W1 + B1) @ W2.T


@functools.cache
def layers_kernel(threads: int = 1) -> Any:
    return kernel_of(two_layers, random(29, 24), threads=threads)


def test_layers_are_the_same_with_weights_as_arguments() -> None:
    x = random(29, 24)
    one, two = layers_kernel()(x), layers_kernel(threads=2)(x)
    close(one, exact(two_layers, x))
    assert (one == two).all()
    close(one, kernel_of(lambda x, a, b, c: tw.relu(x @ a + b) @ c.T, x, W1, B1, W2)(x, W1, B1, W2))


def test_the_kernel_owns_packed_constants_and_says_how_large_they_are() -> None:
    x = random(29, 24)
    lowered, kernel = jit(two_layers).lower(x), layers_kernel()
    planned = sum(plan.constant_bytes for plan in lowered.model_plan.plans)
    assert 0 < planned <= kernel.memory_stats().constant_bytes < planned + 64 * 2
    assert "prepacked, for matmul, in panels of" in lowered.explain()
    assert arguments_of(lowered) == [B1.shape]


def test_arrays_that_were_packed_are_not_kept() -> None:
    x = random(29, 24)
    lowered = jit(two_layers).lower(x)
    arrays = [weakref.ref(constant.array) for _, constant in lowered.model_plan.graph.constants]
    kernel = lowered.compile()
    del lowered
    gc.collect()
    assert [array() is not None for array in arrays] == [False, True, False]
    close(kernel(x), exact(two_layers, x))
    assert "matmul" in kernel.explain()


def test_constants_have_the_values_of_the_trace() -> None:
    weights, x = scaled(24, 50, seed=1), random(5, 24)
    function = jit(lambda x: x @ weights)
    before = function(x)
    weights[...] = 0
    assert (function(x) == before).all()


def test_values_are_not_part_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def layer(weights: np.ndarray) -> Callable[[Any], Any]:
        return lambda x: tw.relu(x @ weights)

    x = random(11, 24)
    first = kernel_of(layer(W1), x)
    monkeypatch.setattr(Toolchain, "compile", None)
    second = kernel_of(layer(2 * W1), x)
    assert first.source == second.source
    close(second(x), exact(layer(2 * W1), x))
    close(first(x), exact(layer(W1), x))


def test_left_and_elementwise_constants_stay_arguments() -> None:
    left, shift = scaled(18, 21, seed=1), random(18, 1, seed=2)

    def function(x: Any) -> Any:
        return (left @ x) + shift

    x = random(21, 37)
    lowered = jit(function).lower(x)
    kernel = lowered.compile()
    assert kernel.memory_stats().constant_bytes == 0
    assert arguments_of(lowered) == [left.shape, (18,)], "a column of numbers is a vector"
    close(kernel(x), exact(function, x))


def test_one_constant_on_both_sides() -> None:
    square = scaled(33, 33, seed=1)

    def function(x: Any) -> Any:
        return (x @ square) + (square @ x) + x @ square.T + square

    x = random(33, 33)
    lowered = jit(function).lower(x)
    kernel = lowered.compile()
    assert arguments_of(lowered) == [square.shape]
    assert kernel.memory_stats().constant_bytes > 2 * square.nbytes
    close(kernel(x), exact(function, x))


@pytest.mark.parametrize("fuse", [True, False])
def test_symbolic_rows(fuse: bool) -> None:
    rows = tw.Dim("s", low=1, high=100, hint=32)
    kernel = jit(two_layers, fuse=fuse).lower(tw.spec((rows, 24))).compile()
    assert kernel.memory_stats().constant_bytes > 0
    for size in (1, 7, 32, 97):
        x = random(size, 24)
        close(kernel(x), exact(two_layers, x))


@pytest.mark.parametrize("length", [70, 4096])
def test_attention_to_constant_keys(length: int) -> None:
    """With many keys and few rows the keys are cut into parts, which share the packed constants."""
    keys, values = scaled(1, 40, length, seed=1), random(1, length, 40, seed=2)

    def attend(q: Any) -> Any:
        return tw.softmax(q @ keys, axis=-1) @ values

    q = random(1, 6, 40)
    lowered = jit(attend, fuse=True).lower(q)
    assert (lowered.plan.schedule.split != "") == (length > 70)
    assert len(lowered.plan.schedule.ahead) == 2
    one = lowered.compile()(q)
    close(one, exact(attend, q))
    out = np.empty_like(one)
    compiler.build(lowered.model_plan, threads=2).run([q], [out])
    assert (one == out).all()


def test_slices_of_one_weight_are_packed_apart() -> None:
    weights = scaled(24, 3 * 40, seed=1)

    def heads(x: Any) -> Any:
        q, k, v = (x @ weights[:, start : start + 40] for start in (0, 40, 80))
        return tw.softmax(q @ k.T / 7) @ v

    x = random(21, 24)
    close(kernel_of(heads, x)(x), exact(heads, x))


def test_heads_split_and_merged_by_index_changes() -> None:
    wq, wk, wv = (scaled(24, 144, seed=seed) for seed in (1, 2, 3))

    def layer(x: Any) -> Any:
        q, k, v = ((x @ w).reshape(2, 10, 3, 48).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
        return (tw.softmax(q @ k.mT / 4) @ v).transpose(0, 2, 1, 3).reshape(2, 10, 144)

    x = random(2, 10, 24)
    kernel = jit(layer, fuse=False).lower(x).compile()
    assert kernel.memory_stats().constant_bytes >= 3 * wq.nbytes
    close(kernel(x), exact(layer, x))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_empty_constants(shape: tuple[int, int]) -> None:
    weights = random(*shape)
    x = random(3, shape[0])
    close(kernel_of(lambda x: x @ weights, x)(x), x @ weights)


def test_constants_of_float64_make_products_of_float64() -> None:
    weights, x = np.random.default_rng(0).standard_normal((24, 50)), random(3, 24)
    result = kernel_of(lambda x: x @ weights, x)(x)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, x @ weights, rtol=1e-14, atol=1e-13)


def test_a_child_of_a_fork_reads_them_too() -> None:
    x, kernel = random(29, 24), layers_kernel(threads=2)
    expected = kernel(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if (kernel(x) == expected).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (kernel(x) == expected).all()
