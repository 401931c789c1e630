"""Quantised layers: bytes, what they stand for, an operator of that, and bytes again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.random.qdq.growing import Growing, Unfit
from tests.support.random.qdq.program import Quantised
from tests.support.random.qdq.reals import Linear, Reals, dequantised, exactly, linear, rounded, total
from tests.support.random.qdq.windows import Windows

FUNCTION_ROUNDINGS = 16.0
"""Of a sigmoid, in units of the last place of 1."""


def ended(g: Growing, name: str, value: Reals) -> None:
    """Perhaps an activation, and bytes."""
    if g.chance(0.4):
        name, value = activation(g, name, value)
    g.finish(name, value)


def activation(g: Growing, name: str, value: Reals) -> tuple[str, Reals]:
    """A function of every element."""
    match g.choose(["relu", "leaky", "sigmoid", "clip"]):
        case "relu":
            return g.node("Relu", name), value.increasing(lambda x: np.maximum(x, 0), unit=value.unit)
        case "leaky":
            return g.node("LeakyRelu", name, alpha=0.125), value.increasing(
                lambda x: np.where(x < 0, x / 8, x), unit=value.unit / 8
            )
        case "clip":
            bounds = [g.constant(np.float32(bound)) for bound in (-0.5, 0.75)]
            unit = value.unit if value.unit <= 0.25 else 0.0
            return g.node("Clip", name, *bounds), value.increasing(lambda x: np.clip(x, -0.5, 0.75), unit=unit)
    found = value.increasing(lambda x: 1 / (1 + np.exp(-x)))
    return g.node("Sigmoid", name), rounded(found, np.ones(found.shape), FUNCTION_ROUNDINGS)


def with_bias(g: Growing, name: str, value: Reals, columns: int) -> tuple[str, Reals]:
    """A dequantised bias of int32, or one of float32, for the last dimension."""
    scale = g.scale(0.001)
    steps = g.rng.integers(-900, 900, columns, dtype=np.int32)
    if g.chance(0.5):
        bias = g.node("DequantizeLinear", g.constant(steps), g.constant(np.float32(scale)))
    else:
        bias = g.constant(steps.astype(np.float32) * np.float32(scale))
    return g.node("Add", name, bias), total(value, dequantised(exactly(steps, 1.0), scale, 0.0))


def matmul(g: Growing) -> None:
    x = g.pick(2, 3)
    depth, width = x.shape[-1], g.choose([1, 2, 7, 8, 16, 17, 33])
    name, value = g.dequantise(x)
    weight, factors, _ = g.weights((depth, width), 1, depth)
    name, value = g.node("MatMul", name, weight), linear(np.matmul, value, factors)
    if g.chance(0.6):
        name, value = with_bias(g, name, value, width)
    ended(g, name, value)


def gemm(g: Growing) -> None:
    x = g.pick(2)
    depth, width, turned = x.shape[-1], g.choose([1, 3, 8, 24]), g.chance(0.5)
    name, value = g.dequantise(x)
    weight, factors, _ = g.weights((width, depth) if turned else (depth, width), 0 if turned else 1, depth)
    factors = factors.moved(np.transpose) if turned else factors
    attributes, operands = {"transB": int(turned)}, [name, weight]
    value = linear(np.matmul, value, factors)
    if g.chance(0.4):
        attributes |= {"alpha": 0.5}
        value = Reals(value.low / 2, value.high / 2, value.unit / 2)
    if g.chance(0.6):
        scale, steps = g.scale(0.001), g.rng.integers(-900, 900, width, dtype=np.int32)
        operands.append(g.node("DequantizeLinear", g.constant(steps), g.constant(np.float32(scale))))
        value = total(value, dequantised(exactly(steps, 1.0), scale, 0.0))
    ended(g, g.node("Gemm", *operands, **attributes), value)


def product_of_activations(g: Growing) -> None:
    """Scores: x times the transpose of what another activation of it stands for."""
    x = g.pick(2, 3)
    (left, a), (right, b) = g.dequantise(x), g.dequantise(x)
    rank = len(x.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    turned = g.node("Transpose", right, perm=order)
    ended(g, g.node("MatMul", left, turned), linear(np.matmul, a, b.moved(lambda one: one.transpose(order))))


def _windows(g: Growing, shape: tuple[int, ...], largest: int) -> Windows:
    sizes = g.whole(1, largest), g.whole(1, largest)
    pads = [g.whole(0, size // 2) for size in (*sizes, *sizes)]
    found = Windows(sizes, (g.whole(1, 2), g.whole(1, 2)), (g.choose([1, 1, 2]), g.choose([1, 1, 2])), tuple(pads))  # type: ignore[arg-type]
    if not found.fit(shape):
        raise Unfit
    return found


def _attributes(windows: Windows) -> dict[str, list[int]]:
    return {"kernel_shape": list(windows.sizes), "strides": list(windows.strides), "pads": list(windows.pads)}


def conv(g: Growing) -> None:
    x = g.pick(4)
    channels = x.shape[1]
    groups = g.choose([1, 1, channels, *(n for n in range(2, channels) if channels % n == 0)])
    filters = groups * (g.choose([1, 1, 2]) if groups == channels else g.choose([1, 3, 8, 17]))
    windows = _windows(g, x.shape, 3 if g.chance(0.8) else 5)
    shape = (filters, channels // groups, *windows.sizes)
    name, value = g.dequantise(x)
    weight, factors, _ = g.weights(shape, 0, int(np.prod(shape[1:])))
    value = linear(windows.convolution(groups), value, factors)
    operands = [name, weight]
    if g.chance(0.6):
        scale, steps = g.scale(0.001), g.rng.integers(-900, 900, filters, dtype=np.int32)
        operands.append(g.node("DequantizeLinear", g.constant(steps), g.constant(np.float32(scale))))
        value = total(value, dequantised(exactly(steps.reshape(-1, 1, 1), 1.0), scale, 0.0))
    more = {"dilations": list(windows.dilations), "group": groups}
    ended(g, g.node("Conv", *operands, **_attributes(windows), **more), value)


def pool(g: Growing) -> None:
    x = g.pick(4)
    chosen = _windows(g, x.shape, 3)
    windows = Windows(chosen.sizes, chosen.strides, pads=chosen.pads)
    if g.chance(0.3):  # of bytes, whose order is that of what they stand for
        pooled = g.node("MaxPool", x.name, **_attributes(windows))
        ended(g, *_standing(g, pooled, x, x.steps.moved(windows.maximum)))
        return
    name, value = g.dequantise(x)
    match g.choose(["max", "average", "global"]):
        case "max":
            ended(g, g.node("MaxPool", name, **_attributes(windows)), value.moved(windows.maximum))
        case "average":
            counts = windows.of(np.ones((1, 1, *x.shape[2:]))).sum((-2, -1))
            pooled = g.node("AveragePool", name, **_attributes(windows), count_include_pad=0)
            ended(g, pooled, _means(lambda image, one: (windows.of(image) * one).sum((-2, -1)), value, counts))
        case _:
            counts = np.float64(np.prod(x.shape[2:]))
            pooled = g.node("GlobalAveragePool", name)
            ended(g, pooled, _means(lambda image, one: image.sum((2, 3), keepdims=True) * one, value, counts))


def _means(sums: Linear, value: Reals, counts: Any) -> Reals:
    """Sums over counts, or of shares: the count may be divided by before or after the sum."""
    total_of = linear(sums, value, exactly(1.0, 1.0))
    sizes = sums(value.size, np.float64(1.0)) / counts
    return rounded(Reals(total_of.low / counts, total_of.high / counts), sizes, 4)


def _standing(g: Growing, name: str, x: Quantised, steps: Reals) -> tuple[str, Reals]:
    """What bytes with the parameters of x stand for."""
    made = g.node("DequantizeLinear", name, g.constant(np.float32(x.scale)), g.constant(np.array(x.zero, x.dtype)))
    return made, dequantised(steps, x.scale, float(x.zero))


def binary(g: Growing) -> None:
    """A sum or a product of two values, or of one and a constant."""
    x = g.pick()
    name, value = g.dequantise(x)
    peers = [one for one in g.values if one.shape == x.shape]
    if g.chance(0.3):
        shape = (x.shape[1], 1, 1) if len(x.shape) == 4 else x.shape[-1:]
        other, operand, _ = g.weights(shape, 0, 1)
    else:
        other, operand = g.dequantise(g.choose(peers))
    if g.chance(0.5):
        ended(g, g.node("Add", name, other), total(value, operand))
    else:
        ended(g, g.node("Mul", name, other), linear(np.multiply, value, operand))


def concat(g: Growing) -> None:
    x = g.pick(2, 3, 4)
    axis = 1
    peers = [one for one in g.values if one.shape[:axis] + one.shape[axis + 1 :] == x.shape[:axis] + x.shape[axis + 1 :]]
    parts = [g.dequantise(one) for one in (x, g.choose(peers))]
    low, high = (np.concatenate([getattr(value, side) for _, value in parts], axis) for side in ("low", "high"))
    ended(g, g.node("Concat", *(name for name, _ in parts), axis=axis), Reals(low, high, min(value.unit for _, value in parts)))


def function(g: Growing) -> None:
    g.finish(*activation(g, *g.dequantise(g.pick())))


def places(g: Growing) -> None:
    """Bytes in another order, or of another shape, and what they stand for."""
    x = g.pick(3, 4)
    if g.chance(0.5):
        order = [0, *(1 + g.rng.permutation(len(x.shape) - 1)).tolist()]
        moved, steps = g.node("Transpose", x.name, perm=order), x.steps.moved(lambda one: one.transpose(order))
    else:
        moved, steps = g.node("Flatten", x.name, axis=1), x.steps.moved(lambda one: one.reshape(len(one), -1))
    ended(g, *_standing(g, moved, x, steps))


LAYERS = (
    (matmul, 4), (gemm, 2), (product_of_activations, 1), (conv, 6), (pool, 3), (binary, 3), (concat, 2), (function, 1),
    (places, 2),
)  # fmt: skip
