"""DynamicQuantizeLinear: numbers as uint8, with the scale and the zero point that their range takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.quantization.quantized import lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor


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
        """The extremes as reductions, and maps of these."""
        low, high = (builder.map(f"{function}imum", builder.reduce(function, x), 0.0) for function in ("min", "max"))
        scale = builder.body(apply("divide", apply("subtract", Load(0), Load(1)), Literal(255.0)), high, low, kind="scale")
        is_flat = apply("equal", Load(1), Literal(0.0))
        share = apply("where", is_flat, Literal(0.0), apply("divide", Load(0), Load(1)))
        zero = lowered_quantized(builder, apply("negative", share), (low, scale), 0.0, "uint8")
        return lowered_quantized(builder, share, (x, scale), zero, "uint8"), scale, zero


define("DynamicQuantizeLinear", DynamicQuantizeLinear, since=11)
