"""AveragePool: the mean of every window, over its elements inside of the input, or of input and padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Pooling, windows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_means import element_counts, pooled_mean
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePool(Pooling):
    """The mean of every window."""

    count_include_pad: int = 0

    def reference(self, x: Any) -> Any:
        window = self.window(x.shape, "AveragePool")
        view = windows(x.astype(np.result_type(x.dtype, np.float32)), window, 0)
        sums = view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim)))
        return np.asarray(sums / element_counts(window, with_padding=bool(self.count_include_pad)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A sum for every dimension, and a division by the numbers of elements."""
        window = self.pools(x.shape, "AveragePool")
        return pooled_mean(builder, x, window, with_padding=bool(self.count_include_pad), first=2)


define("AveragePool", AveragePool)
