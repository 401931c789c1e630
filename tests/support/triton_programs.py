"""Programs for GPUs by kind and seed: a function of `tw`, the same in NumPy of float64, shapes and type of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf
from typing import Any, TypeAlias

import numpy as np

import tilewright as tw

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Extents: TypeAlias = tuple[int, ...]
BOUNDS = {"float16": 1e-3, "float32": 1e-3, "bfloat16": 5e-3, "int8": 0.0}
"""Of the error, over what float64 gives, both by the Frobenius norm; float32 is multiplied as tf32."""


@dataclass(frozen=True)
class Program:
    """A function, its reference, its arguments' shapes and element type."""

    kind: str
    function: Callable[..., Any]
    reference: Callable[..., Array]
    shapes: tuple[Extents, ...]
    dtype: str = "float16"

    def arguments(self, seed: int) -> tuple[Array, ...]:
        """Normal numbers, smaller ones for filters; small whole numbers for bytes."""
        generator = np.random.default_rng(seed)
        if self.dtype == "int8":
            return tuple(generator.integers(-9, 10, shape).astype(np.int8) for shape in self.shapes)
        return tuple(self._normal(generator, shape) for shape in self.shapes)

    def _normal(self, generator: np.random.Generator, shape: Extents) -> Array:
        from tilewright.dtypes import dtype_named

        scale = 0.3 if len(shape) == 4 else 1.0
        return (generator.standard_normal(shape) * scale).astype(dtype_named(self.dtype))


def turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def convolved(x: Array, filters: Array, stride: int, padding: int) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, filters.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, filters, optimize=True)


def below(scores: Array) -> Array:
    return np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)


def causal(q: Any, k: Any, v: Any) -> Any:
    i = tw.arange(q.shape[-2])
    return tw.softmax(tw.where(i[:, None] >= i[None, :], q @ turned(k) * 0.125, -np.inf), axis=-1) @ v


def extents(generator: np.random.Generator) -> Callable[..., int]:
    """Extents in a range: primes, ones, powers of two and their neighbours among them."""

    def draw(low: int = 1, high: int = 130) -> int:
        special = [e for p in (16, 32, 64) for e in (p - 1, p, p + 1)] + [1, 7, 31, 61]
        return (
            int(generator.choice([e for e in special if low <= e < high] or [low]))
            if generator.random() < 0.3
            else int(generator.integers(low, high))
        )

    return draw


def _matrices(draw: Callable[..., int]) -> Iterator[Program]:
    m, n, k = draw(2), draw(2, 100), draw(2, 100)
    yield Program("gemm", lambda x, w: x @ w, lambda x, w: x @ w, ((m, k), (k, n)))
    yield Program(
        "gemm bias relu", lambda x, w, c: tw.relu(x @ w + c), lambda x, w, c: np.maximum(x @ w + c, 0), ((m, k), (k, n), (n,))
    )
    yield Program("softmax", lambda x: tw.softmax(x, axis=-1), softmax, ((m, k),))
    yield Program("bfloat16", lambda x, w: tw.relu(x @ w), lambda x, w: np.maximum(x @ w, 0), ((m, k), (k, n)), "bfloat16")
    yield Program("tf32", lambda x, w: x @ w, lambda x, w: x @ w, ((m, k), (k, n)), "float32")
    yield Program("int8", lambda x, w: x @ w, _wrapped, ((m, k), (k, n)), "int8")


def _wrapped(x: Array, w: Array) -> Array:
    return (x.astype(np.int64) @ w.astype(np.int64)).astype(np.int8)


def _chains(draw: Callable[..., int]) -> Iterator[Program]:
    b, m, n, k, keys = draw(1, 4), draw(2), draw(2, 100), draw(2, 100), draw(2, 300)
    bmk, bkl, bln, blk = (b, m, k), (b, k, keys), (b, keys, n), (b, keys, k)
    yield Program("gemm chain", lambda a, w, v: (a @ w) @ v, lambda a, w, v: (a @ w) @ v, (bmk, bkl, bln))
    yield Program(
        "attention",
        lambda q, k, v: tw.softmax(q @ turned(k) * 0.125, axis=-1) @ v,
        lambda q, k, v: softmax(q @ turned(k) * 0.125) @ v,
        (bmk, blk, bln),
    )
    yield Program("causal", causal, lambda q, k, v: softmax(below(q @ turned(k) * 0.125)) @ v, (bmk, bmk, (b, m, n)))
    yield Program(
        "mlp gelu",
        lambda x, w, c, v, e: tw.gelu(x @ w + c) @ v + e,
        lambda x, w, c, v, e: gelu(x @ w + c) @ v + e,
        ((m, k), (k, keys), (keys,), (keys, n), (n,)),
    )
    yield from _grouped(b, m, k, draw(1, 3), draw(1, 3))


def _grouped(b: int, m: int, k: int, heads: int, groups: int) -> Iterator[Program]:
    def function(q: Any, keys: Any, values: Any) -> Any:
        return tw.scaled_dot_product_attention(q, keys, values, is_causal=True, enable_gqa=True)

    def reference(q: Array, keys: Array, values: Array) -> Array:
        keys, values = np.repeat(keys, groups, 1), np.repeat(values, groups, 1)
        return softmax(below(q @ turned(keys) / np.sqrt(k))) @ values

    yield Program("causal gqa", function, reference, ((b, heads * groups, m, k), (b, heads, m, k), (b, heads, m, k)))


def _convolutions(draw: Callable[..., int]) -> Iterator[Program]:
    side, stride = (1, 3, 3)[draw(0, 3)], draw(1, 3)
    padding = side // 3 if draw(0, 4) else 0
    b, channels, first, second, height, width = draw(1, 4), draw(2, 24), draw(2, 40), draw(2, 40), draw(5, 14), draw(5, 14)
    image, filters = (b, channels, height, width), (first, channels, side, side)

    def one(x: Any, w: Any) -> Any:
        return tw.conv2d(x, w, stride=stride, padding=padding)

    yield Program("conv", one, lambda x, w: convolved(x, w, stride, padding), (image, filters))
    yield Program(
        "conv chain",
        lambda x, w, v: tw.conv2d(tw.relu(one(x, w)), v),
        lambda x, w, v: convolved(np.maximum(convolved(x, w, stride, padding), 0), v, 1, 0),
        (image, filters, (second, first, 1, 1)),
    )
    yield Program(
        "windows behind",
        lambda x, w, v: tw.conv2d(tw.relu(tw.conv2d(x, w)), v, padding=padding),
        lambda x, w, v: convolved(np.maximum(convolved(x, w, 1, 0), 0), v, 1, padding),
        (image, (first, channels, 1, 1), (second, first, side, side)),
    )


KINDS = ("gemm", "gemm bias relu", "softmax", "bfloat16", "tf32", "int8", "gemm chain", "attention", "causal", "mlp gelu")
KINDS += ("causal gqa", "conv", "conv chain", "windows behind")


def programs(seed: int) -> dict[str, Program]:
    """A program of every kind, by kind."""
    draw = extents(np.random.default_rng(seed))
    found = {one.kind: one for family in (_matrices, _chains, _convolutions) for one in family(draw)}
    assert found.keys() == set(KINDS)
    return found
