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
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.frontend.onnx.operators.quantization.integer_matmul import exact_matmul, lowered_exact_matmul
from tilewright.frontend.onnx.operators.quantization.quantize_linear import DynamicQuantizeLinear
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


class MatMulIntegerToFloat:
    """`(a - zero of a) @ (b - zero of b)` times both scales, plus a bias for every column.

    The scale and zero point of `a` are numbers, those of `b` numbers or one for every column.
    """

    def reference(self, *operands: Any) -> Any:
        a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias = completed(operands, 7)
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero_point)
        _check_right(_WHERE, b, b_scale, b_zero_point, bias)
        sums = exact_matmul(a, b, a_zero_point, b_zero_point)
        scaled = sums.astype(np.float32) * (a_scale * b_scale)
        return np.asarray(scaled if bias is None else scaled + bias, np.float32)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A product of bytes, and one map that scales it and adds the bias."""
        a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias = completed(operands, 7)
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero_point, known=builder.known)
        _check_right(_WHERE, b, b_scale, b_zero_point, bias, builder)
        sums = lowered_exact_matmul(builder, a, b, a_zero_point, b_zero_point)
        factors = [builder.reshape(scale, ()) if scale.shape == (1,) else scale for scale in (a_scale, b_scale)]
        body = apply("multiply", Load(0), apply("multiply", Load(1), Load(2)))
        body = body if bias is None else apply("add", body, Load(3))
        return builder.body(body, sums, *factors, *([] if bias is None else [bias]), dtype="float32", kind="scale")


class DynamicQuantizeMatMul:
    """`a @ b` plus a bias, where `a` is quantised to uint8 by its own range and `b` has been quantised before.

    The uint8 numbers are those of DynamicQuantizeLinear: where a value lies halfway between two of them but for a rounding of its
    quotient, onnxruntime may choose the other one, by which a result changes by at most one step of `a` for each such value.
    """

    def reference(self, *operands: Any) -> Any:
        a, b, b_scale, b_zero_point, bias = completed(operands, 5)
        _check_right(_DYNAMIC, b, b_scale, b_zero_point, bias)
        steps, a_scale, a_zero_point = DynamicQuantizeLinear().reference(a)
        return MatMulIntegerToFloat().reference(steps, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """Two reductions for the range, maps that quantise, and the product of bytes."""
        a, b, b_scale, b_zero_point, bias = completed(operands, 5)
        _check_right(_DYNAMIC, b, b_scale, b_zero_point, bias, builder)
        steps, a_scale, a_zero_point = DynamicQuantizeLinear().lower(builder, a)
        return MatMulIntegerToFloat().lower(builder, steps, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)


_WHERE, _DYNAMIC = "MatMulIntegerToFloat", "DynamicQuantizeMatMul"


def _check_right(where: str, b: Any, scale: Any, zero: Any, bias: Any, builder: Builder | None = None) -> None:
    """Raise `InvalidModel` for parameters or a bias that do not fit the right operand."""
    columns = b.shape[-1]
    check_operand(where, "B", b.dtype, scale, zero, columns=columns, known=None if builder is None else builder.known)
    if bias is not None and tuple(bias.shape) != (columns,):
        why = f"there is one number for each of the {columns} columns of B"
        raise InvalidModel(f"the bias has the shape {shape_text(bias.shape)}", where=where, why=why)


define("MatMulIntegerToFloat", MatMulIntegerToFloat, domain=MICROSOFT)
define("DynamicQuantizeMatMul", DynamicQuantizeMatMul, domain=MICROSOFT)
