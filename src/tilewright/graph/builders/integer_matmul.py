"""Matrix products of integers less their zero points, summed in 32 bits, or in 64: one operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.matmul import matmul
from tilewright.graph.index import Index, constant
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Operator, Tensor


def integer_matmul(
    left: Tensor,
    right: Tensor,
    left_zero: Tensor | None = None,
    right_zero: Tensor | None = None,
    *,
    name: str,
    result: str,
    dtype: str = "int32",
) -> tuple[Operator, Tensor]:
    """`(left - left_zero) @ (right - right_zero)` in int32, which wraps, or int64. Zero points broadcast to their operand.

    They are the same along the dimension that is summed: numbers, columns of numbers (..., m, 1) for the rows of `left`, or rows
    of numbers (..., 1, n) for the columns of `right`. Raises `ShapeError` for others, and as `matmul` does.

    >>> a, b, zero = Tensor("a", (2, 3), "uint8"), Tensor("b", (3, 4), "int8"), Tensor("zero", (2, 1), "uint8")
    >>> operator, tensor = integer_matmul(a, b, zero, name="product", result="c")
    >>> tensor, len(operator.reads)
    (Tensor(name='c', shape=(2, 4), dtype='int32'), 3)
    """
    operator, output = matmul(left, right, name=name, result=result)
    reads, factors = list(operator.reads), list[Scalar]()
    for place, (tensor, zero) in enumerate(((left, left_zero), (right, right_zero))):
        factors.append(Load(place) if zero is None else apply("subtract", Load(place), Load(len(reads))))
        if zero is not None:
            reads.append(_zero_read(operator, tensor, operator.reads[place], zero))
    body = apply("multiply", *factors)
    return replace(operator, reads=tuple(reads), body=body, accumulator=dtype), replace(output, dtype=dtype)


def numpy_reference(left: Any, right: Any, left_zero: Any = 0, right_zero: Any = 0) -> Any:
    """The same by `numpy.matmul` of int32 numbers."""
    whole = [np.asarray(array).astype(np.int32) for array in (left, left_zero, right, right_zero)]
    with np.errstate(over="ignore"):
        return np.matmul(whole[0] - whole[1], whole[2] - whole[3])


def _zero_read(operator: Operator, tensor: Tensor, read: Access, zero: Tensor) -> Access:
    """The zero point that belongs to an element of an operand."""
    behind = len(tensor.shape) - len(zero.shape)
    steps = {axis.name for axis in operator.reduction_axes()}
    pairs = list(zip(zero.shape, tensor.shape[max(behind, 0) :], read.indices[max(behind, 0) :], strict=behind >= 0))
    fits = all(extent == 1 or (extent == whole and not index.axes() & steps) for extent, whole, index in pairs)
    if behind < 0 or not fits:
        text = f"a zero point of shape {shape_text(zero.shape)} for an operand of {shape_text(tensor.shape)}"
        raise ShapeError(
            text, where="integer matmul", why="it broadcasts to the operand, and is the same along the summed dimension"
        )
    return Access(zero.name, tuple(_index(extent, index) for extent, _, index in pairs))


def _index(extent: object, index: Index) -> Index:
    return constant(0) if extent == 1 else index
