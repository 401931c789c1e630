"""Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere. A NaN is larger than all numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.over_rows import OverRows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardmax:
    """1 at the first of the largest elements, 0 elsewhere."""

    axis: int = -1

    def reference(self, x: Any) -> Any:
        result = np.zeros_like(x)
        if x.size:
            np.put_along_axis(result, np.expand_dims(np.argmax(x, axis=self.axis), self.axis), 1, axis=self.axis)
        return result

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """The largest of a row, the first position where it or a NaN is found, and a comparison with that."""
        along = normalize_axis(self.axis, len(x.shape), where="hardmax")
        extent = x.shape[along]
        position, beyond = AxisValue(f"d{along}"), Literal(float(extent.high if not isinstance(extent, int) else extent))
        largest = builder.reduce("max", x, (along,), keepdims=True)
        is_largest = apply("logical_or", apply("equal", Load(0), Load(1)), apply("isnan", Load(0)))
        found = apply("where", is_largest, position, beyond)
        positions = builder.body(found, x, largest, dtype="float32", kind="positions")
        first = builder.reduce("min", positions, (along,), keepdims=True)
        is_first = apply("logical_and", apply("equal", Load(0), Load(1)), apply("less", Load(0), beyond))
        result = apply("where", is_first, Literal(1.0), Literal(0.0))
        return builder.body(result, positions, first, dtype=x.dtype, kind="hardmax")


define("Hardmax", OverRows, Hardmax)
define("Hardmax", Hardmax, since=13)
