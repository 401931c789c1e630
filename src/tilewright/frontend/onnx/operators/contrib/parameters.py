"""Scales and zero points of quantised operands: what is wrong with them, what bytes stand for by them, and bytes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.operators.quantization.parameters import check_scale_values, check_zero_type
from tilewright.frontend.onnx.operators.quantization.quantize_linear import lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""


def check_operand(
    where: str,
    operand: str,
    dtype: Any,
    scale: Any,
    zero: Any,
    *,
    columns: Any = None,
    divides: bool = False,
    known: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Raise `InvalidModel` for a scale or a zero point that an operand of this type cannot have.

    Both are numbers, or vectors with one for each of `columns` columns, where that is given. They are arrays, or tensors, of
    which the values are in `known`, as far as they are constants. `zero` is None where it is left out. Results are what numbers
    are divided for.

    >>> check_operand("QLinearAdd", "A", np.uint8, np.float32(0.5), np.uint8(3))
    >>> check_operand("QLinearAdd", "C", np.uint8, np.float32(0), None, divides=True)
    Traceback (most recent call last):
    ...
    tilewright.errors.InvalidModel: the scale of C is 0.0
      where: QLinearAdd
      why: a scale is positive and finite: numbers are divided by it
      hint: quantise the model again; tools write such scales for ranges that they have not seen
    """
    if np.dtype(dtype).name not in BYTES:
        why = "quantised operands are of uint8 or int8"
        raise InvalidModel(f"{operand} is of {np.dtype(dtype).name}", where=where, why=why)
    check_zero_type(zero, np.empty(0, dtype), operand, where)
    _check_scale(where, operand, scale, known or {}, divides=divides)
    for role, parameter in (("scale", scale), ("zero point", zero)):
        if parameter is not None:
            _check_length(where, operand, role, parameter.shape, columns)


def _check_scale(where: str, operand: str, scale: Any, known: Mapping[str, np.ndarray], *, divides: bool) -> None:
    if np.dtype(scale.dtype).name != "float32":
        text = f"the scale of {operand} is of {np.dtype(scale.dtype).name}"
        raise InvalidModel(text, where=where, why="scales are of float32 here", hint="convert it")
    values = known.get(scale.name) if isinstance(scale, Tensor) else scale
    if values is not None:
        check_scale_values(values, operand, divides=divides, where=where)


def _check_length(where: str, operand: str, role: str, shape: Any, columns: Any) -> None:
    if tuple(shape) in ((), (1,)) or (columns is not None and tuple(shape) == (columns,)):
        return
    wanted = "one number" if columns is None else f"one number, or one for each of the {columns} columns"
    text = f"the {role} of {operand} has the shape {shape_text(shape)}"
    raise InvalidModel(text, where=where, why=f"it is {wanted}", hint="quantise the model again, per tensor")


def dequantised(x: Any, scale: Any, zero: Any) -> Any:
    """What bytes stand for, in float32."""
    steps = x.astype(np.float32) - (0 if zero is None else zero.reshape(()).astype(np.float32))
    return steps * scale.reshape(())


def requantised(values: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """Numbers of float32 as bytes."""
    return quantized(values / scale.reshape(()), np.zeros((), dtype) if zero is None else zero.reshape(()))


def lowered_dequantised(
    builder: Builder, x: Tensor, scale: Tensor, zero: Tensor | None, first: int
) -> tuple[Scalar, tuple[Tensor, ...]]:
    """What bytes stand for, as an expression of the operands that it reads, the first of which has the number `first`."""
    operands = [x, builder.reshape(scale, ())]
    steps: Scalar = Load(first)
    if zero is not None:
        steps = apply("subtract", steps, Load(first + 2))
        operands.append(builder.reshape(zero, ()))
    return apply("multiply", steps, Load(first + 1)), tuple(operands)


def lowered_requantised(
    builder: Builder, value: Scalar, operands: Sequence[Tensor], scale: Tensor, zero: Tensor | None, dtype: str
) -> Tensor:
    """An expression of operands as bytes: one map."""
    steps = apply("divide", value, Load(len(operands)))
    shift: Tensor | float = 0.0 if zero is None else builder.reshape(zero, ())
    return lowered_quantized(builder, steps, (*operands, builder.reshape(scale, ())), shift, dtype)
