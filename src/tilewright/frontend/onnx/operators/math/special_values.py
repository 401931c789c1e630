"""IsNaN and IsInf: which elements are no numbers, and which are infinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import ElementFunction
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class IsInf:
    """Whether it is an infinity of a sign that is asked for."""

    detect_negative: int = 1
    detect_positive: int = 1

    def reference(self, x: Any) -> Any:
        return (x == np.inf) & bool(self.detect_positive) | (x == -np.inf) & bool(self.detect_negative)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(self._body(), x, dtype="bool", kind="isinf")

    def _body(self) -> Scalar:
        if self.detect_negative and self.detect_positive:
            return apply("isinf", Load(0))
        if self.detect_negative or self.detect_positive:
            return apply("equal", Load(0), Literal(np.inf if self.detect_positive else -np.inf))
        return apply("less", apply("abs", Load(0)), Literal(0.0))


define("IsInf", IsInf, since=10)
define("IsNaN", ElementFunction, "isnan", np.isnan, "isnan", "bool", since=9)
