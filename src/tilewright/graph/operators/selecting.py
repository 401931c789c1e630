"""Compress, NonZero and Unique of ONNX: how many elements the results have depends on data, so these run as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.graph.definition import define


def compress_meaning(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    """The slices along an axis, or the elements in row-major order, where a condition holds; what it lacks is left out."""
    values = x.reshape(-1) if axis is None else x
    return np.compress(np.asarray(condition, bool).reshape(-1), values, axis=0 if axis is None else axis)


def nonzero_meaning(x: Any) -> Any:
    """The positions of what is not 0, one column each, in row-major order."""
    found = np.nonzero(x if x.ndim else x.reshape(1))
    return np.asarray(found[: x.ndim], np.int64).reshape(x.ndim, len(found[0]))


def unique_meaning(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    """The distinct elements or slices, where each occurs first, which of them every one is, and how often they occur."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        inverse = np.argsort(order, kind="stable")[inverse]
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
    return values, *(one.astype(np.int64) for one in (first, inverse, counts))


define("Compress", compress_meaning, since=9)
define("NonZero", nonzero_meaning, since=9)
define("Unique", unique_meaning, since=11)
