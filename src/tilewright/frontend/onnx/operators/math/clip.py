"""Clip: elements within bounds, which are attributes before opset 11 and operands from then on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


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
class ClipBefore11:
    """`minimum(maximum(x, min), max)` with numbers as bounds."""

    min: float = -np.inf
    max: float = np.inf

    def reference(self, x: Any) -> Any:
        return np.minimum(np.maximum(x, x.dtype.type(self.min)), x.dtype.type(self.max))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("clip", x, self.min, self.max)


define("Clip", ClipBefore11)
define("Clip", Clip, since=11)
