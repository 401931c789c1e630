"""ConvInteger and QLinearConv: convolutions of integers less their zero points, summed in 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.conv import Convolution
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvInteger(Convolution):
    """The sums, of what the padding leaves out as 0."""

    def reference(self, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
        return self.sums(_centred(x, x_zero, 1), _centred(w, w_zero, w.shape[0]))

    def lower(self, builder: Builder, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        """A convolution in 32 bits, computed exactly."""
        return self.lowered_sums(builder, _lowered(builder, x, x_zero), _lowered(builder, w, w_zero))


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
        rounded = np.rint(sums * np.reshape(scale, shape if scale.size > 1 else (1,))) + np.asarray(y_zero, np.int32)
        limits = np.iinfo(y_zero.dtype)
        return np.asarray(np.clip(rounded, limits.min, limits.max), y_zero.dtype)


def _centred(x: Any, zero: Any, channels: int) -> Any:
    """x less its zero point, of which dimension 0 may have one for each channel."""
    if zero is None:
        return x.astype(np.int32)
    shape = (channels,) + (1,) * (x.ndim - 1) if np.size(zero) > 1 else (1,) * x.ndim
    return x.astype(np.int32) - np.reshape(zero.astype(np.int32), shape)


def _lowered(builder: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    whole = builder.cast(x, "int32")
    if zero is None:
        return whole
    extents = (zero.shape[0],) if zero.shape and zero.shape[0] != 1 else (1,)
    column = builder.reshape(builder.cast(zero, "int32"), (*extents, *(1,) * (len(x.shape) - 1)))
    return builder.map("subtract", whole, column)


define("ConvInteger", ConvInteger, since=10)
define("QLinearConv", QLinearConv, since=10)
