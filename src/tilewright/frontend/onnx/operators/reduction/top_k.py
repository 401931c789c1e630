"""TopK: the largest or smallest elements along an axis and their positions; of equal ones the first come first."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.shapes import normalize_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK:
    """Values and positions, always sorted."""

    axis: int = -1
    largest: int = 1
    sorted: int = 1

    def reference(self, x: Any, k: Any) -> Any:
        axis, count = normalize_axis(self.axis, x.ndim, "TopK"), int(np.asarray(k).reshape(-1)[0])
        if not 0 <= count <= x.shape[axis]:
            raise ShapeError(f"the top {count} of {x.shape[axis]} elements", where=f"TopK of {x.shape} along axis {axis}")
        if self.largest:
            backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
            order = x.shape[axis] - 1 - np.flip(backwards, axis)
        else:
            order = np.argsort(x, axis=axis, kind="stable")
        chosen = np.take(order, np.arange(count), axis=axis)
        return np.take_along_axis(x, chosen, axis), chosen.astype(np.int64)


define("TopK", TopK, by_attribute={"k": MISSING})
define("TopK", TopK, since=10)
