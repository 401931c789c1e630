"""GridSample and AffineGrid: an image at the positions of a grid, and the positions of pixels under affine maps.

Source: M. Jaderberg et al., "Spatial Transformer Networks", arXiv:1506.02025 (2015), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.shapes import shape_text

CUBIC_A = -0.75
MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic", "nearest": "nearest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSample:
    """Samples of x (N, C, ...) at the positions of a grid from -1 to 1, the last dimension of x first."""

    align_corners: int = 0
    mode: str = "linear"
    padding_mode: str = "zeros"

    def reference(self, x: Any, grid: Any) -> Any:
        rank = x.ndim - 2
        if grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != rank:
            raise ShapeError(f"GridSample of {shape_text(x.shape)} at {shape_text(grid.shape)}", where="GridSample")
        if self.mode not in MODES or self.padding_mode not in ("zeros", "border", "reflection"):
            raise UnsupportedOperation(f"GridSample by {self.mode!r} with padding {self.padding_mode!r}", where="GridSample")
        accurate = np.float64 if grid.dtype == np.float64 else np.float32
        taps = []
        for d in range(rank):
            extent = x.shape[d + 2]
            place = _place(grid[..., rank - 1 - d].astype(accurate), extent, bool(self.align_corners))
            if MODES[self.mode] == "linear":
                place = _moved_inside(place, extent, self.padding_mode, bool(self.align_corners))
            taps.append(_taps(place, MODES[self.mode]))
        return _gathered(x, taps, self.padding_mode, bool(self.align_corners))


def _place(position: Any, extent: int, align_corners: bool) -> Any:
    """A position from -1 to 1 in elements."""
    return (position + 1) / 2 * (extent - 1) if align_corners else ((position + 1) * extent - 1) / 2


def _moved_inside(place: Any, extent: int, padding: str, align_corners: bool) -> Any:
    """A place inside the tensor for one outside: at its border, or mirrored there."""
    if padding == "zeros":
        return place
    if padding == "border":
        return np.clip(place, 0, extent - 1)
    low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
    span = max(high - low, 1e-9)
    turned = np.mod(place - low, 2 * span)
    mirrored = np.where(turned > span, 2 * span - turned, turned) + low
    return np.where((place < low) | (place > high), mirrored, place)


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """(element, weight) of every element that a place is made of."""
    base = np.floor(place)
    if mode == "nearest":
        return [(np.rint(place), np.ones_like(place))]
    if mode == "linear":
        return [(base, 1 - (place - base)), (base + 1, place - base)]
    return [(base + i, _cubic(np.abs(place - base - i))) for i in range(-1, 3)]


def _cubic(t: Any) -> Any:
    near = ((CUBIC_A + 2) * t - (CUBIC_A + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * CUBIC_A - 4 * CUBIC_A
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _gathered(x: Any, taps: list[list[tuple[Any, Any]]], padding: str, align_corners: bool) -> Any:
    """The weighted sums of taps: none outside where the padding is zeros; those inside count even with the weight 0."""
    total: Any = 0.0
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * len(taps))
    for combination in product(*taps):
        weight: Any = 1.0
        inside: Any = True
        index = []
        for d, (element, factor) in enumerate(combination):
            extent = x.shape[d + 2]
            at = _moved_inside(element, extent, padding, align_corners)
            weight = weight * factor
            inside = inside & ((at >= 0) & (at <= extent - 1) | (padding != "zeros"))
            index.append(np.clip(np.rint(np.nan_to_num(at)), 0, extent - 1).astype(np.int64))
        values = np.moveaxis(x, 1, -1)[(batch, *index)]
        with np.errstate(invalid="ignore"):
            total = total + np.where(np.asarray(inside)[..., None], values * weight[..., None], 0)
    return np.asarray(np.moveaxis(total, -1, 1), x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineGrid:
    """The positions theta (x, y, 1) of all pixels of images of that size, or theta (x, y, z, 1)."""

    align_corners: int = 0

    def reference(self, theta: Any, size: Any) -> Any:
        shape = tuple(int(extent) for extent in np.reshape(size, -1))
        rank = len(shape) - 2
        if rank < 1 or theta.shape != (shape[0], rank, rank + 1) or prod(shape) > MOST_ELEMENTS:
            raise ShapeError(f"AffineGrid of {shape_text(theta.shape)} for {shape_text(shape)}", where="AffineGrid")
        steps = []
        for extent in shape[2:]:
            unit = np.arange(extent, dtype=np.float64)
            steps.append((2 * unit + 1) / extent - 1 if not self.align_corners else 2 * unit / max(extent - 1, 1) - 1)
        grids = np.meshgrid(*steps, indexing="ij")
        homogeneous = np.stack([*reversed(grids), np.ones_like(grids[0])], axis=-1)
        return np.asarray(np.einsum("nij,...j->n...i", theta.astype(np.float64), homogeneous), theta.dtype)


define("GridSample", GridSample, since=16)
define("AffineGrid", AffineGrid, since=20)
