"""TopK of ONNX: the largest or smallest elements along an axis and their positions; of equal ones the first come first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.shapes import normalize_axis


def meaning(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """Values and positions; always sorted."""
    axis, count = normalize_axis(axis, x.ndim, "TopK"), int(np.asarray(k).reshape(-1)[0])
    if not 0 <= count <= x.shape[axis]:
        raise ShapeError(f"the top {count} of {x.shape[axis]} elements", where=f"TopK of {x.shape} along axis {axis}")
    if largest:
        backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(backwards, axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    chosen = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, chosen, axis), chosen.astype(np.int64)


def meaning_of_attribute(x: Any, *, k: int, axis: int = -1) -> Any:
    """The largest, so many as an attribute says."""
    return meaning(x, k, axis=axis)


define("TopK", meaning_of_attribute)
define("TopK", meaning, since=10)
