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
from tilewright.frontend.onnx.operators.contrib.parameters import MICROSOFT
from tilewright.frontend.onnx.operators.contrib.quantised_function import QuantisedFunction
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearSoftmax(QuantisedFunction):
    """The Softmax of an opset along `axis`: before 13 of the rows of a matrix whose columns begin there."""

    opset: int
    axis: int = -1

    def values(self, x: Any) -> Any:
        return self._softmax().reference(x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        result: Tensor = self._softmax().lower(builder, x)
        return result

    def _softmax(self) -> Any:
        return Softmax(axis=self.axis) if self.opset >= 13 else OverRows(Softmax, axis=self.axis)


define("QLinearSoftmax", QLinearSoftmax, domain=MICROSOFT)
