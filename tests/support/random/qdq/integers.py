"""Layers of integers: QLinearMatMul, QLinearConv, MatMulInteger and ConvInteger on bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.random.qdq.growing import BYTES, Growing
from tests.support.random.qdq.layers import _attributes, _windows, ended
from tests.support.random.qdq.program import Quantised
from tests.support.random.qdq.reals import Linear, Reals, exactly, linear, quantised, rounded


def _weights(g: Growing, shape: tuple[int, ...], axis: int, *, by_axis: bool) -> tuple[Any, Any]:
    """Bytes and their zero points, of all or of every channel."""
    dtype = g.choose(BYTES)
    zeros = np.array([g.zero(dtype) for _ in range(shape[axis] if by_axis else 1)], dtype)
    return g.bytes(shape, dtype), zeros if by_axis else zeros[0]


def _scales(g: Growing, channels: int, fan: int, *, by_axis: bool) -> Any:
    scales = np.array([g.scale(1 / (128 * np.sqrt(fan))) for _ in range(channels if by_axis else 1)], np.float32)
    return scales if by_axis else scales[0]


def _sums(function: Linear, x: Quantised, steps: Any, zero: Any) -> Reals:
    """Exact sums of (x - its zero point)(steps - zero)."""
    left = x.steps.moved(lambda one: one - x.zero)
    return linear(function, left, exactly(steps.astype(np.float64) - zero, 1.0))


def _requantised(g: Growing, x: Quantised, sums: Reals, factor: Any) -> tuple[Reals, float, int, str]:
    """Sums times a factor as bytes, with the scale, the zero point and the type that they take."""
    factor = np.asarray(factor, np.float64)
    low, high = sums.low * factor, sums.high * factor
    unit = float(factor.min()) if g.has_exact_scales else 0.0
    value = rounded(Reals(low, high, unit), np.maximum(np.abs(low), np.abs(high)), 1)
    largest = float(np.max(np.abs(value.middle), initial=0.0)) or 1.0
    scale, dtype = g.scale(largest / 127), g.choose(BYTES)
    zero = g.zero(dtype)
    return quantised(value, scale, zero, dtype), scale, zero, dtype


def _integer_node(
    g: Growing, op_type: str, x: Quantised, operands: tuple[Any, Any, Any, Any], function: Linear, **more: Any
) -> None:
    """QLinearMatMul or QLinearConv: operands are steps, their scales, their zero points as they broadcast, and a bias."""
    steps, scale, zero, bias = operands
    channel = (-1, *(1,) * (steps.ndim - 1)) if op_type == "QLinearConv" else (-1,)
    of_sums = (-1, *(1,) * (steps.ndim - 2)) if op_type == "QLinearConv" else (-1,)
    sums = _sums(function, x, steps, zero.astype(np.float64).reshape(channel) if zero.ndim else float(zero))
    if bias is not None:
        sums = sums.moved(lambda one: one + bias.reshape(of_sums))
    factor = x.scale * scale.astype(np.float64).reshape(of_sums if scale.ndim else ())
    result, y_scale, y_zero, dtype = _requantised(g, x, sums, factor)
    parameters = (
        np.float32(x.scale),
        np.array(x.zero, x.dtype),
        steps,
        scale,
        zero,
        np.float32(y_scale),
        np.array(y_zero, dtype),
    )
    names = [g.constant(one) for one in (*parameters, *(() if bias is None else (bias,)))]
    made = g.node(op_type, x.name, *names, **more)
    g.values.append(Quantised(made, result, dtype, y_scale, y_zero))


def qlinear_matmul(g: Growing) -> None:
    x = g.pick(2, 3)
    depth, width = x.shape[-1], g.choose([1, 3, 8, 17, 32])
    steps, zero = _weights(g, (depth, width), 1, by_axis=False)
    scale = _scales(g, width, depth, by_axis=False)
    _integer_node(g, "QLinearMatMul", x, (steps, scale, zero, None), np.matmul)


def qlinear_conv(g: Growing) -> None:
    x, steps, zero, windows, groups = _filters(g, by_axis=g.chance(0.5))
    scale = _scales(g, len(steps), steps[0].size, by_axis=bool(zero.ndim))
    bias = g.rng.integers(-3000, 3000, len(steps), dtype=np.int32) if g.chance(0.5) else None
    more = _attributes(windows) | {"dilations": list(windows.dilations), "group": groups}
    _integer_node(g, "QLinearConv", x, (steps, scale, zero, bias), windows.convolution(groups), **more)


def _filters(g: Growing, *, by_axis: bool) -> tuple[Quantised, Any, Any, Any, int]:
    x = g.pick(4)
    channels = x.shape[1]
    groups = g.choose([1, 1, channels])
    windows = _windows(g, x.shape, 3)
    shape = (groups * g.choose([1, 2, 9]), channels // groups, *windows.sizes)
    steps, zero = _weights(g, shape, 0, by_axis=by_axis)
    return x, steps, zero, windows, groups


def integer_product(g: Growing) -> None:
    """MatMulInteger or ConvInteger, converted and scaled."""
    if g.chance(0.5):
        x = g.pick(2, 3)
        steps, zero = _weights(g, (x.shape[-1], g.choose([1, 5, 16, 19])), 1, by_axis=False)
        sums = _sums(np.matmul, x, steps, float(zero))
        name = g.node("MatMulInteger", x.name, *map(g.constant, (steps, np.array(x.zero, x.dtype), zero)))
    else:
        x, steps, zero, windows, groups = _filters(g, by_axis=False)
        sums = _sums(windows.convolution(groups), x, steps, float(zero))
        more = _attributes(windows) | {"dilations": list(windows.dilations), "group": groups}
        name = g.node("ConvInteger", x.name, *map(g.constant, (steps, np.array(x.zero, x.dtype), zero)), **more)
    factor = g.scale(x.scale / 1000)
    scaled = g.node("Mul", g.node("Cast", name, to=1), g.constant(np.float32(factor)))
    unit = factor if g.has_exact_scales else 0.0
    low, high = sums.low * factor, sums.high * factor
    ended(g, scaled, rounded(Reals(low, high, unit), np.maximum(np.abs(low), np.abs(high)), 2))


INTEGER_LAYERS = ((qlinear_matmul, 2), (qlinear_conv, 3), (integer_product, 2))
