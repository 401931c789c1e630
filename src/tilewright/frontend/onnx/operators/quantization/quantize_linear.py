"""QuantizeLinear: numbers as multiples of a scale, counted from a zero point.

Source: the ONNX operator schemas, opsets 10 to 28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.quantization.parameters import check_output_type, check_scale
from tilewright.frontend.onnx.operators.quantization.quantized import (
    NUMBERS,
    SCALES,
    STORED,
    lowered_quantized,
    lowered_spread,
    quantized,
    spread,
)
from tilewright.graph.builders.builder import Builder, Operand
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeLinear:
    """x / scale rounded to even, plus the zero point, within the range of the type of that (uint8 if nothing says which)."""

    axis: int = 1
    block_size: int = 0
    output_dtype: int = 0
    precision: int = 0
    saturate: int = 1

    def reference(self, x: Any, y_scale: Any, y_zero_point: Any = None) -> Any:
        check_output_type(y_zero_point, self._declared(), "y")
        if y_zero_point is None:
            y_zero_point = np.zeros((), element_type(self.output_dtype or 2))
        scale, zero = (spread(parameter, x.shape, self.axis, self.block_size) for parameter in (y_scale, y_zero_point))
        chosen = np.float32 if not self.precision else widened(np.zeros((), element_type(self.precision))).dtype
        with np.errstate(all="ignore"):
            return quantized(x.astype(chosen) / scale.astype(chosen), zero, saturate=bool(self.saturate))

    def lower(self, builder: Builder, x: Tensor, y_scale: Tensor, y_zero_point: Tensor | None = None) -> Tensor:
        """One map in float32, which holds halves."""
        check_output_type(y_zero_point, self._declared(), "y")
        check_scale(builder, y_scale, "y", divides=True)
        target = element_type(self.output_dtype or 2).name if y_zero_point is None else y_zero_point.dtype
        is_float = x.dtype in NUMBERS and y_scale.dtype in SCALES
        if target not in STORED or not is_float or self.precision not in (0, 1) or not self.saturate:
            raise UnsupportedOperation(f"QuantizeLinear of {x.dtype} to {target} has no lowering")
        x, y_scale = builder.cast(x, "float32"), builder.cast(y_scale, "float32")
        scale = lowered_spread(builder, y_scale, x, self.axis, self.block_size)
        zero: Operand = 0.0 if y_zero_point is None else lowered_spread(builder, y_zero_point, x, self.axis, self.block_size)
        return lowered_quantized(builder, apply("divide", Load(0), Load(1)), (x, scale), zero, target)

    def _declared(self) -> str | None:
        return element_type(self.output_dtype).name if self.output_dtype else None


define("QuantizeLinear", QuantizeLinear, since=10)
