"""QGemm: the matrix product of quantised numbers with a bias, quantised again or in float32.

Source: onnxruntime's ContribOperators.md. Sums with the bias are exact, however long. They are multiplied by one float32
factor, as in onnxruntime; that factor has the roundings of alpha and the scales in it, so that results that lie halfway between
two steps but for these may be one step apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import MICROSOFT, check_operand
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.frontend.onnx.operators.quantization.exact_sums import Operand, largest_sum, with_bias
from tilewright.frontend.onnx.operators.quantization.integer_matmul import exact_matmul, lowered_exact_matmul
from tilewright.frontend.onnx.operators.quantization.quantize_linear import lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor

_WHERE = "QGemm"


@dataclass(frozen=True, slots=True, kw_only=True)
class QGemm:
    """`alpha * a_scale * b_scale * ((A' - zero of A) @ (B' - zero of B) + C)`, quantised again or as it is.

    A' and B' may be transposes; C is of int32 and broadcasts to the product. The scale and the zero point of B are numbers or one
    for every column of B'.
    """

    alpha: float = 1.0
    transA: int = 0
    transB: int = 0

    def reference(self, *operands: Any) -> Any:
        self._check(operands)
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point = completed(operands, 9)
        sums = exact_matmul(a.T if self.transA else a, b.T if self.transB else b, a_zero_point, b_zero_point)
        sums = sums if c is None else sums + c
        factor = np.float32(self.alpha) * a_scale * b_scale
        if y_scale is None:
            return np.asarray(sums.astype(np.float32) * factor, np.float32)
        return quantized(sums.astype(np.float32) * (factor / y_scale), y_zero_point.reshape(()))

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """A product of bytes, and maps that add, scale and round."""
        self._check(operands, builder)
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, c, y_scale, y_zero_point = completed(operands, 9)
        left, right = (builder.transpose(x, (1, 0)) if moves else x for x, moves in ((a, self.transA), (b, self.transB)))
        largest = self._largest(builder, (a, a_zero_point), (b, b_zero_point))
        sums = lowered_exact_matmul(builder, left, right, a_zero_point, b_zero_point, largest)
        sums = sums if c is None else with_bias(builder, sums, largest, c, c)
        scales = [builder.reshape(x, ()) if x.shape == (1,) else x for x in (a_scale, b_scale, y_scale) if x is not None]
        factor: Scalar = apply("multiply", apply("multiply", Literal(float(np.float32(self.alpha))), Load(1)), Load(2))
        factor = factor if y_scale is None else apply("divide", factor, Load(3))
        steps = apply("multiply", Load(0), factor)
        if y_zero_point is None:
            return builder.body(steps, sums, *scales, dtype="float32", kind="scale")
        return lowered_quantized(builder, steps, (sums, *scales), builder.reshape(y_zero_point, ()), y_zero_point.dtype)

    def _largest(self, builder: Builder, left: Operand, right: Operand) -> float:
        """An upper bound on the magnitude of the sums."""
        summed, steps = (1, 0) if self.transB else (0, 1), right[0].shape[1 if self.transB else 0]
        return largest_sum(builder, left, right, steps, summed[:1], summed[1]) if isinstance(steps, int) else inf

    def _check(self, operands: Sequence[Any], builder: Builder | None = None) -> None:
        """Raise `InvalidModel` or `ShapeError` for operands that do not fit together."""
        a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = completed(operands, 9)
        known = None if builder is None else builder.known
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise ShapeError(f"QGemm of {shape_text(a.shape)} and {shape_text(b.shape)}", where=_WHERE, why="both are matrices")
        rows, columns = a.shape[1 if self.transA else 0], b.shape[0 if self.transB else 1]
        check_operand(_WHERE, "A", a.dtype, a_scale, a_zero, known=known)
        check_operand(_WHERE, "B", b.dtype, b_scale, b_zero, columns=columns, known=known)
        if (y_scale is None) != (y_zero is None):
            why = "the result is quantised with both, or of float32 without either"
            raise InvalidModel("one of y_scale and y_zero_point is left out", where=_WHERE, why=why, hint="give both or none")
        if y_scale is not None:
            check_operand(_WHERE, "Y", y_zero.dtype, y_scale, y_zero, divides=True, known=known)
        if c is not None:
            _check_bias(c, (rows, columns))


def _check_bias(c: Any, product: tuple[Any, Any]) -> None:
    if np.dtype(c.dtype).name != "int32":
        why = "it counts steps of alpha times the scales of A and B"
        raise InvalidModel(f"C is of {np.dtype(c.dtype).name}", where=_WHERE, why=why, hint="quantise the bias to int32")
    if broadcast_shapes((product, c.shape), _WHERE) != product:
        why = f"it broadcasts to the product, {shape_text(product)}"
        raise ShapeError(f"C has the shape {shape_text(c.shape)}", where=_WHERE, why=why)


define("QGemm", QGemm, domain=MICROSOFT)
