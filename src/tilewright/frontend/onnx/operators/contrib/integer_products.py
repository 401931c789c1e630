"""MatMulIntegerToFloat, DynamicQuantizeMatMul, QAttention and QGemm: products of 8-bit numbers as what they stand for.

Source: onnxruntime's ContribOperators.md. Sums are exact, however long; float32 rounds three times: the sum, its product with
both scales, and that with the bias. onnxruntime may multiply in another order; results are then apart by some units in the last
place.

QAttention: the attention of one quantised input, whose queries, keys and values are one product of bytes. The product is that of
MatMulIntegerToFloat: exact sums, scaled in float32. What follows is float32, in other orders of summation than onnxruntime's;
masked scores have `mask_filter_value` added.

QGemm: the matrix product with a bias, quantised again or in float32. Sums with the bias are exact, however long. They are
multiplied by one float32 factor, as in onnxruntime; that factor has the roundings of alpha and the scales in it, so that results
that lie halfway between two steps but for these may be one step apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.contrib.qlinear import MICROSOFT, check_operand
from tilewright.frontend.onnx.operators.math.elements import ElementFunction
from tilewright.frontend.onnx.operators.nn.attention import Attention
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, Reshaped, completed
from tilewright.frontend.onnx.operators.quantization.linear import DynamicQuantizeLinear
from tilewright.frontend.onnx.operators.quantization.products import ExactMatMul, Scaled
from tilewright.frontend.onnx.operators.tensor.cast import Cast
from tilewright.frontend.onnx.operators.tensor.shapes import Split, Transpose
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor


@onnx_operator("MatMulIntegerToFloat", domain=MICROSOFT)
class MatMulIntegerToFloat(Composed):
    """`(a - zero of a) @ (b - zero of b)` times both scales, plus a bias for every column.

    The scale and zero point of `a` are numbers, those of `b` numbers or one for every column.
    """

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias = completed(inputs, 7)
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero_point, known=known)
        _check_right(_WHERE, b, b_scale, b_zero_point, bias, known)
        sums = call(ExactMatMul())(a, b, a_zero_point, b_zero_point)
        return call(Scaled())(sums, a_scale, b_scale, None, None, bias)


@onnx_operator("DynamicQuantizeMatMul", domain=MICROSOFT)
class DynamicQuantizeMatMul(Composed):
    """`a @ b` plus a bias, where `a` is quantised to uint8 by its own range and `b` has been quantised before.

    The uint8 numbers are those of DynamicQuantizeLinear: where a value lies halfway between two of them but for a rounding of its
    quotient, onnxruntime may choose the other one, by which a result changes by at most one step of `a` for each such value.
    """

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        a, b, b_scale, b_zero_point, bias = completed(inputs, 5)
        _check_right(_DYNAMIC, b, b_scale, b_zero_point, bias, known)
        steps, a_scale, a_zero_point = call(DynamicQuantizeLinear())(a)
        return call(MatMulIntegerToFloat())(steps, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)


_WHERE, _DYNAMIC = "MatMulIntegerToFloat", "DynamicQuantizeMatMul"


def _check_right(where: str, b: Any, scale: Any, zero: Any, bias: Any, known: Known) -> None:
    """Raise `InvalidModel` for parameters or a bias that do not fit the right operand."""
    columns = b.shape[-1]
    check_operand(where, "B", b.dtype, scale, zero, known=known, columns=columns)
    if bias is not None and tuple(bias.shape) != (columns,):
        why = f"there is one number for each of the {columns} columns of B"
        raise InvalidModel(f"the bias has the shape {shape_text(bias.shape)}", where=where, why=why)


_ATTENTION = "QAttention"


@onnx_operator("QAttention", domain=MICROSOFT)
class QAttention(Composed):
    """Attention of `input` (batch, steps, K) with `weight` (K, 3 hidden) of bytes, which hold queries, keys and values.

    `mask_index` is 1 or 0 for every key (batch, steps), or the numbers of keys (batch,). With `unidirectional` no query sees a
    later key. States of earlier calls (`past`), rotary embeddings and other masks are refused.
    """

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = -10000.0
    past_present_share_buffer: int = 0
    scale: float = 0.0
    unidirectional: int = 0
    output_count: int = 1

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        self._check(inputs, known)
        x, weight, bias, x_scale, weight_scale, mask, x_zero, weight_zero, _ = completed(inputs, 9)
        joint = call(MatMulIntegerToFloat())(x, weight, x_scale, weight_scale, x_zero, weight_zero, bias)
        query, key, value = call(Split(axis=-1, output_count=3))(joint)
        heads, scale = self.num_heads, self.scale or None
        attention = Attention(q_num_heads=heads, kv_num_heads=heads, scale=scale, is_causal=self.unidirectional)
        (mixed,) = call(attention)(query, key, value, None if mask is None else self._added(call, mask, x.shape))
        return mixed

    def _added(self, call: Call, mask: Any, shape: Any) -> Any:
        """What is added to the scores of every key, as it broadcasts to them."""
        batch, steps, _ = shape
        if len(mask.shape) == 1 and isinstance(mask, Tensor):
            raise UnsupportedOperation("QAttention with numbers of keys has no lowering")
        kept = call(Cast(to=np.dtype(np.float32)))(mask if len(mask.shape) == 2 else np.arange(steps) < mask[:, None])
        added = apply("multiply", apply("subtract", Literal(1.0), Load(0)), Literal(self.mask_filter_value))
        return call(Reshaped((batch, 1, 1, steps)))(call(ElementFunction("mask", added))(kept))

    def _check(self, operands: Sequence[Any], known: Known) -> None:
        """Raise `InvalidModel` for operands that do not fit, `UnsupportedOperation` for those that are not known here."""
        x, weight, _, x_scale, weight_scale, mask, x_zero, weight_zero, past = completed(operands, 9)
        if len(x.shape) != 3 or len(weight.shape) != 2 or weight.shape[0] != x.shape[2]:
            text = f"an input of {shape_text(x.shape)} and a weight of {shape_text(weight.shape)}"
            raise InvalidModel(text, where=_ATTENTION, why="they are (batch, steps, K) and (K, 3 hidden)")
        columns = weight.shape[1]
        if self.num_heads < 1 or columns % (3 * self.num_heads):
            why = f"queries, keys and values of {self.num_heads} heads share the columns of the weight"
            raise InvalidModel(f"num_heads is {self.num_heads}, the weight has {columns} columns", where=_ATTENTION, why=why)
        check_operand(_ATTENTION, "input", x.dtype, x_scale, x_zero, known=known)
        check_operand(_ATTENTION, "weight", weight.dtype, weight_scale, weight_zero, known=known, columns=columns)
        if past is not None or self.do_rotary or self.past_present_share_buffer or self.output_count > 1:
            hint = "export the model without states, or as float32"
            raise UnsupportedOperation("QAttention with past states, or rotary embeddings", where=_ATTENTION, hint=hint)
        if mask is not None and tuple(mask.shape) not in (tuple(x.shape[:2]), tuple(x.shape[:1])):
            why = f"masks of {shape_text(x.shape[:2])} and {shape_text(x.shape[:1])} are known here"
            raise UnsupportedOperation(f"mask_index has the shape {shape_text(mask.shape)}", where=_ATTENTION, why=why)


_GEMM = "QGemm"


@onnx_operator("QGemm", domain=MICROSOFT)
class QGemm(Composed):
    """`alpha * a_scale * b_scale * ((A' - zero of A) @ (B' - zero of B) + C)`, quantised again or as it is.

    A' and B' may be transposes; C is of int32 and broadcasts to the product. The scale and the zero point of B are numbers or one
    for every column of B'.
    """

    alpha: float = 1.0
    transA: int = 0
    transB: int = 0

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        self._check(inputs, known)
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point = completed(inputs, 9)
        left, right = (call(Transpose(perm=(1, 0)))(x) if moves else x for x, moves in ((a, self.transA), (b, self.transB)))
        sums = call(ExactMatMul())(left, right, a_zero_point, b_zero_point, c)
        return call(Scaled(self.alpha))(sums, a_scale, b_scale, y_scale, y_zero_point)

    def _check(self, operands: Sequence[Any], known: Known) -> None:
        """Raise `InvalidModel` or `ShapeError` for operands that do not fit together."""
        a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = completed(operands, 9)
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise ShapeError(f"QGemm of {shape_text(a.shape)} and {shape_text(b.shape)}", where=_GEMM, why="both are matrices")
        rows, columns = a.shape[1 if self.transA else 0], b.shape[0 if self.transB else 1]
        check_operand(_GEMM, "A", a.dtype, a_scale, a_zero, known=known)
        check_operand(_GEMM, "B", b.dtype, b_scale, b_zero, known=known, columns=columns)
        if (y_scale is None) != (y_zero is None):
            why = "the result is quantised with both, or of float32 without either"
            raise InvalidModel("one of y_scale and y_zero_point is left out", where=_GEMM, why=why, hint="give both or none")
        if y_scale is not None:
            check_operand(_GEMM, "Y", y_zero.dtype, y_scale, y_zero, known=known, divides=True)
        if c is not None:
            _check_bias(c, (rows, columns))


def _check_bias(c: Any, product: tuple[Any, Any]) -> None:
    if np.dtype(c.dtype).name != "int32":
        why = "it counts steps of alpha times the scales of A and B"
        raise InvalidModel(f"C is of {np.dtype(c.dtype).name}", where=_GEMM, why=why, hint="quantise the bias to int32")
    if broadcast_shapes((product, c.shape), _GEMM) != product:
        why = f"it broadcasts to the product, {shape_text(product)}"
        raise ShapeError(f"C has the shape {shape_text(c.shape)}", where=_GEMM, why=why)
