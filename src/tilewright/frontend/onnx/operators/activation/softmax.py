"""Softmax along an axis, or before opset 13 along the rows of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.over_rows import OverRows
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.softmax import numpy_reference
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Softmax:
    """exp(x - max) / sum(exp(x - max))."""

    axis: int = -1

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return numpy_reference(x, self.axis)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.softmax(x, self.axis)


define("Softmax", OverRows, Softmax)
define("Softmax", Softmax, since=13)
