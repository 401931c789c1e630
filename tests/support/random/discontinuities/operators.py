"""The ONNX operators of programs: what they compute in NumPy, rounded once each, and in traced functions that have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from onnx import helper

import tilewright as tw

ROUNDED, SUM, MOVE, JUMP, SMOOTH = "rounded", "sum", "move", "jump", "smooth"
"""Kinds: rounded element by element; exact if its sums are; hands values on; discontinuous; with an error in last places."""


@dataclass(frozen=True)
class Operator:
    """`numpy` and `traced` take the operands, and the attributes by name."""

    kind: str
    numpy: Callable[..., Any]
    traced: Callable[..., Any] | None = None


def _single(value: Any) -> np.float32:
    return np.float32(value)


def _leaky(x: Any, *, alpha: float) -> Any:
    return np.where(x < 0, x * _single(alpha), x)


def _hard_sigmoid(x: Any, *, alpha: float, beta: float) -> Any:
    return np.clip(x * _single(alpha) + _single(beta), np.float32(0), np.float32(1))


def _shrink(x: Any, *, bias: float, lambd: float) -> Any:
    shift, limit = _single(bias), _single(lambd)
    return np.where(x < -limit, x + shift, np.where(x > limit, x - shift, np.float32(0)))


def _cast(x: Any, *, to: int) -> Any:
    return np.asarray(x).astype(helper.tensor_dtype_to_np_dtype(to))


def _quantized(x: Any, scale: Any, zero: Any) -> Any:
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero.astype(np.float64), limits.min, limits.max).astype(zero.dtype)


def _dequantized(x: Any, scale: Any, zero: Any) -> Any:
    return (x.astype(np.float32) - zero.astype(np.float32)) * scale


def _convolved(x: Any, w: Any, bias: Any = 0, *, pads: Any = None, group: int = 1) -> Any:
    """Of stride 1."""
    begin = 0 if pads is None else pads[0]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (begin, begin), (begin, begin)))
    rows, columns = (padded.shape[d] - w.shape[d] + 1 for d in (2, 3))
    each, per = x.shape[1] // group, w.shape[0] // group
    y = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for g, i, j in product(range(group), range(w.shape[2]), range(w.shape[3])):
        part = padded[:, g * each : (g + 1) * each, i : i + rows, j : j + columns]
        y[:, g * per : (g + 1) * per] += np.einsum("nchw,oc->nohw", part, w[g * per : (g + 1) * per, :, i, j].astype(np.float64))
    return (y + np.reshape(bias, (-1, 1, 1))).astype(np.float32)


def _windows(x: Any, kernel: Any, strides: Any, pads: Any, otherwise: float) -> Any:
    top, left = pads[0], pads[1]
    padded = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)), constant_values=otherwise)
    view = np.lib.stride_tricks.sliding_window_view(padded, tuple(kernel), (2, 3))
    return view[:, :, :: strides[0], :: strides[1]]


def _average(x: Any, *, kernel_shape: Any, strides: Any, pads: Any, count_include_pad: int = 0) -> Any:
    sums = _windows(x, kernel_shape, strides, pads, 0).sum(axis=(-2, -1), dtype=np.float64)
    ones = _windows(np.ones_like(x), kernel_shape, strides, pads, count_include_pad).sum(axis=(-2, -1), dtype=np.float64)
    return sums.astype(np.float32) / ones.astype(np.float32)


def _largest(x: Any, *, kernel_shape: Any, strides: Any, pads: Any) -> Any:
    return _windows(x, kernel_shape, strides, pads, -np.inf).max(axis=(-2, -1))


def _reduced(function: str) -> Callable[..., Any]:
    def reduce(x: Any, axes: Any, *, keepdims: int) -> Any:
        over = tuple(map(int, axes))
        total = getattr(np, function)(x.astype(np.float64), axis=over, keepdims=bool(keepdims))
        return np.asarray(total).astype(np.float32)

    return reduce


def _mean(x: Any, axes: Any, *, keepdims: int) -> Any:
    count = np.prod([x.shape[int(axis)] for axis in axes])
    return _reduced("sum")(x, axes, keepdims=keepdims) / np.float32(count)


def _traced_reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, *, keepdims: function(x, axis=tuple(map(int, axes)), keepdims=bool(keepdims))


def _gemm(a: Any, b: Any, c: Any, *, alpha: float, beta: float) -> Any:
    product = (a.astype(np.float64) @ b).astype(np.float32)
    return product * _single(alpha) + c * _single(beta)


def _batch_norm(x: Any, scale: Any, bias: Any, mean: Any, var: Any, *, epsilon: float) -> Any:
    """As onnxruntime rounds it."""
    shape = (-1, *(1,) * (x.ndim - 2))
    factor = (np.float32(1) / np.sqrt(var + _single(epsilon))) * scale
    return x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)


def _slice(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    whole = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        whole[int(axis)] = slice(int(start), None if end < -1000 else int(end), int(step))
    return x[tuple(whole)]


def _one_hot(indices: Any, depth: Any, values: Any) -> Any:
    at = indices[..., None] == np.arange(int(depth))
    return np.where(at, values[1], values[0])


def _scattered(x: Any, indices: Any, updates: Any) -> Any:
    result = x.copy()
    result[indices[..., 0]] = updates
    return result


def _dynamic(x: Any) -> Any:
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = np.float32(high - low) / np.float32(255)
    zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
    return _quantized(x, scale, zero), scale, zero


def _truncated_product(x: Any, y: Any) -> Any:
    return (x.astype(np.float64) @ y).astype(np.float32)


def _compared(function: Callable[..., Any]) -> Operator:
    return Operator(JUMP, function, function)


OPERATORS: Mapping[str, Operator] = {
    "Add": Operator(ROUNDED, np.add, lambda x, y: x + y),
    "Sub": Operator(ROUNDED, np.subtract, lambda x, y: x - y),
    "Mul": Operator(ROUNDED, np.multiply, lambda x, y: x * y),
    "Div": Operator(ROUNDED, np.divide, lambda x, y: x / y),
    "Neg": Operator(MOVE, np.negative, lambda x: -x),
    "Abs": Operator(MOVE, np.abs, tw.abs),
    "Relu": Operator(MOVE, lambda x: np.maximum(x, np.float32(0)), tw.relu),
    "LeakyRelu": Operator(ROUNDED, _leaky, lambda x, alpha: tw.where(x < 0, x * float(_single(alpha)), x)),
    "PRelu": Operator(ROUNDED, lambda x, s: np.where(x < 0, x * s, x), lambda x, s: tw.where(x < 0, x * s, x)),
    "HardSigmoid": Operator(ROUNDED, _hard_sigmoid),
    "HardSwish": Operator(ROUNDED, lambda x: x * _hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
    "Softsign": Operator(ROUNDED, lambda x: x / (np.float32(1) + np.abs(x)), lambda x: x / (1.0 + tw.abs(x))),
    "Clip": Operator(MOVE, lambda x, low, high: np.clip(x, low, high), tw.clip),
    "Max": Operator(MOVE, np.maximum, tw.maximum),
    "Min": Operator(MOVE, np.minimum, tw.minimum),
    "Reciprocal": Operator(ROUNDED, lambda x: np.float32(1) / x, tw.reciprocal),
    "Sqrt": Operator(ROUNDED, np.sqrt, tw.sqrt),
    "Tanh": Operator(SMOOTH, np.tanh, tw.tanh),
    "Sigmoid": Operator(SMOOTH, lambda x: (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32), tw.sigmoid),
    "Where": Operator(MOVE, np.where, tw.where),
    "BatchNormalization": Operator(ROUNDED, _batch_norm),
    "ReduceSum": Operator(SUM, _reduced("sum"), _traced_reduction(tw.sum)),
    "ReduceMean": Operator(SUM, _mean, _traced_reduction(tw.mean)),
    "ReduceMax": Operator(MOVE, _reduced("max"), _traced_reduction(tw.max)),
    "ReduceMin": Operator(MOVE, _reduced("min"), _traced_reduction(tw.min)),
    "AveragePool": Operator(SUM, _average),
    "GlobalAveragePool": Operator(SUM, lambda x: _mean(x, (2, 3), keepdims=1), tw.global_avg_pool),
    "MaxPool": Operator(MOVE, _largest),
    "MatMul": Operator(SUM, _truncated_product, lambda x, y: x @ y),
    "Gemm": Operator(SUM, _gemm),
    "Conv": Operator(SUM, _convolved),
    "Transpose": Operator(MOVE, lambda x, perm: x.transpose(perm), lambda x, perm: x.transpose(tuple(perm))),
    "Reshape": Operator(MOVE, lambda x, s: x.reshape(tuple(map(int, s))), lambda x, s: x.reshape(tuple(map(int, s)))),
    "Slice": Operator(MOVE, _slice, _slice),
    "Concat": Operator(MOVE, lambda *xs, axis: np.concatenate(xs, axis)),
    "Gather": Operator(MOVE, lambda x, i, axis: np.take(x, i, axis)),
    "Expand": Operator(
        MOVE, lambda x, s: np.broadcast_to(x, tuple(map(int, s))), lambda x, s: tw.broadcast_to(x, tuple(map(int, s)))
    ),
    "Floor": Operator(JUMP, np.floor, tw.floor),
    "Ceil": Operator(JUMP, np.ceil, lambda x: -tw.floor(-x)),
    "Round": Operator(JUMP, np.rint),
    "Sign": Operator(JUMP, np.sign),
    "Mod": Operator(JUMP, lambda x, y, fmod: np.fmod(x, y)),
    "FloorDivide": Operator(JUMP, np.floor_divide, lambda x, y: x // y),
    "Remainder": Operator(JUMP, np.remainder, lambda x, y: x % y),
    "ThresholdedRelu": Operator(JUMP, lambda x, alpha: np.where(x > _single(alpha), x, np.float32(0))),
    "Shrink": Operator(JUMP, _shrink),
    "Less": _compared(lambda x, y: x < y),
    "LessOrEqual": _compared(lambda x, y: x <= y),
    "Greater": _compared(lambda x, y: x > y),
    "GreaterOrEqual": _compared(lambda x, y: x >= y),
    "Equal": _compared(lambda x, y: x == y),
    "Not": Operator(MOVE, np.logical_not, tw.logical_not),
    "Cast": Operator(JUMP, _cast),
    "QuantizeLinear": Operator(JUMP, _quantized),
    "DequantizeLinear": Operator(ROUNDED, _dequantized),
    "DynamicQuantizeLinear": Operator(JUMP, _dynamic),
    "OneHot": Operator(MOVE, _one_hot),
    "ScatterND": Operator(MOVE, _scattered),
}
"""`FloorDivide` and `Remainder` are none of ONNX's: traced functions alone have them."""
ONLY_TRACED = ("FloorDivide", "Remainder")
