"""TensorScatter: a cache with new entries, from a position on that is said for every batch item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.tensor.scattered import grid, scattered
from tilewright.graph.shapes import normalize_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorScatter:
    """The entries along `axis`. In `circular` mode positions begin anew at the end of the cache."""

    axis: int = -2
    mode: str = "linear"

    def reference(self, past: Any, update: Any, write_indices: Any = None) -> Any:
        axis = normalize_axis(self.axis, past.ndim, "TensorScatter")
        starts = np.zeros(past.shape[0], np.int64) if write_indices is None else np.asarray(write_indices)
        if axis == 0 or update.ndim != past.ndim or starts.shape != past.shape[:1]:
            raise ShapeError(f"an update of shape {update.shape} along axis {axis}", where=f"TensorScatter into {past.shape}")
        places = grid(update.shape)
        places[axis] = places[axis] + starts.reshape((-1,) + (1,) * (past.ndim - 1))
        if self.mode == "circular":
            places[axis] = places[axis] % past.shape[axis]
        return scattered(past, tuple(places), update, "none")


define("TensorScatter", TensorScatter, since=24)
