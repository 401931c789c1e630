"""QLinearAveragePool and QLinearGlobalAveragePool: means of windows, or of whole channels, of what bytes stand for.

Source: onnxruntime's ContribOperators.md. Means are those of float32, divided by the result's scale and rounded to even.
onnxruntime sums in another order (windows) or multiplies sums of integers by one rounded factor (channels): where a mean lies
halfway between two steps but for these roundings, results may be a step apart.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import (
    MICROSOFT,
    check_operand,
    dequantised,
    lowered_dequantised,
    lowered_requantised,
    requantised,
)
from tilewright.frontend.onnx.operators.nn.average_pool import AveragePool
from tilewright.frontend.onnx.operators.nn.sliding import Pooling
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearAveragePool(Pooling):
    """The mean of every window; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0
    count_include_pad: int = 0

    def reference(self, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
        _check("QLinearAveragePool", x, (x_scale, x_zero), (y_scale, y_zero))
        values = dequantised(x, x_scale, x_zero)
        values = np.moveaxis(values, -1, 1) if self.channels_last else values
        means = self._pool().reference(values)
        return requantised(np.moveaxis(means, 1, -1) if self.channels_last else means, y_scale, y_zero, x.dtype)

    def lower(
        self,
        builder: Builder,
        x: Tensor,
        x_scale: Tensor,
        x_zero: Tensor | None,
        y_scale: Tensor,
        y_zero: Tensor | None = None,
    ) -> Tensor:
        """A map, the sums of windows in float32, and a map."""
        _check("QLinearAveragePool", x, (x_scale, x_zero), (y_scale, y_zero), builder)
        value, operands = lowered_dequantised(builder, x, x_scale, x_zero, 0)
        values = builder.body(value, *operands, dtype="float32", kind="dequantize")
        rank = len(x.shape)
        values = builder.transpose(values, (0, rank - 1, *range(1, rank - 1))) if self.channels_last else values
        means = self._pool().lower(builder, values)
        means = builder.transpose(means, (0, *range(2, rank), 1)) if self.channels_last else means
        return lowered_requantised(builder, Load(0), (means,), y_scale, y_zero, x.dtype)

    def _pool(self) -> AveragePool:
        names = (field.name for field in fields(AveragePool))
        return AveragePool(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearGlobalAveragePool:
    """The mean of every channel; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0

    def reference(self, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
        _check("QLinearGlobalAveragePool", x, (x_scale, x_zero), (y_scale, y_zero))
        values = dequantised(x, x_scale, x_zero)
        return requantised(values.mean(axis=self._axes(x), keepdims=True), y_scale, y_zero, x.dtype)

    def lower(
        self,
        builder: Builder,
        x: Tensor,
        x_scale: Tensor,
        x_zero: Tensor | None,
        y_scale: Tensor,
        y_zero: Tensor | None = None,
    ) -> Tensor:
        """A map, a mean, and a map."""
        _check("QLinearGlobalAveragePool", x, (x_scale, x_zero), (y_scale, y_zero), builder)
        value, operands = lowered_dequantised(builder, x, x_scale, x_zero, 0)
        values = builder.body(value, *operands, dtype="float32", kind="dequantize")
        means = builder.reduce("mean", values, self._axes(x), keepdims=True)
        return lowered_requantised(builder, Load(0), (means,), y_scale, y_zero, x.dtype)

    def _axes(self, x: Any) -> tuple[int, ...]:
        rank = len(x.shape)
        if rank < 3:
            where, why = "QLinearGlobalAveragePool", "there are no spatial dimensions"
            raise ShapeError(f"a global pool of {shape_text(x.shape)}", where=where, why=why)
        return tuple(range(1, rank - 1)) if self.channels_last else tuple(range(2, rank))


def _check(where: str, x: Any, of_x: Any, of_y: Any, builder: Builder | None = None) -> None:
    known = None if builder is None else builder.known
    check_operand(where, "X", x.dtype, *of_x, known=known)
    check_operand(where, "Y", x.dtype, *of_y, known=known)


define("QLinearAveragePool", QLinearAveragePool, domain=MICROSOFT)
define("QLinearGlobalAveragePool", QLinearGlobalAveragePool, domain=MICROSOFT)
