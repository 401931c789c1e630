"""DynamicQuantizeLinear: numbers as uint8, with the scale and the zero point that their range takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.quantization.quantized import lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.least_values import least_value
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

_SHARE = apply("where", apply("equal", Load(1), Literal(0.0)), Literal(0.0), apply("divide", Load(0), Load(1)))
"""A number over a scale; 0 where the scale is."""


class DynamicQuantizeLinear:
    """x as uint8, and the scale and zero point that its range (with 0 in it) takes."""

    def reference(self, x: Any) -> Any:
        low, high = np.minimum(x.min(initial=0), 0), np.maximum(x.max(initial=0), 0)
        scale = np.asarray((high - low) / np.float32(255), np.float32)
        with np.errstate(all="ignore"):
            zero = np.clip(np.rint(-low / scale), 0, 255) if scale else np.float32(0)
            zero = np.asarray(zero).astype(np.uint8)
            steps = x / scale if scale else np.zeros_like(x)
        return quantized(steps, zero), scale, zero

    def lower(self, builder: Builder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The extremes as reductions, and maps of these.

        Where no element is negative, the least of all and 0 is 0, and so is the zero point. If elements are NaN, so are the scale
        and the steps, either way.
        """
        high = builder.map("maximum", builder.reduce("max", x), 0.0)
        if least_value(builder, x) >= 0:
            scale = builder.map("divide", high, 255.0)
            zero = builder.constant(np.zeros((), np.uint8), "zero_point")
            return lowered_quantized(builder, _SHARE, (x, scale), zero, "uint8"), scale, zero
        low = builder.map("minimum", builder.reduce("min", x), 0.0)
        scale = builder.body(apply("divide", apply("subtract", Load(0), Load(1)), Literal(255.0)), high, low, kind="scale")
        zero = lowered_quantized(builder, apply("negative", _SHARE), (low, scale), 0.0, "uint8")
        return lowered_quantized(builder, _SHARE, (x, scale), zero, "uint8"), scale, zero


define("DynamicQuantizeLinear", DynamicQuantizeLinear, since=11)
