"""GlobalAveragePool and GlobalMaxPool: the mean and the largest element of every channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class GlobalPool:
    """A reduction of every channel."""

    function: str
    """`mean` or `max`."""

    def reference(self, x: Any) -> Any:
        computed = x.astype(np.float32) if x.dtype == np.float16 else x
        return np.asarray(getattr(computed, self.function)(axis=tuple(range(2, x.ndim)), keepdims=True), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        if len(x.shape) < 3:
            text = f"a global pool of {shape_text(x.shape)}"
            raise ShapeError(text, where=self.function, why="there are no spatial dimensions")
        return builder.reduce(self.function, x, tuple(range(2, len(x.shape))), keepdims=True)


define("GlobalAveragePool", GlobalPool, "mean")
define("GlobalMaxPool", GlobalPool, "max")
