"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: numbers as multiples of a scale, counted from a zero point.

Scales and zero points are of the tensor, of an axis, or of blocks along it. Source: the ONNX operator schemas, opsets 10 to 28.

They are checked: a damaged quantised model computes numbers that look like results. Values are known where parameters are
constants, as they nearly always are; those that a call computes are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.operands import Known, known, known_value
from tilewright.graph.builders.builder import Builder, Operand, least_value
from tilewright.graph.builders.elementwise import repeat
from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import Shape, normalize_axis, shape_text
from tilewright.graph.types import Tensor

WIDE = ("float16", "float32", "float64", "int32", "int64", "uint32", "uint64", "bfloat16", "bool")
"""Types that are never a quantised result."""
WHERE = "quantisation"
"""Where a parameter is wrong; sessions add the node."""


def check_zero_type(zero: Any, quantised: Any, what: str, where: str = WHERE) -> None:
    """Raise `InvalidModel` unless a zero point has the type of the numbers that are counted from it; arrays or tensors.

    >>> check_zero_type(np.int8(3), np.ones(4, np.uint8), "x")
    Traceback (most recent call last):
    ...
    tilewright.errors.InvalidModel: the zero point of x is int8, and x is uint8
      where: quantisation
      why: ONNX gives both one type: read as another type, a zero point is off by up to 256
      hint: make the zero point uint8
    """
    if zero is not None and _name(zero) != _name(quantised):
        text = f"the zero point of {what} is {_name(zero)}, and {what} is {_name(quantised)}"
        why = "ONNX gives both one type: read as another type, a zero point is off by up to 256"
        raise InvalidModel(text, where=where, why=why, hint=f"make the zero point {_name(quantised)}")


def check_output_type(zero: Any, declared: str | None, what: str) -> None:
    """Raise `InvalidModel` for a zero point of a type that nothing is quantised to, or of another type than is declared."""
    if zero is not None and _name(zero) in WIDE:
        why, hint = "its type is that of the result, which has 2 to 16 bits", "make the zero point uint8 or int8"
        raise InvalidModel(f"the zero point of {what} is {_name(zero)}", where=WHERE, why=why, hint=hint)
    if zero is not None and declared is not None and _name(zero) != declared:
        hint = "leave it out, or make both the same"
        text = f"the zero point of {what} is {_name(zero)}, and output_dtype is {declared}"
        raise InvalidModel(text, where=WHERE, why="the result has one type", hint=hint)


def check_scale(scale: Any, what: str, known: Known, *, divides: bool, where: str = WHERE) -> None:
    """Raise `InvalidModel` for a scale that is no floating-point number, or a constant one that is no scale.

    No scale is negative, NaN, infinite, or 0 where numbers are divided by it. Numbers multiplied by a scale of 0 are 0: tools
    write it for channels without weights.
    """
    if not _name(scale).startswith(("float", "bfloat")):
        raise InvalidModel(f"the scale of {what} is {_name(scale)}", where=where, why="scales are floating-point numbers")
    found = known_value(scale, known)
    values = np.asarray(() if found is None else found, np.float64)
    is_wrong = ~np.isfinite(values) | (values < 0) | (divides & (values == 0))
    if is_wrong.any():
        place = tuple(map(int, np.argwhere(is_wrong)[0]))
        text = f"the scale of {what}{f' at {list(place)}' if place else ''} is {float(values[place])}"
        why = f"a scale is positive and finite: numbers are {'divided' if divides else 'multiplied'} by it"
        hint = "quantise the model again; tools write such scales for ranges that they have not seen"
        raise InvalidModel(text, where=where, why=why, hint=hint)


def _name(array: Any) -> str:
    """The name of an element type."""
    return str(array.dtype)


SMALL = ("int8", "uint8", "int16", "uint16")
"""Types whose values all are float32 values, in which generated code computes them."""
NUMBERS = ("float32", "float16", "bfloat16")
"""Types of numbers that are quantised, all of which float32 holds, in which maps compute."""
POWERS = "float8_e8m0fnu"
SCALES = frozenset((*NUMBERS, POWERS))
"""Types of their scales."""
STORED = frozenset((*SMALL, *SHORT_TYPES)) - {POWERS}
"""Types of quantised elements that maps in float32 read and write."""


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


def spread(parameter: Any, shape: tuple[int, ...], axis: int, block_size: int) -> Any:
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
        raise _misfit(parameter.shape, shape, f"index or block along axis {along}")
    return parameter if block_size else parameter.reshape([-1 if d == along else 1 for d in range(len(shape))])


def _misfit(parameter: Shape, shape: Shape, each: str) -> ShapeError:
    text = f"scales or zero points of shape {shape_text(parameter)} for an array of {shape_text(shape)}"
    return ShapeError(text, where="quantisation", why=f"there is one for every {each}")


def lowered_quantized(builder: Builder, steps: Scalar, operands: Sequence[Operand], zero: Operand, target: str) -> Tensor:
    """Multiples of a scale as a small integer type: rounded to even, counted from the zero point, within its range.

    `steps` are an expression of the operands, inside the rounding, where passes leave quotients as they are. Short floats are
    rounded where they are stored, and have no zero point.
    """
    low, high = _limits(np.dtype(target))
    if target.startswith("float"):
        bounded = apply("minimum", apply("maximum", steps, Literal(low)), Literal(high))
        return builder.body(bounded, *operands, dtype=target, accumulator="float32", kind="quantize")
    shifted = apply("add", apply("round", steps), Load(len(operands)))
    bounded = apply("minimum", apply("maximum", shifted, Literal(low)), Literal(high))
    return builder.body(bounded, *operands, zero, dtype=target, accumulator="float32", kind="quantize")


def lowered_spread(builder: Builder, parameter: Tensor, x: Tensor, axis: int, block_size: int = 0) -> Tensor:
    """A scale or zero point of the tensor, along an axis, or of blocks along it, so that it broadcasts to x."""
    if parameter.shape in ((), (1,)):
        return builder.reshape(parameter, ())
    along = normalize_axis(axis, len(x.shape), "axis of quantisation")
    if block_size:
        return _lowered_blocks(builder, parameter, x, along, block_size)
    if parameter.shape != (x.shape[along],):
        raise _misfit(parameter.shape, x.shape, f"index along axis {along}")
    return builder.reshape(parameter, (*parameter.shape, *(1,) * (len(x.shape) - along - 1)))


def _lowered_blocks(builder: Builder, parameter: Tensor, x: Tensor, along: int, block_size: int) -> Tensor:
    """The parameter of its block for every element of x."""
    (extent,) = known((x.shape[along],), "blocks along extents")
    wanted = (*x.shape[:along], -(-extent // block_size), *x.shape[along + 1 :])
    if parameter.shape != wanted:
        raise _misfit(parameter.shape, x.shape, f"{block_size} along axis {along}")
    return builder.record(repeat, parameter, along, block_size, extent, kind="repeat")


@onnx_operator("QuantizeLinear", since=10)
class QuantizeLinear:
    """x / scale rounded to even, plus the zero point, within the range of the type of that (uint8 if nothing says which)."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0
    saturate: int = 1

    def reference(self, x: Any, y_scale: Any, y_zero_point: Any = None) -> Any:
        check_output_type(y_zero_point, self._declared(), "y")
        if y_zero_point is None:
            y_zero_point = np.zeros((), element_type(self.output_dtype or 2))
        scale, zero = (spread(parameter, x.shape, self.axis, self.block_size) for parameter in (y_scale, y_zero_point))
        chosen = np.float32 if not self.precision else widened(np.zeros((), element_type(self.precision))).dtype
        with np.errstate(all="ignore"):
            return quantized(x.astype(chosen) / scale.astype(chosen), zero, saturate=bool(self.saturate))

    def lower(self, builder: Builder, x: Tensor, y_scale: Tensor, y_zero_point: Tensor | None = None) -> Tensor:
        """One map in float32, which holds halves."""
        check_output_type(y_zero_point, self._declared(), "y")
        check_scale(y_scale, "y", builder.known, divides=True)
        target = element_type(self.output_dtype or 2).name if y_zero_point is None else y_zero_point.dtype
        is_float = x.dtype in NUMBERS and y_scale.dtype in SCALES
        if target not in STORED or not is_float or self.precision not in (0, 1) or not self.saturate:
            raise UnsupportedOperation(f"QuantizeLinear of {x.dtype} to {target} has no lowering")
        x, y_scale = builder.cast(x, "float32"), builder.cast(y_scale, "float32")
        scale = lowered_spread(builder, y_scale, x, self.axis, self.block_size)
        zero: Operand = 0.0 if y_zero_point is None else lowered_spread(builder, y_zero_point, x, self.axis, self.block_size)
        return lowered_quantized(builder, apply("divide", Load(0), Load(1)), (x, scale), zero, target)

    def _declared(self) -> str | None:
        return element_type(self.output_dtype).name if self.output_dtype else None


@onnx_operator("DequantizeLinear", since=10, unpacks=True)
class DequantizeLinear:
    """(x - zero point) scale, in the type of the scale or the one that is asked for."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0

    def reference(self, x: Any, x_scale: Any, x_zero_point: Any = None) -> Any:
        check_zero_type(x_zero_point, x, "x")
        target = element_type(self.output_dtype) if self.output_dtype else x_scale.dtype
        scale = spread(x_scale, x.shape, self.axis, self.block_size)
        steps = x.astype(np.float64 if x.dtype.name == "int32" else np.float32)
        if x_zero_point is not None:
            steps = steps - spread(x_zero_point, x.shape, self.axis, self.block_size).astype(np.float32)
        return np.asarray(steps.astype(np.float32) * scale.astype(np.float32)).astype(target)

    def lower(self, builder: Builder, x: Tensor, x_scale: Tensor, x_zero_point: Tensor | None = None) -> Tensor:
        """One map in float32, which rounds where it is stored."""
        check_zero_type(x_zero_point, x, "x")
        check_scale(x_scale, "x", builder.known, divides=False)
        target = element_type(self.output_dtype).name if self.output_dtype else x_scale.dtype
        if x.dtype not in STORED or x_scale.dtype not in SCALES or target not in NUMBERS:
            raise UnsupportedOperation(f"DequantizeLinear of {x.dtype} by {x_scale.dtype} to {target} has no lowering")
        scale = lowered_spread(builder, builder.cast(x_scale, "float32"), x, self.axis, self.block_size)
        zero: Operand = 0.0 if x_zero_point is None else lowered_spread(builder, x_zero_point, x, self.axis, self.block_size)
        steps = apply("subtract", Load(0), Load(2)) if isinstance(zero, Tensor) else Load(0)
        product = apply("multiply", steps, Load(1))
        return builder.body(product, x, scale, zero, dtype=target, accumulator="float32", kind="dequantize")


_SHARE = apply("where", apply("equal", Load(1), Literal(0.0)), Literal(0.0), apply("divide", Load(0), Load(1)))
"""A number over a scale; 0 where the scale is."""


@onnx_operator("DynamicQuantizeLinear", since=11)
class DynamicQuantizeLinear:
    """x as uint8, and the scale and zero point that its range (with 0 in it) takes."""

    def reference(self, x: Any) -> Any:
        low, high = np.minimum(x.min(initial=0), 0), np.maximum(x.max(initial=0), 0)
        scale = np.asarray((high - low) / np.float32(255), np.float32)
        with np.errstate(all="ignore"):
            zero = np.clip(np.rint(-low / scale), 0, 255) if scale else np.float32(0)
            zero = np.asarray(zero).astype(np.uint8)
            steps = x / scale if scale else np.zeros_like(x)
        return quantized(steps, zero), scale, zero

    def lower(self, builder: Builder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The extremes as reductions, and maps of these.

        Where no element is negative, the least of all and 0 is 0, and so is the zero point. If elements are NaN, so are the scale
        and the steps, either way.
        """
        high = builder.map("maximum", builder.reduce("max", x), 0.0)
        if least_value(builder, x) >= 0:
            scale = builder.map("divide", high, 255.0)
            zero = builder.constant(np.zeros((), np.uint8), "zero_point")
            return lowered_quantized(builder, _SHARE, (x, scale), zero, "uint8"), scale, zero
        low = builder.map("minimum", builder.reduce("min", x), 0.0)
        scale = builder.body(apply("divide", apply("subtract", Load(0), Load(1)), Literal(255.0)), high, low, kind="scale")
        zero = lowered_quantized(builder, apply("negative", _SHARE), (low, scale), 0.0, "uint8")
        return lowered_quantized(builder, _SHARE, (x, scale), zero, "uint8"), scale, zero
