"""MatMulIntegerToFloat and DynamicQuantizeMatMul: products of 8-bit numbers as what they stand for, in float32.

Source: onnxruntime's ContribOperators.md. Sums are exact, however long; float32 rounds three times: the sum,
its product with both scales, and that with the bias. onnxruntime may multiply in another order;
results are then apart by some units in the last place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import MICROSOFT, check_operand
from tilewright.frontend.onnx.operators.quantization.dynamic_quantize_linear import DynamicQuantizeLinear
from tilewright.frontend.onnx.operators.quantization.integer_matmul import exact_matmul, lowered_exact_matmul
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


class MatMulIntegerToFloat:
    """`(a - zero of a) @ (b - zero of b)` times both scales, plus a bias for every column.

    The scale and zero point of `a` are numbers, those of `b` numbers or one for every column.
    """

    def reference(
        self, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero_point: Any = None, b_zero_point: Any = None, bias: Any = None
    ) -> Any:
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero_point)
        _check_right(_WHERE, b, b_scale, b_zero_point, bias)
        sums = exact_matmul(a, b, a_zero_point, b_zero_point)
        scaled = sums.astype(np.float32) * (a_scale * b_scale)
        return np.asarray(scaled if bias is None else scaled + bias, np.float32)

    def lower(
        self,
        builder: Builder,
        a: Tensor,
        b: Tensor,
        a_scale: Tensor,
        b_scale: Tensor,
        a_zero_point: Tensor | None = None,
        b_zero_point: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """A product of bytes, and one map that scales it and adds the bias."""
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero_point, known=builder.known)
        _check_right(_WHERE, b, b_scale, b_zero_point, bias, builder)
        return _lowered(builder, a, b, (a_scale, b_scale), (a_zero_point, b_zero_point), bias)


class DynamicQuantizeMatMul:
    """`a @ b` plus a bias, where `a` is quantised to uint8 by its own range and `b` has been quantised before.

    The uint8 numbers are those of DynamicQuantizeLinear: where a value lies halfway between two of them but for a rounding of its
    quotient, onnxruntime may choose the other one, by which a result changes by at most one step of `a` for each such value.
    """

    def reference(self, a: Any, b: Any, b_scale: Any, b_zero_point: Any = None, bias: Any = None) -> Any:
        _check_right(_DYNAMIC, b, b_scale, b_zero_point, bias)
        steps, a_scale, a_zero_point = DynamicQuantizeLinear().reference(a)
        sums = exact_matmul(steps, b, a_zero_point, b_zero_point)
        scaled = sums.astype(np.float32) * (a_scale * b_scale)
        return np.asarray(scaled if bias is None else scaled + bias, np.float32)

    def lower(
        self,
        builder: Builder,
        a: Tensor,
        b: Tensor,
        b_scale: Tensor,
        b_zero_point: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Two reductions for the range, maps that quantise, and the product of bytes."""
        _check_right(_DYNAMIC, b, b_scale, b_zero_point, bias, builder)
        steps, a_scale, a_zero_point = DynamicQuantizeLinear().lower(builder, a)
        return _lowered(builder, steps, b, (a_scale, b_scale), (a_zero_point, b_zero_point), bias)


_WHERE, _DYNAMIC = "MatMulIntegerToFloat", "DynamicQuantizeMatMul"


def _check_right(where: str, b: Any, scale: Any, zero: Any, bias: Any, builder: Builder | None = None) -> None:
    """Raise `InvalidModel` for parameters or a bias that do not fit the right operand."""
    columns = b.shape[-1]
    check_operand(where, "B", b.dtype, scale, zero, columns=columns, known=None if builder is None else builder.known)
    if bias is not None and tuple(bias.shape) != (columns,):
        why = f"there is one number for each of the {columns} columns of B"
        raise InvalidModel(f"the bias has the shape {shape_text(bias.shape)}", where=where, why=why)


def _lowered(
    builder: Builder,
    a: Tensor,
    b: Tensor,
    scales: tuple[Tensor, Tensor],
    zeros: tuple[Tensor | None, Tensor | None],
    bias: Tensor | None,
) -> Tensor:
    sums = lowered_exact_matmul(builder, a, b, *zeros)
    factors = [builder.reshape(scale, ()) if scale.shape == (1,) else scale for scale in scales]
    scaled = apply("multiply", Load(0), apply("multiply", Load(1), Load(2)))
    if bias is None:
        return builder.body(scaled, sums, *factors, dtype="float32", kind="scale")
    return builder.body(apply("add", scaled, Load(3)), sums, *factors, bias, dtype="float32", kind="scale")


define("MatMulIntegerToFloat", MatMulIntegerToFloat, domain=MICROSOFT)
define("DynamicQuantizeMatMul", DynamicQuantizeMatMul, domain=MICROSOFT)
