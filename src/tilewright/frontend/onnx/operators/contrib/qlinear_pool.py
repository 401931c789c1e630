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
from tilewright.frontend.onnx.operators.contrib.parameters import MICROSOFT
from tilewright.frontend.onnx.operators.contrib.quantised_function import QuantisedFunction
from tilewright.frontend.onnx.operators.nn.average_pool import AveragePool
from tilewright.frontend.onnx.operators.nn.sliding import Pooling
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearAveragePool(Pooling, QuantisedFunction):
    """The mean of every window; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0
    count_include_pad: int = 0

    def values(self, x: Any) -> Any:
        means = self._pool().reference(np.moveaxis(x, -1, 1) if self.channels_last else x)
        return np.moveaxis(means, 1, -1) if self.channels_last else means

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        """The sums of windows in float32."""
        rank = len(x.shape)
        x = builder.transpose(x, (0, rank - 1, *range(1, rank - 1))) if self.channels_last else x
        means = self._pool().lower(builder, x)
        return builder.transpose(means, (0, *range(2, rank), 1)) if self.channels_last else means

    def _pool(self) -> AveragePool:
        names = (field.name for field in fields(AveragePool))
        return AveragePool(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearGlobalAveragePool(QuantisedFunction):
    """The mean of every channel; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0

    def values(self, x: Any) -> Any:
        return x.mean(axis=self._axes(x), keepdims=True)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.reduce("mean", x, self._axes(x), keepdims=True)

    def _axes(self, x: Any) -> tuple[int, ...]:
        rank = len(x.shape)
        if rank < 3:
            where, why = "QLinearGlobalAveragePool", "there are no spatial dimensions"
            raise ShapeError(f"a global pool of {shape_text(x.shape)}", where=where, why=why)
        return tuple(range(1, rank - 1)) if self.channels_last else tuple(range(2, rank))


define("QLinearAveragePool", QLinearAveragePool, domain=MICROSOFT)
define("QLinearGlobalAveragePool", QLinearGlobalAveragePool, domain=MICROSOFT)
