"""DeformConv: a convolution whose taps are moved by offsets, between pixels, and weighed by a mask.

J. Dai et al., "Deformable Convolutional Networks", arXiv:1703.06211 (2017), section 2.1; X. Zhu et al., arXiv:1811.11168 (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.operators.windows import Window, window_of
from tilewright.graph.shapes import shape_text


def meaning(
    x: Any,
    w: Any,
    offset: Any,
    b: Any = None,
    mask: Any = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The same by NumPy: every tap is sampled bilinearly, with zeros outside; then the products are summed."""
    if x.ndim != 4 or w.ndim != 4:
        raise UnsupportedOperation(f"DeformConv of {shape_text(x.shape)}", where="DeformConv", why="only images are")
    window = window_of(x.shape[2:], w.shape[2:], where="DeformConv", pads=pads, strides=strides, dilations=dilations)
    n, channels = x.shape[:2]
    taps, outputs = prod(window.kernel), window.outputs
    if offset.shape != (n, offset_group * taps * 2, *outputs) or channels % offset_group or channels != w.shape[1] * group:
        raise ShapeError(f"DeformConv of {shape_text(x.shape)} by {shape_text(w.shape)} moved by {shape_text(offset.shape)}")
    moves = offset.reshape(n, offset_group, taps, 2, *outputs).astype(np.float64)
    weights = np.ones((n, offset_group, taps, *outputs)) if mask is None else mask.reshape(n, offset_group, taps, *outputs)
    data = x.astype(np.float64).reshape(n, offset_group, channels // offset_group, *window.extents)
    columns = np.stack([_sampled(data, window, tap, moves[:, :, tap]) * weights[:, :, None, tap] for tap in range(taps)], axis=3)
    columns = columns.reshape(n, group, channels // group, taps, *outputs)
    filters = w.astype(np.float64).reshape(group, w.shape[0] // group, w.shape[1], taps)
    sums = np.einsum("ngctij,gmct->ngmij", columns, filters, optimize=True).reshape(n, w.shape[0], *outputs)
    return np.asarray(sums if b is None else sums + np.reshape(b, (-1, 1, 1)), x.dtype)


def _sampled(data: Any, window: Window, tap: int, moves: Any) -> Any:
    """All channels at the moved places of one tap."""
    total: Any = 0.0
    places = []
    for d, k in enumerate(np.unravel_index(tap, window.kernel)):
        start = np.arange(window.outputs[d]) * window.strides[d] - window.begins[d] + int(k) * window.dilations[d]
        places.append(moves[:, :, d] + start.reshape((-1, 1) if d == 0 else (1, -1)))
    low = [np.floor(place) for place in places]
    images, groups = np.arange(data.shape[0])[:, None, None, None], np.arange(data.shape[1])[None, :, None, None]
    for corner in np.ndindex(2, 2):
        weight, index = 1.0, []
        for d, side in enumerate(corner):
            at = low[d] + side
            weight = weight * (1 - np.abs(places[d] - at)) * ((at >= 0) & (at < window.extents[d]))
            index.append(np.clip(at, 0, window.extents[d] - 1).astype(np.int64))
        values = np.moveaxis(data, 2, -1)[images, groups, index[0], index[1]]
        total = total + np.moveaxis(values * np.asarray(weight)[..., None], -1, 2)
    return total


define("DeformConv", meaning, since=19)
