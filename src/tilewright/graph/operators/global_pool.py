"""GlobalAveragePool and GlobalMaxPool: the mean and the largest element of every channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def _meaning(function: str) -> Callable[[Any], Any]:
    def meaning(x: Any) -> Any:
        """The same by NumPy."""
        computed = x.astype(np.float32) if x.dtype == np.float16 else x
        return np.asarray(getattr(computed, function)(axis=tuple(range(2, x.ndim)), keepdims=True), x.dtype)

    return meaning


def _lower(function: str) -> Callable[[Builder, Tensor], Tensor]:
    def lower(builder: Builder, x: Tensor) -> Tensor:
        """One reduction."""
        if len(x.shape) < 3:
            raise ShapeError(f"a global pool of {shape_text(x.shape)}", where=function, why="there are no spatial dimensions")
        return builder.reduce(function, x, tuple(range(2, len(x.shape))), keepdims=True)

    return lower


define("GlobalAveragePool", _meaning("mean"), _lower("mean"))
define("GlobalMaxPool", _meaning("max"), _lower("max"))
