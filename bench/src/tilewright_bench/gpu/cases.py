"""The cases: Chimera's Tables IV and V, causal attention with grouped heads, an MLP, a product; operands of float16.

Each is written three times: with `tw`, with PyTorch's tensors, and in NumPy for float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf, sqrt
from typing import Any, TypeAlias

import numpy as np

import tilewright as tw
from tilewright.tune.shapes import TABLE_IV, TABLE_V, ConvChainShape, Shape
from tilewright_bench.gpu import paper

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Function: TypeAlias = Callable[..., Any]
HALF = "float16"
SCALE = 0.125
"""Of scores: of heads of 64 elements 1 / sqrt(64)."""


@dataclass(frozen=True, slots=True)
class GpuCase:
    """A function of arrays of these shapes."""

    name: str
    group: str
    """One of `paper.GROUPS`."""
    function: Function
    eager: Function
    """Of PyTorch's tensors."""
    reference: Function
    """Of arrays of float64."""
    shapes: tuple[Shape, ...]

    def arguments(self, seed: int = 0) -> tuple[Array, ...]:
        """Normal numbers in float16; weights and filters scaled so that results are about as large as the first operand."""
        random = np.random.default_rng(seed)
        scales = (1.0, *(_scale(shape) for shape in self.shapes[1:]))
        return tuple(
            (scale * random.standard_normal(shape)).astype(HALF) for scale, shape in zip(scales, self.shapes, strict=True)
        )

    def expected(self, arguments: tuple[Array, ...]) -> Array:
        """In float64."""
        result: Array = self.reference(*(x.astype(np.float64) for x in arguments))
        return result


def _scale(shape: Shape) -> float:
    """Of matrices of weights 1 / sqrt(rows), of filters 1 / sqrt(elements of one); 1 of everything else."""
    if len(shape) == 2:
        return float(shape[0] ** -0.5)
    return float(np.prod(shape[1:]) ** -0.5) if len(shape) == 4 and shape[2] == shape[3] else 1.0


def all_cases() -> Iterator[GpuCase]:
    """In the order in which they are measured."""
    for shape in TABLE_IV:
        yield gemm_chain(shape.name, shape.operands)
    for shape in TABLE_IV:
        yield softmax_chain(f"{shape.name} softmax", shape.operands)
    for chain in TABLE_V:
        yield conv_chain(chain, with_relu=False)
    for chain in TABLE_V:
        yield conv_chain(chain, with_relu=True)
    yield causal_attention("causal GQA", 32, 8, 2048, 128)
    yield mlp("MLP", 16384, 128, 512)
    yield GpuCase("GEMM 4096", paper.OTHERS, _product, _product, _product, ((4096, 4096), (4096, 4096)))


def gemm_chain(name: str, shapes: tuple[Shape, ...]) -> GpuCase:
    """(a b) d."""
    return GpuCase(name, paper.CHAINS, _chain, _chain, _chain, shapes)


def softmax_chain(name: str, shapes: tuple[Shape, ...]) -> GpuCase:
    """softmax(q k / 8) v."""
    return GpuCase(
        name,
        paper.SOFTMAX,
        lambda q, k, v: tw.softmax(q @ k * SCALE, axis=-1) @ v,
        lambda q, k, v: (q @ k * SCALE).softmax(-1) @ v,
        lambda q, k, v: _softmax(q @ k * SCALE) @ v,
        shapes,
    )


def conv_chain(shape: ConvChainShape, *, with_relu: bool) -> GpuCase:
    """Two convolutions of an image, with or without ReLU in between."""
    (stride, stride_2), (padding, padding_2) = shape.strides, shape.paddings

    def function(x: Any, first: Any, second: Any) -> Any:
        middle = tw.conv2d(x, first, stride=stride, padding=padding)
        return tw.conv2d(tw.relu(middle) if with_relu else middle, second, stride=stride_2, padding=padding_2)

    def eager(x: Any, first: Any, second: Any) -> Any:
        from torch.nn.functional import conv2d

        middle = conv2d(x, first, stride=stride, padding=padding)
        return conv2d(middle.relu() if with_relu else middle, second, stride=stride_2, padding=padding_2)

    def reference(x: Array, first: Array, second: Array) -> Array:
        middle = _conv2d(x, first, stride, padding)
        return _conv2d(np.maximum(middle, 0) if with_relu else middle, second, stride_2, padding_2)

    group = paper.CONVOLUTIONS_WITH_RELU if with_relu else paper.CONVOLUTIONS
    name = f"{shape.name} ReLU" if with_relu else shape.name
    return GpuCase(name, group, function, eager, reference, ((1, *shape.image), *shape.filters))


def causal_attention(name: str, heads: int, groups: int, length: int, width: int) -> GpuCase:
    """Attention of `heads` heads of queries to `groups` heads of keys, each query to keys that are not behind it."""

    def eager(q: Any, k: Any, v: Any) -> Any:
        from torch.nn.functional import scaled_dot_product_attention

        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    shapes = ((1, heads, length, width), (1, groups, length, width), (1, groups, length, width))
    return GpuCase(name, paper.OTHERS, _attention, eager, _attention_of_numpy, shapes)


def mlp(name: str, rows: int, width: int, hidden: int) -> GpuCase:
    """gelu(x w1 + b1) w2 + b2."""

    def eager(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        from torch.nn.functional import gelu

        return gelu(x @ w1 + b1) @ w2 + b2

    return GpuCase(
        name,
        paper.OTHERS,
        lambda x, w1, b1, w2, b2: tw.gelu(x @ w1 + b1) @ w2 + b2,
        eager,
        lambda x, w1, b1, w2, b2: _gelu(x @ w1 + b1) @ w2 + b2,
        ((rows, width), (width, hidden), (hidden,), (hidden, width), (width,)),
    )


def _product(a: Any, b: Any) -> Any:
    return a @ b


def _chain(a: Any, b: Any, d: Any) -> Any:
    return (a @ b) @ d


def _attention(q: Any, k: Any, v: Any) -> Any:
    return tw.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def _attention_of_numpy(q: Array, k: Array, v: Array) -> Array:
    """Head by head: scores of all heads together would take gigabytes."""
    heads, groups, length = q.shape[1], k.shape[1], q.shape[2]
    is_seen = np.tril(np.ones((length, k.shape[2]), bool))
    results = []
    for head in range(heads):
        keys, values = k[:, head * groups // heads], v[:, head * groups // heads]
        scores = q[:, head] @ np.swapaxes(keys, -1, -2) / sqrt(q.shape[-1])
        results.append(_softmax(np.where(is_seen, scores, -np.inf)) @ values)
    return np.stack(results, 1)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True)
    return result


def _gelu(x: Array) -> Array:
    of_erf = np.asarray(np.frompyfunc(erf, 1, 1)(x / sqrt(2)), np.float64)
    result: Array = x * (1 + of_erf) / 2
    return result


def _conv2d(x: Array, filters: Array, stride: int, padding: int) -> Array:
    """As a product of windows and filters; images (1, channels, height, width)."""
    results, channels, taps, _ = filters.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (taps, taps), axis=(2, 3))[0, :, ::stride, ::stride]
    height, width = windows.shape[1:3]
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(channels * taps * taps, height * width)
    result: Array = filters.reshape(results, -1) @ columns
    return result.reshape(1, results, height, width)
