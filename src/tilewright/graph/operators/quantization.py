"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: numbers as multiples of a scale, counted from a zero point.

Source: the ONNX operator schemas, opsets 10 to 28. Scale and zero point are of the tensor, of every index along an axis, or of
every block of `block_size` elements along it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import element_type
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Extent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder, Operand

SMALL = ("int8", "uint8", "int16", "uint16")
"""Types whose values all are float32 values, in which generated code computes them."""


def quantize(
    x: Any,
    y_scale: Any,
    y_zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Any:
    """x / scale rounded to even, plus the zero point, within the range of the type of that (uint8 if nothing says which)."""
    if y_zero_point is None:
        y_zero_point = np.zeros((), element_type(output_dtype or 2))
    scale, zero = (_spread(one, x.shape, axis, block_size) for one in (y_scale, y_zero_point))
    chosen = np.float32 if not precision else widened(np.zeros((), element_type(precision))).dtype
    with np.errstate(all="ignore"):
        return quantized(x.astype(chosen) / scale.astype(chosen), zero, saturate=bool(saturate))


def quantized(values: Any, zero: Any, *, saturate: bool = True) -> Any:
    """Multiples of a scale in the type of a zero point: integers rounded to even within their range, short floats to the nearest.

    Floats beyond the largest become that, or without `saturate` whatever their conversion gives (NaN or infinity).
    """
    limits = _limits(zero.dtype)
    if zero.dtype.name.startswith("float"):
        bounded = np.clip(values, *limits) if saturate else values
        return np.asarray(bounded).astype(zero.dtype)
    with np.errstate(all="ignore"):
        return np.clip(np.rint(values) + zero.astype(np.float64), *limits).astype(np.int64).astype(zero.dtype)


def _limits(dtype: Any) -> tuple[float, float]:
    limits: Any = ml_dtypes.finfo if dtype.name.startswith("float") else ml_dtypes.iinfo
    found = limits(dtype)
    return float(found.min), float(found.max)


def dequantize(
    x: Any, x_scale: Any, x_zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    """(x - zero point) scale, in the type of the scale or the one that is asked for."""
    target = element_type(output_dtype) if output_dtype else x_scale.dtype
    scale = _spread(x_scale, x.shape, axis, block_size)
    steps = x.astype(np.float64 if x.dtype.name == "int32" else np.float32)
    if x_zero_point is not None:
        steps = steps - _spread(x_zero_point, x.shape, axis, block_size).astype(np.float32)
    return np.asarray(steps.astype(np.float32) * scale.astype(np.float32)).astype(target)


def _spread(parameter: Any, shape: tuple[int, ...], axis: int, block_size: int) -> Any:
    """A scale or zero point so that it broadcasts to the shape. Raises `ShapeError` where it does not fit."""
    if parameter.size == 1 and parameter.ndim <= 1:
        return parameter.reshape(())
    along = normalize_axis(axis, len(shape), "axis of quantisation")
    if block_size:
        parameter = np.repeat(parameter, block_size, axis=along)
        parameter = parameter[tuple(slice(shape[along]) if d == along else slice(None) for d in range(parameter.ndim))]
        fits = parameter.shape == shape
    else:
        fits = parameter.shape == (shape[along],)
    if not fits:
        text = f"scales or zero points of shape {shape_text(parameter.shape)} for an array of {shape_text(shape)}"
        raise ShapeError(text, where="quantisation", why=f"there is one for every index or block along axis {along}")
    return parameter if block_size else parameter.reshape([-1 if d == along else 1 for d in range(len(shape))])


def dynamic_quantize(x: Any) -> Any:
    """x as uint8, and the scale and zero point that its range (with 0 in it) takes."""
    low, high = np.minimum(x.min(initial=0), 0), np.maximum(x.max(initial=0), 0)
    scale = np.asarray((high - low) / np.float32(255), np.float32)
    with np.errstate(all="ignore"):
        zero = np.clip(np.rint(-low / scale), 0, 255) if scale else np.float32(0)
        zero = np.asarray(zero).astype(np.uint8)
        steps = x / scale if scale else np.zeros_like(x)
    return quantized(steps, zero), scale, zero


def lower_quantize(
    builder: Builder,
    x: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Tensor:
    """Two maps: whole numbers as float32, and these as small integers."""
    target = element_type(output_dtype or 2).name if y_zero_point is None else y_zero_point.dtype
    if target not in SMALL or {x.dtype, y_scale.dtype} != {"float32"} or block_size or precision not in (0, 1):
        raise UnsupportedOperation(f"QuantizeLinear of {x.dtype} to {target}, or in blocks, has no lowering")
    steps = builder.map("divide", x, _lowered_spread(builder, y_scale, x, axis))
    zero: Operand = 0.0 if y_zero_point is None else _lowered_spread(builder, y_zero_point, x, axis)
    return lower_quantized(builder, steps, zero, target)


def lower_quantized(builder: Builder, steps: Tensor, zero: Operand, target: str) -> Tensor:
    """Multiples of a scale as a small integer type: rounded to even, counted from the zero point, within its range."""
    low, high = _limits(np.dtype(target))
    shifted = apply("add", apply("round", Load(0)), Load(1))
    bounded: Scalar = apply("minimum", apply("maximum", shifted, Literal(low)), Literal(high))
    return builder.cast(builder.body(bounded, steps, zero, dtype="float32", kind="quantize"), target)


def lower_dequantize(
    builder: Builder,
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    """One map."""
    if x.dtype not in SMALL or x_scale.dtype != "float32" or block_size or output_dtype not in (0, 1):
        raise UnsupportedOperation(f"DequantizeLinear of {x.dtype}, or in blocks, has no lowering")
    scale = _lowered_spread(builder, x_scale, x, axis)
    zero: Operand = 0.0 if x_zero_point is None else _lowered_spread(builder, x_zero_point, x, axis)
    steps = apply("subtract", Load(0), Load(2)) if isinstance(zero, Tensor) else Load(0)
    return builder.body(apply("multiply", steps, Load(1)), x, scale, zero, dtype="float32", kind="dequantize")


def _lowered_spread(builder: Builder, parameter: Tensor, x: Tensor, axis: int) -> Tensor:
    """A scale or zero point of the tensor, or along an axis, so that it broadcasts to x."""
    if parameter.shape in ((), (1,)):
        return builder.reshape(parameter, ())
    along = normalize_axis(axis, len(x.shape), "axis of quantisation")
    if parameter.shape != (x.shape[along],):
        raise ShapeError(f"scales or zero points of {shape_text(parameter.shape)} along axis {along} of {shape_text(x.shape)}")
    shape: list[Extent] = [extent if d == along else 1 for d, extent in enumerate(x.shape)]
    return builder.reshape(parameter, shape)


def lower_dynamic_quantize(builder: Builder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The extremes as reductions, and maps of these."""
    low, high = (builder.map(f"{function}imum", builder.reduce(function, x), 0.0) for function in ("min", "max"))
    scale = builder.body(apply("divide", apply("subtract", Load(0), Load(1)), Literal(255.0)), high, low, kind="scale")
    is_flat = apply("equal", Load(1), Literal(0.0))
    share = apply("where", is_flat, Literal(0.0), apply("divide", Load(0), Load(1)))
    zero = lower_quantized(builder, builder.map("negative", builder.body(share, low, scale, kind="share")), 0.0, "uint8")
    return lower_quantized(builder, builder.body(share, x, scale, kind="share"), zero, "uint8"), scale, zero


define("QuantizeLinear", quantize, lower_quantize, since=10)
define("DequantizeLinear", dequantize, lower_dequantize, since=10)
define("DynamicQuantizeLinear", dynamic_quantize, lower_dynamic_quantize, since=11)
