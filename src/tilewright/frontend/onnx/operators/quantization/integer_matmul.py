"""MatMulInteger and QLinearMatMul: products of 8-bit numbers from which zero points are subtracted.

Source: the ONNX operator schemas. MatMulInteger sums in int32, which wraps, as ONNX lets it; what is scaled behind never wraps
(`exact_matmul`, `lowered_exact_matmul`).
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.quantization.exact_sums import LARGEST, are_at_most, largest_factor, largest_sum
from tilewright.frontend.onnx.operators.quantization.parameters import check_scale, check_zero_type
from tilewright.frontend.onnx.operators.quantization.quantize_linear import SMALL, lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor


class MatMulInteger:
    """(a - zero of a) (b - zero of b) in int32; zero points are of the tensor, of rows of a, or of columns of b."""

    def reference(self, a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
        _check_zeros(a, a_zero_point, b, b_zero_point)
        return np.matmul(_centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point))

    def lower(
        self, builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None
    ) -> Tensor:
        """A product with its zero points as one operator, whose sums are of 32 bits."""
        _check_zeros(a, a_zero_point, b, b_zero_point)
        return builder.record(integer_matmul, a, b, *_lowered_zeros(builder, a, b, a_zero_point, b_zero_point), kind="matmul")


def exact_matmul(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    """MatMulInteger in int64. Products are those of float64, which holds every sum of less than 2^37 steps."""
    _check_zeros(a, a_zero_point, b, b_zero_point)
    left, right = _centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point)
    return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)


def lowered_exact_matmul(
    builder: Builder,
    a: Tensor,
    b: Tensor,
    a_zero_point: Tensor | None = None,
    b_zero_point: Tensor | None = None,
    largest: float | None = None,
) -> Tensor:
    """The same in int32 where that holds every sum; else its parts, which int32 holds, added in int64.

    `largest` bounds the magnitude of the sums, where that is known better than from `b`. Run-time numbers of steps that may be
    too many are summed in int64. Raises `Undecided` where they may be few, too.
    """
    _check_zeros(a, a_zero_point, b, b_zero_point)
    zeros, steps = _lowered_zeros(builder, a, b, a_zero_point, b_zero_point), a.shape[-1]
    most = LARGEST // (largest_factor(builder, (a, a_zero_point)) * largest_factor(builder, (b, b_zero_point)))
    largest = _largest(builder, a, b, a_zero_point, b_zero_point) if largest is None else largest
    if largest <= LARGEST or are_at_most(steps, most):
        return builder.record(integer_matmul, a, b, *zeros, kind="matmul")
    if not isinstance(steps, int):
        return builder.record(integer_matmul, a, b, *zeros, kind="matmul", dtype="int64")
    parts = [_part(builder, a, b, zeros, slice(start, start + most)) for start in range(0, steps, most)]
    total: Scalar = Load(0)
    for number in range(1, len(parts)):
        total = apply("add", total, Load(number))
    return builder.body(total, *parts, dtype="int64", kind="parts")


class QLinearMatMul:
    """The product of what a and b stand for, as y stands for it: rounded to even, with saturation."""

    def reference(self, *operands: Any) -> Any:
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        products = exact_matmul(a, b, a_zero_point, b_zero_point)
        a_factor, b_factor, y_factor = (widened(factor) for factor in (_rows(a_scale, a), b_scale, _rows(y_scale, a)))
        return quantized(products * (a_factor * b_factor / y_factor), _rows(y_zero_point, a))

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A contraction of integers, and maps that scale and round its results."""
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point = operands
        scales = (a_scale, b_scale, y_scale)
        for scale, what in zip(scales, "aby", strict=True):
            check_scale(builder, scale, what, divides=scale is y_scale)
        if y_zero_point.dtype not in SMALL or any(scale.dtype == "float64" for scale in scales):
            raise UnsupportedOperation(f"QLinearMatMul with scales of float64, or to {y_zero_point.dtype}, has no lowering")
        products = lowered_exact_matmul(builder, a, b, a_zero_point, b_zero_point)
        of_rows = {"a": a_scale, "y": y_scale, "zero": y_zero_point}
        numbers = {name: _lowered_parameter(builder, each, a, of_rows=True) for name, each in of_rows.items()}
        numbers["b"] = _lowered_parameter(builder, b_scale, b, of_rows=False)
        for each in numbers.values():
            if broadcast_shapes((products.shape, each.shape), "QLinearMatMul") != products.shape:
                text = f"QLinearMatMul of {shape_text(a.shape)} and {shape_text(b.shape)}"
                raise UnsupportedOperation(f"{text} with scales of {shape_text(each.shape)} has no lowering")
        factor = apply("divide", apply("multiply", Load(1), Load(2)), Load(3))
        read = (products, numbers["a"], numbers["b"], numbers["y"])
        return lowered_quantized(builder, apply("multiply", Load(0), factor), read, numbers["zero"], y_zero_point.dtype)


def _check_zeros(a: Any, a_zero_point: Any, b: Any, b_zero_point: Any) -> None:
    check_zero_type(a_zero_point, a, "a")
    check_zero_type(b_zero_point, b, "b")


def _rows(parameter: Any, matrix: Any) -> Any:
    """One for every row as a column; one for the whole tensor, and what has the matrix's rank, as it is."""
    return parameter[..., None] if parameter.ndim and parameter.size > 1 and parameter.ndim < matrix.ndim else parameter


def _centred_rows(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - _rows(zero, x).astype(np.int32)


def _centred_columns(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - zero.astype(np.int32)


def _largest(builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None) -> float:
    """An upper bound on the magnitude of what a product of bytes sums; infinite for a run-time number of steps."""
    steps, summed = a.shape[-1], -2 if len(b.shape) > 1 else -1
    if not isinstance(steps, int):
        return inf
    return largest_sum(builder, (a, a_zero_point), (b, b_zero_point), steps, (summed,), -1)


def _part(builder: Builder, a: Tensor, b: Tensor, zeros: tuple[Tensor | None, Tensor | None], steps: slice) -> Tensor:
    """The product over some steps, in int32."""
    rows = builder.slice(a, (..., steps))
    columns = builder.slice(b, (..., steps, slice(None)) if len(b.shape) > 1 else (steps,))
    return builder.record(integer_matmul, rows, columns, *zeros, kind="matmul")


def _lowered_zeros(
    builder: Builder, a: Tensor, b: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    return _lowered_zero(builder, a_zero_point, a, of_rows=True), _lowered_zero(builder, b_zero_point, b, of_rows=False)


def _lowered_zero(builder: Builder, zero: Tensor | None, x: Tensor, *, of_rows: bool) -> Tensor | None:
    """The zero point of an operand, of the tensor, or of every row or column, as it broadcasts to it; None for a known 0."""
    if zero is None:
        return None
    if zero.shape in ((), (1,)) and zero.name in builder.known and not np.any(builder.known[zero.name]):
        return None
    return _lowered_parameter(builder, zero, x, of_rows=of_rows)


def _lowered_parameter(builder: Builder, parameter: Tensor, x: Tensor, *, of_rows: bool) -> Tensor:
    """A scale or a zero point of a tensor, or of every row or column of x, as it broadcasts to x and to a product."""
    if parameter.shape in ((), (1,)):
        return builder.reshape(parameter, ())
    return builder.reshape(parameter, (*parameter.shape, 1)) if of_rows and len(parameter.shape) < len(x.shape) else parameter


define("MatMulInteger", MatMulInteger, since=10)
define("QLinearMatMul", QLinearMatMul, since=10)
