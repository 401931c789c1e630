"""LRN, local response normalization: y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta.

A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import window_of, windows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.windows import Window, window_reduction
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LRN:
    """Every element over a power of the squares around it."""

    alpha: float = 0.0001
    beta: float = 0.75
    bias: float = 1.0
    size: int

    def reference(self, x: Any) -> Any:
        data = np.moveaxis(x.astype(np.result_type(x.dtype, np.float32)), 1, -1)
        sums = windows(np.square(data), self._window(x.shape), 0).sum(axis=-1)
        return np.asarray(np.moveaxis(data / (self.bias + self.alpha / self.size * sums) ** self.beta, -1, 1), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum over windows of channels, and a map."""
        squares = builder.map("square", x)
        window = self._window(x.shape)
        sums = builder.record(window_reduction, squares, 1, window, REDUCTIONS["sum"], 0.0, kind="window")
        base = apply("add", apply("multiply", Load(1), Literal(self.alpha / self.size)), Literal(self.bias))
        factor = apply("exp", apply("multiply", apply("log", base), Literal(-self.beta)))
        return builder.body(apply("multiply", Load(0), factor), x, sums, kind="lrn")

    def _window(self, shape: Sequence[Extent]) -> Window:
        if len(shape) < 2 or self.size < 1:
            raise ShapeError(f"LRN of {shape_text(shape)} over {self.size} channels", where="LRN")
        return window_of((shape[1],), (self.size,), where="LRN", pads=((self.size - 1) // 2, self.size // 2))


define("LRN", LRN)
