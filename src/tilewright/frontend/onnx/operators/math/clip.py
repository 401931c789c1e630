"""Clip: elements within bounds, which are attributes before opset 11 and operands from then on.

Without an attribute there is no bound before opset 6; from then on the bounds are float32's ends, which infinity is beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor

LARGEST = float(np.finfo(np.float32).max)
"""The bounds of Clip-6 are -LARGEST and LARGEST for operands of every type. In float16 both mean infinity, hence no bound."""


class Clip:
    """`minimum(maximum(x, low), high)`; a bound may be left out."""

    def reference(self, x: Any, low: Any = None, high: Any = None) -> Any:
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    def lower(self, builder: Builder, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
        if low is not None and high is not None:
            return builder.map("clip", x, low, high)
        x = x if low is None else builder.map("maximum", x, low)
        return x if high is None else builder.map("minimum", x, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipBefore6:
    """`minimum(maximum(x, min), max)` with numbers as bounds."""

    min: float = -np.inf
    max: float = np.inf

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.minimum(np.maximum(x, self.min), self.max)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("clip", x, self.min, self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipBefore11(ClipBefore6):
    """The same, within float32's ends where no numbers are given."""

    min: float = -LARGEST
    max: float = LARGEST


define("Clip", ClipBefore6)
define("Clip", ClipBefore11, since=6)
define("Clip", Clip, since=11)
