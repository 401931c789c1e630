"""LogSoftmax: the logarithm of softmax along an axis, or before opset 13 along the rows of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.over_rows import OverRows
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.log_softmax import log_softmax
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSoftmax:
    """x - max - log(sum(exp(x - max)))."""

    axis: int = -1

    @in_operand_type
    def reference(self, x: Any) -> Any:
        if not x.size:
            return x
        shifted = x - x.max(axis=self.axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=self.axis, keepdims=True))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.record(log_softmax, x, self.axis, kind="log_softmax")


define("LogSoftmax", OverRows, LogSoftmax)
define("LogSoftmax", LogSoftmax, since=13)
