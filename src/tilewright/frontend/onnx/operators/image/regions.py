"""Samples and regions of images: grids, regions of interest as bins, and boxes that overlap.

GridSample and AffineGrid: an image at the positions of a grid, and the positions of pixels under affine maps. Source:
M. Jaderberg et al., "Spatial Transformer Networks", arXiv:1506.02025 (2015), section 3.

RoiAlign and MaxRoiPool: regions as grids of bins; NonMaxSuppression: boxes that overlap. RoiAlign samples bins between pixels:
K. He, G. Gkioxari, P. Dollar, R. Girshick, "Mask R-CNN", arXiv:1703.06870 (2017), section 3. Where a bin is sampled, and how
often, is computed in the image's type, float32 at least, by onnxruntime's operations in its order: a rounding may decide.
MaxRoiPool takes the largest pixel: R. Girshick, "Fast R-CNN", arXiv:1504.08083 (2015), section 2.1.
"""

from __future__ import annotations

from itertools import product
from math import ceil, floor, prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.image.interpolation import cubic
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import shape_text

CUBIC_A = -0.75
MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic", "nearest": "nearest"}


@onnx_operator("GridSample", since=16)
class GridSample(SchemaAttributes):
    """Samples of x (N, C, ...) at the positions of a grid from -1 to 1, the last dimension of x first."""

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
    return [(base + i, cubic(np.abs(place - base - i), CUBIC_A)) for i in range(-1, 3)]


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


@onnx_function("AffineGrid", since=20)
def affine_grid(theta: Any, size: Any, *, align_corners: Any) -> Any:
    """The positions theta (x, y, 1) of all pixels of images of that size, or theta (x, y, z, 1)."""
    shape = tuple(int(extent) for extent in np.reshape(size, -1))
    rank = len(shape) - 2
    if rank < 1 or theta.shape != (shape[0], rank, rank + 1) or prod(shape) > MOST_ELEMENTS:
        raise ShapeError(f"AffineGrid of {shape_text(theta.shape)} for {shape_text(shape)}", where="AffineGrid")
    steps = []
    for extent in shape[2:]:
        unit = np.arange(extent, dtype=np.float64)
        steps.append((2 * unit + 1) / extent - 1 if not align_corners else 2 * unit / max(extent - 1, 1) - 1)
    grids = np.meshgrid(*steps, indexing="ij")
    homogeneous = np.stack([*reversed(grids), np.ones_like(grids[0])], axis=-1)
    return np.asarray(np.einsum("nij,...j->n...i", theta.astype(np.float64), homogeneous), theta.dtype)


def check_regions(where: str, x: Any, rois: Any, columns: int) -> None:
    """Raise `ShapeError` unless x is (batch, channels, height, width) and each region a row of so many numbers."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != columns:
        raise ShapeError(f"{where} of {shape_text(rois.shape)} regions in {shape_text(x.shape)}", where=where)


@onnx_operator("RoiAlign", since=10)
@onnx_operator("RoiAlign", since=16)
class RoiAlign(SchemaAttributes):
    """The mean, or the largest, of the samples of every bin."""

    coordinate_transformation_mode = "output_half_pixel"
    """Before opset 16."""

    def reference(self, x: Any, rois: Any, batch_indices: Any) -> Any:
        check_regions("RoiAlign", x, rois, 4)
        if batch_indices.shape != rois.shape[:1]:
            message = f"RoiAlign of {shape_text(rois.shape)} in images {shape_text(batch_indices.shape)}"
            raise ShapeError(message, where="RoiAlign")
        check_positions(batch_indices, x.shape[0], "RoiAlign", least=0)
        out = np.zeros((len(rois), x.shape[1], self.output_height, self.output_width))
        accurate = np.result_type(x.dtype, np.float32)
        for number, (region, image) in enumerate(zip(rois.astype(accurate), batch_indices, strict=True)):
            out[number] = self._bins(x[int(image)].astype(np.float64), region)
        return np.asarray(out, x.dtype)

    def _bins(self, image: Any, region: Any) -> Any:
        """The bins of a region (left, top, right, bottom)."""
        half, height, width = self.coordinate_transformation_mode == "half_pixel", self.output_height, self.output_width
        left, top, right, bottom = region * region.dtype.type(self.spatial_scale) - region.dtype.type(0.5 if half else 0.0)
        rows = _samples(top, bottom, height, self.sampling_ratio, half)
        columns = _samples(left, right, width, self.sampling_ratio, half)
        if not len(rows) or not len(columns):
            return np.zeros((len(image), height, width))
        neighbours = product(_corners(rows, image.shape[1]), _corners(columns, image.shape[2]))
        corners = [_element(image, row, column) for row, column in neighbours]
        values = np.sum(corners, axis=0) if self.mode == "avg" else np.max(corners, axis=0)
        samples = values.reshape(len(image), height, len(rows) // height, width, len(columns) // width)
        return samples.mean(axis=(2, 4)) if self.mode == "avg" else samples.max(axis=(2, 4))


def _samples(start: Any, stop: Any, bins: int, ratio: int, half: bool) -> Any:
    """Where all bins are sampled, bin by bin: nowhere in a region without a size."""
    kind = start.dtype.type
    size = stop - start if half else max(stop - start, kind(1))
    each = ratio if ratio > 0 else max(ceil(size / kind(bins)), 0)
    step = size / kind(bins)
    inside = (np.arange(each, dtype=kind) + kind(0.5)) * step / kind(max(each, 1))
    return ((start + np.arange(bins, dtype=kind) * step)[:, None] + inside).reshape(-1).astype(np.float64)


def _corners(places: Any, extent: int) -> list[tuple[Any, Any]]:
    """(element, weight) of both neighbours of every place; no weight a pixel or more outside."""
    real = (places >= -1) & (places <= extent)
    inside = np.clip(places, 0, extent - 1)
    low = np.minimum(np.floor(inside), extent - 1).astype(np.int64)
    high = np.minimum(low + 1, extent - 1)
    return [(low, (1 - (inside - low)) * real), (high, (inside - low) * real)]


def _element(image: Any, row: tuple[Any, Any], column: tuple[Any, Any]) -> Any:
    return image[:, row[0][:, None], column[0][None, :]] * (row[1][:, None] * column[1][None, :])


@onnx_function("MaxRoiPool")
def max_roi_pool(x: Any, rois: Any, *, pooled_shape: Any, spatial_scale: Any) -> Any:
    """The largest pixel of every bin, 0 in bins without pixels; a region begins with the number of its image."""
    check_regions("MaxRoiPool", x, rois, 5)
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


@onnx_operator("NonMaxSuppression", since=10)
class NonMaxSuppression(SchemaAttributes):
    """(batch, class, box) of every box that stays, in the order of batches, classes and scores."""

    def reference(
        self, boxes: Any, scores: Any, most_per_class: Any = None, overlaps: Any = None, least_score: Any = None
    ) -> Any:
        most, overlap, threshold = int(_number(most_per_class, 0)), _number(overlaps, 0.0), _number(least_score, -np.inf)
        corners = [_box_corners(of_one, self.center_point_box) for of_one in boxes]
        found = [
            (batch, kind, box)
            for batch, kind in np.ndindex(*scores.shape[:2])
            for box in _kept(corners[batch], scores[batch, kind], most, overlap, threshold)
        ]
        return np.array(found, np.int64).reshape(-1, 3)


def _number(value: Any, default: float) -> float:
    return default if value is None or np.size(value) == 0 else float(np.asarray(value).reshape(-1)[0])


def _box_corners(boxes: Any, center_point_box: int) -> Any:
    """(low, low, high, high) of boxes given by two corners in any order, or by their centre, width and height."""
    if center_point_box:
        centre, half = boxes[:, [1, 0]], boxes[:, [3, 2]] / 2
        return np.concatenate([centre - half, centre + half], axis=1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _overlaps(box: Any, boxes: Any) -> Any:
    """The area of the intersection over that of the union."""
    sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=1)
    union = np.prod(box[2:] - box[:2]) + np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def _kept(corners: Any, scores: Any, most: int, overlap: float, threshold: float) -> list[int]:
    order = [int(number) for number in np.argsort(-scores, kind="stable") if scores[number] > threshold]
    kept: list[int] = []
    while order and len(kept) < most:
        best, *rest = order
        kept.append(best)
        apart = _overlaps(corners[best], corners[rest]) <= overlap
        order = [number for number, stays in zip(rest, apart, strict=True) if stays]
    return kept
