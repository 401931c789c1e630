"""ConvInteger and QLinearConv: convolutions of integers less their zero points, summed in 32 bits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.conv import Convolution
from tilewright.frontend.onnx.operators.quantization.quantized import SMALL, lowered_quantized, quantized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.integer_convolution import padded_integer_convolution
from tilewright.graph.builders.convolutions.run_time_windows import PaddedWindow
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.scalar import Load, apply
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvInteger(Convolution):
    """The sums, of what the padding leaves out as 0."""

    def reference(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        return self.sums(_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))

    def lower(self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        """One operator, behind a padded copy of some images: planning chooses how it is computed."""
        if are_known(x.shape[2:]):
            window: Window | PaddedWindow = self.window(x.shape, w.shape)
        else:
            window = self.padded_windows(x.shape[2:], self._kernel(x.shape, w.shape), "ConvInteger")
        return padded_integer_convolution(builder, x, w, window, self.group, x_zero, w_zero)


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearConv(Convolution):
    """The sums, scaled, rounded to even and saturated to the type of the result's zero point."""

    def reference(
        self,
        x: Any,
        x_scale: Any,
        x_zero: Any,
        w: Any,
        w_scale: Any,
        w_zero: Any,
        y_scale: Any,
        y_zero: Any,
        b: Any = None,
    ) -> Any:
        sums = self.sums(_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))
        shape = (-1,) + (1,) * (x.ndim - 2)
        sums = sums if b is None else sums + np.reshape(b, shape)
        scale = np.asarray(x_scale, np.float32) * np.asarray(w_scale, np.float32) / np.asarray(y_scale, np.float32)
        return quantized(sums.astype(np.float32) * np.reshape(scale, shape if scale.size > 1 else (1,)), y_zero)

    def lower(
        self,
        builder: Builder,
        x: Tensor,
        x_scale: Tensor,
        x_zero: Tensor,
        w: Tensor,
        w_scale: Tensor,
        w_zero: Tensor,
        y_scale: Tensor,
        y_zero: Tensor,
        b: Tensor | None = None,
    ) -> Tensor:
        """The sums with the bias in int32, and maps that scale and round them in float32."""
        if any(scale.dtype != "float32" for scale in (x_scale, w_scale, y_scale)) or y_zero.dtype not in SMALL:
            raise UnsupportedOperation(f"QLinearConv with scales of {w_scale.dtype}, or to {y_zero.dtype}, has no lowering")
        sums = ConvInteger(**asdict(self)).lower(builder, x, w, x_zero, w_zero)
        if b is not None:
            sums = builder.map("add", sums, _by_filter(builder, b, x))
        numbers = [_by_filter(builder, scale, x) for scale in (x_scale, w_scale, y_scale)]
        factor = apply("divide", apply("multiply", Load(0), Load(1)), Load(2))
        scale = builder.body(factor, *numbers, kind="factor")
        zero = _by_filter(builder, y_zero, x)
        return lowered_quantized(builder, apply("multiply", Load(0), Load(1)), [sums, scale], zero, y_zero.dtype)


def _by_filter(builder: Builder, parameter: Tensor, x: Tensor) -> Tensor:
    """A number, or one for every filter, as it broadcasts to the result."""
    filters = parameter.shape[0] if parameter.shape else 1
    return builder.reshape(parameter, () if filters == 1 else (filters, *(1,) * (len(x.shape) - 2)))


def _centred(x: Any, zero: Any, channels: int) -> Any:
    """x less its zero point, of which dimension 0 may have one for each channel."""
    if zero is None:
        return x.astype(np.int32)
    shape = (channels,) + (1,) * (x.ndim - 1) if np.size(zero) > 1 else (1,) * x.ndim
    return x.astype(np.int32) - np.reshape(zero.astype(np.int32), shape)


define("ConvInteger", ConvInteger, since=10)
define("QLinearConv", QLinearConv, since=10)
