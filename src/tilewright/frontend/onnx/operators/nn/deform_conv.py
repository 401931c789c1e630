"""DeformConv: a convolution whose taps are moved by offsets, between pixels, and weighed by a mask.

J. Dai et al., "Deformable Convolutional Networks", arXiv:1703.06211 (2017), section 2.1; X. Zhu et al., arXiv:1811.11168 (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.shapes import shape_text


@dataclass(frozen=True, slots=True, kw_only=True)
class DeformConv:
    """Every tap sampled bilinearly, with zeros outside; then the products are summed."""

    dilations: Sequence[int] | None = None
    group: int = 1
    kernel_shape: Sequence[int] | None = None
    offset_group: int = 1
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def reference(self, x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None) -> Any:
        window = self._window(x.shape, w.shape, offset.shape)
        n, channels = x.shape[:2]
        taps, outputs, parts = prod(window.kernel), window.outputs, self.offset_group
        moves = offset.reshape(n, parts, taps, 2, *outputs).astype(np.float64)
        weights = np.ones((n, parts, taps, *outputs)) if mask is None else mask.reshape(n, parts, taps, *outputs)
        data = x.astype(np.float64).reshape(n, parts, channels // parts, *window.extents)
        sampled = [_sampled(data, window, tap, moves[:, :, tap]) * weights[:, :, None, tap] for tap in range(taps)]
        columns = np.stack(sampled, axis=3).reshape(n, self.group, channels // self.group, taps, *outputs)
        filters = w.astype(np.float64).reshape(self.group, w.shape[0] // self.group, w.shape[1], taps)
        sums = np.einsum("ngctij,gmct->ngmij", columns, filters, optimize=True).reshape(n, w.shape[0], *outputs)
        return np.asarray(sums if b is None else sums + np.reshape(b, (-1, 1, 1)), x.dtype)

    def _window(self, x: tuple[int, ...], w: tuple[int, ...], offset: tuple[int, ...]) -> Window:
        """The windows before they are moved. Raises `ShapeError` and `UnsupportedOperation` for shapes that do not fit."""
        if len(x) != 4 or len(w) != 4:
            raise UnsupportedOperation(f"DeformConv of {shape_text(x)}", where="DeformConv", why="only images are")
        window = window_of(x[2:], w[2:], where="DeformConv", pads=self.pads, strides=self.strides, dilations=self.dilations)
        moves = (x[0], self.offset_group * prod(window.kernel) * 2, *window.outputs)
        if offset != moves or x[1] % self.offset_group or x[1] != w[1] * self.group:
            raise ShapeError(f"DeformConv of {shape_text(x)} by {shape_text(w)} moved by {shape_text(offset)}")
        return window


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


define("DeformConv", DeformConv, since=19)
