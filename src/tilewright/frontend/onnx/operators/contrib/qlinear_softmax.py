"""QLinearSoftmax: the softmax of what bytes stand for, as bytes.

Source: onnxruntime's ContribOperators.md. Exponentials, their sum and the quotient are those of float32, divided by the result's
scale and rounded to even. onnxruntime looks exponentials up as integers of 23 bits or more; where a quotient lies halfway between
two steps but for these roundings results may be a step apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.over_rows import OverRows
from tilewright.frontend.onnx.operators.activation.softmax import Softmax
from tilewright.frontend.onnx.operators.contrib.parameters import (
    MICROSOFT,
    check_operand,
    dequantised,
    lowered_dequantised,
    lowered_requantised,
    requantised,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load
from tilewright.graph.types import Tensor

_WHERE = "QLinearSoftmax"


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearSoftmax:
    """The Softmax of an opset along `axis`: before 13 of the rows of a matrix whose columns begin there."""

    opset: int
    axis: int = -1

    def reference(self, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any) -> Any:
        check_operand(_WHERE, "X", x.dtype, x_scale, x_zero)
        check_operand(_WHERE, "Y", x.dtype, y_scale, y_zero)
        return requantised(self._softmax().reference(dequantised(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)

    def lower(
        self, builder: Builder, x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor
    ) -> Tensor:
        """A map, a softmax, and a map."""
        check_operand(_WHERE, "X", x.dtype, x_scale, x_zero, known=builder.known)
        check_operand(_WHERE, "Y", x.dtype, y_scale, y_zero, known=builder.known)
        value, operands = lowered_dequantised(builder, x, x_scale, x_zero, 0)
        values = builder.body(value, *operands, dtype="float32", kind="dequantize")
        shares = self._softmax().lower(builder, values)
        return lowered_requantised(builder, Load(0), (shares,), y_scale, y_zero, x.dtype)

    def _softmax(self) -> Any:
        return Softmax(axis=self.axis) if self.opset >= 13 else OverRows(Softmax, axis=self.axis)


define("QLinearSoftmax", QLinearSoftmax, domain=MICROSOFT)
