"""AveragePool: the mean of every window, over its elements inside of the input, or of input and padding.

Sums are taken dimension by dimension; how many elements a window has is known for every position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Pooling, windows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.builders.windows import Window, windowed
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePool(Pooling):
    """The mean of every window."""

    count_include_pad: int = 0

    def reference(self, x: Any) -> Any:
        window = self.window(x.shape, "AveragePool")
        view = windows(x.astype(np.result_type(x.dtype, np.float32)), window, 0)
        sums = view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim)))
        return np.asarray(sums / _counts(window, bool(self.count_include_pad)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A sum for every dimension, and a division by the numbers of elements."""
        window = self.window(x.shape, "AveragePool")
        sums = windowed(builder, x, window, REDUCTIONS["sum"], 0.0)
        counts = _counts(window, bool(self.count_include_pad))
        if len(np.unique(counts)) <= 1:
            return builder.body(apply("multiply", Load(0), Literal(1.0 / float(counts.max(initial=1)))), sums, kind="mean")
        return builder.map("multiply", sums, builder.constant((1.0 / counts).astype(x.dtype), "inverse_counts"))


def _counts(window: Window, with_padding: bool) -> Any:
    """How many elements every window has: inside of the input, or of the input and the padding that was asked for."""
    along = []
    for d in range(window.rank):
        places = np.arange(window.outputs[d])[:, None] * window.strides[d] + np.arange(window.kernel[d]) * window.dilations[d]
        places = places - window.begins[d]
        low = -window.begins[d] if with_padding else 0
        high = window.extents[d] + (window.ends[d] if with_padding else 0)
        along.append(np.maximum(((places >= low) & (places < high)).sum(axis=1), 1))
    return reduce(np.multiply.outer, along).astype(np.float64)


define("AveragePool", AveragePool)
