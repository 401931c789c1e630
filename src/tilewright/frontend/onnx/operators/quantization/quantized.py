"""Quantized numbers: multiples of a scale, counted from a zero point, of the tensor, of an axis, or of blocks along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders.builder import Builder, Operand
from tilewright.graph.builders.repeat import repeat
from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Extent, Tensor

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
        text = f"scales or zero points of shape {shape_text(parameter.shape)} for an array of {shape_text(shape)}"
        raise ShapeError(text, where="quantisation", why=f"there is one for every index or block along axis {along}")
    return parameter if block_size else parameter.reshape([-1 if d == along else 1 for d in range(len(shape))])


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
        text = f"scales or zero points of shape {shape_text(parameter.shape)} for an array of {shape_text(x.shape)}"
        raise ShapeError(text, where="quantisation", why=f"there is one for every index along axis {along}")
    shape: list[Extent] = [extent if d == along else 1 for d, extent in enumerate(x.shape)]
    return builder.reshape(parameter, shape)


def _lowered_blocks(builder: Builder, parameter: Tensor, x: Tensor, along: int, block_size: int) -> Tensor:
    """The parameter of its block for every element of x."""
    extent = x.shape[along]
    if not isinstance(extent, int):
        raise UnsupportedOperation(f"blocks along {extent} elements, which are known at run time, have no lowering")
    wanted = (*x.shape[:along], -(-extent // block_size), *x.shape[along + 1 :])
    if parameter.shape != wanted:
        text = f"scales or zero points of shape {shape_text(parameter.shape)} for an array of {shape_text(x.shape)}"
        raise ShapeError(text, where="quantisation", why=f"there is one for every {block_size} along axis {along}")
    return builder.record(repeat, parameter, along, block_size, extent, kind="repeat")
