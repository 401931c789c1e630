"""DequantizeLinear: multiples of a scale as numbers.

Source: the ONNX operator schemas, opsets 10 to 28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.quantization.parameters import check_scale, check_zero_type
from tilewright.frontend.onnx.operators.quantization.quantized import NUMBERS, SCALES, STORED, lowered_spread, spread
from tilewright.graph.builders.builder import Builder, Operand
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class DequantizeLinear:
    """(x - zero point) scale, in the type of the scale or the one that is asked for."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0

    def reference(self, x: Any, x_scale: Any, x_zero_point: Any = None) -> Any:
        check_zero_type(x_zero_point, x, "x")
        target = element_type(self.output_dtype) if self.output_dtype else x_scale.dtype
        scale = spread(x_scale, x.shape, self.axis, self.block_size)
        steps = x.astype(np.float64 if x.dtype.name == "int32" else np.float32)
        if x_zero_point is not None:
            steps = steps - spread(x_zero_point, x.shape, self.axis, self.block_size).astype(np.float32)
        return np.asarray(steps.astype(np.float32) * scale.astype(np.float32)).astype(target)

    def lower(self, builder: Builder, x: Tensor, x_scale: Tensor, x_zero_point: Tensor | None = None) -> Tensor:
        """One map in float32, which rounds where it is stored."""
        check_zero_type(x_zero_point, x, "x")
        check_scale(builder, x_scale, "x", divides=False)
        target = element_type(self.output_dtype).name if self.output_dtype else x_scale.dtype
        if x.dtype not in STORED or x_scale.dtype not in SCALES or target not in NUMBERS:
            raise UnsupportedOperation(f"DequantizeLinear of {x.dtype} by {x_scale.dtype} to {target} has no lowering")
        scale = lowered_spread(builder, builder.cast(x_scale, "float32"), x, self.axis, self.block_size)
        zero: Operand = 0.0 if x_zero_point is None else lowered_spread(builder, x_zero_point, x, self.axis, self.block_size)
        steps = apply("subtract", Load(0), Load(2)) if isinstance(zero, Tensor) else Load(0)
        product = apply("multiply", steps, Load(1))
        return builder.body(product, x, scale, zero, dtype=target, accumulator="float32", kind="dequantize")


define("DequantizeLinear", DequantizeLinear, since=10, unpacks=True)
