"""RoiAlign and MaxRoiPool: regions of an image, each as a grid of bins of one size.

K. He, G. Gkioxari, P. Dollar, R. Girshick, "Mask R-CNN", arXiv:1703.06870 (2017), section 3 (bins are sampled between pixels);
R. Girshick, "Fast R-CNN", arXiv:1504.08083 (2015), section 2.1 (bins are the largest of their pixels).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import shape_text


def align(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Any:
    """The mean, or the largest, of the samples of every bin."""
    _check("RoiAlign", x, rois, 4)
    if batch_indices.shape != rois.shape[:1]:
        raise ShapeError(f"RoiAlign of {shape_text(rois.shape)} in images {shape_text(batch_indices.shape)}", where="RoiAlign")
    check_positions(batch_indices, x.shape[0], "RoiAlign", least=0)
    half = coordinate_transformation_mode == "half_pixel"
    out = np.zeros((len(rois), x.shape[1], output_height, output_width))
    for number, (region, image) in enumerate(zip(rois.astype(np.float64), batch_indices, strict=True)):
        left, top, right, bottom = region * spatial_scale - (0.5 if half else 0.0)
        rows = _samples(top, bottom, output_height, sampling_ratio, half)
        columns = _samples(left, right, output_width, sampling_ratio, half)
        corners = [
            (_element(x[int(image)].astype(np.float64), r, c))
            for r in _corners(rows, x.shape[2])
            for c in _corners(columns, x.shape[3])
        ]
        shape = (x.shape[1], output_height, len(rows) // output_height, output_width, len(columns) // output_width)
        values = np.sum(corners, axis=0) if mode == "avg" else np.max(corners, axis=0)
        bins = values.reshape(shape)
        out[number] = bins.mean(axis=(2, 4)) if mode == "avg" else bins.max(axis=(2, 4))
    return np.asarray(out, x.dtype)


def align_since_10(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Any:
    """The same without a shift of half a pixel."""
    return align(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


def _check(where: str, x: Any, rois: Any, columns: int) -> None:
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != columns:
        raise ShapeError(f"{where} of {shape_text(rois.shape)} regions in {shape_text(x.shape)}", where=where)


def _samples(start: float, stop: float, bins: int, ratio: int, half: bool) -> Any:
    """Where all bins are sampled, bin by bin."""
    size = stop - start if half else max(stop - start, 1.0)
    each = ratio if ratio > 0 else max(ceil(size / bins), 1)
    return start + (np.arange(bins * each) + 0.5) * size / (bins * each)


def _corners(places: Any, extent: int) -> list[tuple[Any, Any]]:
    """(element, weight) of both neighbours of every place; no weight a pixel or more outside."""
    real = (places >= -1) & (places <= extent)
    inside = np.clip(places, 0, extent - 1)
    low = np.minimum(np.floor(inside), extent - 1).astype(np.int64)
    high = np.minimum(low + 1, extent - 1)
    return [(low, (1 - (inside - low)) * real), (high, (inside - low) * real)]


def _element(image: Any, row: tuple[Any, Any], column: tuple[Any, Any]) -> Any:
    return image[:, row[0][:, None], column[0][None, :]] * (row[1][:, None] * column[1][None, :])


def max_pool(x: Any, rois: Any, *, pooled_shape: Sequence[int] = (), spatial_scale: float = 1.0) -> Any:
    """The largest pixel of every bin, 0 in bins without pixels; a region begins with the number of its image."""
    _check("MaxRoiPool", x, rois, 5)
    check_positions(rois[:, 0], x.shape[0], "MaxRoiPool", least=0)
    height, width = pooled_shape
    out = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for number, region in enumerate(rois.astype(np.float64)):
        left, top, right, bottom = (floor(edge * spatial_scale + 0.5) for edge in region[1:])
        rows = _bins(top, bottom, height, x.shape[2])
        columns = _bins(left, right, width, x.shape[3])
        for i, j in np.ndindex(height, width):
            part = x[int(region[0]), :, rows[i], columns[j]]
            out[number, :, i, j] = part.max(axis=(1, 2)) if part.size else 0
    return out


def _bins(first: int, last: int, bins: int, extent: int) -> list[slice]:
    size = max(last - first + 1, 1) / bins
    edges = [(floor(i * size) + first, ceil((i + 1) * size) + first) for i in range(bins)]
    return [slice(min(max(low, 0), extent), min(max(high, 0), extent)) for low, high in edges]


define("RoiAlign", align_since_10, since=10)
define("RoiAlign", align, since=16)
define("MaxRoiPool", max_pool)
