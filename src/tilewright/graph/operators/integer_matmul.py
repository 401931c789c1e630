"""MatMulInteger and QLinearMatMul: products of 8-bit numbers from which zero points are subtracted.

Source: the ONNX operator schemas. Sums are those of int32, which wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.graph.definition import define
from tilewright.graph.numpy_types import widened
from tilewright.graph.operators.quantization import quantized


def matmul_integer(a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None) -> Any:
    """(a - zero of a) (b - zero of b) in int32; zero points are of the tensor, of rows of a, or of columns of b."""
    return np.matmul(_centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point))


def qlinear_matmul(
    a: Any,
    a_scale: Any,
    a_zero_point: Any,
    b: Any,
    b_scale: Any,
    b_zero_point: Any,
    y_scale: Any,
    y_zero_point: Any,
) -> Any:
    """The product of what a and b stand for, as y stands for it: rounded to even, with saturation."""
    products = np.matmul(_centred_rows(a, a_zero_point), _centred_columns(b, b_zero_point))
    a_factor, b_factor, y_factor = (widened(one) for one in (_rows(a_scale, a), b_scale, _rows(y_scale, a)))
    return quantized(products * (a_factor * b_factor / y_factor), _rows(y_zero_point, a))


def _rows(parameter: Any, matrix: Any) -> Any:
    """One for every row as a column; one for the whole tensor, and what has the matrix's rank, as it is."""
    return parameter[..., None] if parameter.ndim and parameter.size > 1 and parameter.ndim < matrix.ndim else parameter


def _centred_rows(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - _rows(zero, x).astype(np.int32)


def _centred_columns(x: Any, zero: Any) -> Any:
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - zero.astype(np.int32)


define("MatMulInteger", matmul_integer, since=10)
define("QLinearMatMul", qlinear_matmul, since=10)
