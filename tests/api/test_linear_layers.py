"""Chains of linear layers: activations, gates, residuals, norms, low ranks, batches; against the same function in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest

import tilewright as tw

Function: TypeAlias = Callable[..., Any]
pytestmark = pytest.mark.needs("avx2", "fma")


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Of such a size that layers keep that of their input."""
    values = np.random.default_rng(sum(shape) + seed).standard_normal(shape, dtype=np.float32)
    return values / np.sqrt(np.float32(shape[-2] if len(shape) > 1 else 1))


def layers(activation: Function, widths: Sequence[int]) -> Function:
    """Linear layers with bias and an activation behind all but the last."""
    pairs = [(weights(*pair, seed=i), weights(pair[1], seed=i)) for i, pair in enumerate(pairwise(widths))]

    def network(x: Any) -> Any:
        for number, (w, b) in enumerate(pairs):
            x = x @ w.astype(x.dtype) + b.astype(x.dtype)
            x = activation(x) if number < len(pairs) - 1 else x
        return x

    return network


def gated(activation: Function, width: int, hidden: int) -> Function:
    up, gate, down = weights(width, hidden), weights(width, hidden, seed=1), weights(hidden, width)
    return lambda x: (activation(x @ gate.astype(x.dtype)) * (x @ up.astype(x.dtype))) @ down.astype(x.dtype)


def layer_norm(x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def rms_norm(x: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def residual(before: Function, inner: Function, behind: Function) -> Function:
    return lambda x: behind(x + inner(before(x)))


def same(x: Any) -> Any:
    return x


def tanh_gelu(x: Any) -> Any:
    return tw.gelu(x, approximate="tanh")


def written_gelu(x: Any) -> Any:
    return x * 0.5 * (1 + tw.erf(x / np.sqrt(2)))


NETWORKS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "relu": (layers(tw.relu, (16, 24, 16)), (37, 16)),
    "gelu": (layers(tw.gelu, (19, 53, 19)), (7, 19)),
    "gelu, tanh form": (layers(tanh_gelu, (16, 64, 16)), (24, 16)),
    "gelu, written out": (layers(written_gelu, (16, 64, 16)), (25, 16)),
    "silu": (layers(tw.silu, (37, 101, 7)), (31, 37)),
    "sigmoid": (layers(tw.sigmoid, (8, 9, 8)), (1, 8)),
    "tanh": (layers(np.tanh, (8, 9, 10, 11)), (5, 8)),
    "one neuron": (layers(tw.relu, (1, 1, 1)), (1, 1)),
    "seven layers": (layers(tw.relu, (31, 17, 64, 5, 80, 33, 12, 3)), (45, 31)),
    "twenty layers": (layers(tw.gelu, (16,) * 21), (50, 16)),
    "swiglu": (gated(tw.silu, 24, 56), (33, 24)),
    "geglu": (gated(tw.gelu, 17, 41), (6, 17)),
    "residual": (residual(same, layers(tw.gelu, (32, 96, 32)), same), (21, 32)),
    "norm behind": (residual(same, layers(tw.gelu, (32, 96, 32)), layer_norm), (21, 32)),
    "norm before": (residual(layer_norm, layers(tw.relu, (24, 48, 24)), same), (13, 24)),
    "rms norm around gates": (residual(rms_norm, gated(tw.silu, 24, 40), rms_norm), (13, 24)),
    "batched rows": (layers(tw.relu, (12, 20, 12)), (2, 3, 5, 12)),
}


def check(function: Function, *arguments: np.ndarray, **options: Any) -> np.ndarray:
    expected = function(*(one.astype(np.float64) for one in arguments))
    result = np.asarray(tw.jit(function, target="x86-64-v3", **options)(*arguments))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=2e-5 * np.abs(expected).max())
    return result


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    function, shape = NETWORKS[name]
    rows = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    check(function, rows, threads=1)


@pytest.mark.parametrize("name", ["gelu", "seven layers", "swiglu", "norm behind"])
@pytest.mark.parametrize("fuse", [False, True])
def test_fused_or_not(name: str, fuse: bool) -> None:
    function, shape = NETWORKS[name]
    check(function, np.random.default_rng(1).standard_normal(shape, dtype=np.float32), fuse=fuse, threads=1)


def test_threads_change_nothing() -> None:
    function = layers(tw.gelu, (40, 72, 40, 8))
    rows = np.random.default_rng(1).standard_normal((301, 40), dtype=np.float32)
    results = [check(function, rows, threads=threads) for threads in (1, 2, 3)]
    assert all(np.array_equal(results[0], result) for result in results[1:])


def test_weights_may_be_arguments() -> None:
    arrays = (weights(29, 11), weights(11, 43), weights(43), weights(43, 9))
    check(lambda x, w, b, v: tw.gelu(x @ w + b) @ v, arrays[0], arrays[1], arrays[2], arrays[3], threads=1)


def test_low_ranks() -> None:
    x, w, a, b = weights(23, 40), weights(40, 35), weights(40, 4), weights(4, 35)
    check(lambda x, a, b: (x @ a) @ b, x, a, b, threads=1)
    check(lambda x, w, a, b: x @ w + (x @ a) @ b, x, w, a, b, threads=1)
    check(lambda x: tw.relu(x @ w.astype(x.dtype) + 0.5 * ((x @ a.astype(x.dtype)) @ b.astype(x.dtype))), x, threads=1)


def test_batched_weights() -> None:
    x, first, second = weights(3, 10, 12), weights(3, 12, 21), weights(3, 21, 5)
    check(lambda x, u, v: tw.relu(x @ u) @ v, x, first, second, threads=1)


def test_the_plan_says_where_it_cuts_and_why() -> None:
    """Narrow layers stay in a cache, wide ones are cheaper apart; both in figures."""
    narrow = tw.jit(layers(tw.relu, (64,) * 9), target="x86-64-v4", threads=1)
    assert len(narrow.lower(np.zeros((8192, 64), np.float32)).model_plan.plans) == 1
    wide = tw.jit(layers(tw.gelu, (768, 3072, 768)), target="x86-64-v4", threads=1)
    lowered = wide.lower(np.zeros((128, 768), np.float32))
    assert len(lowered.model_plan.plans) > 1
    assert "the separate plans are faster" in lowered.explain()
