"""MaxRoiPool: regions of an image, each as a grid of bins that are the largest of their pixels.

Source: R. Girshick, "Fast R-CNN", arXiv:1504.08083 (2015), section 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.image.regions import check_regions
from tilewright.graph.positions import check_positions


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxRoiPool:
    """The largest pixel of every bin, 0 in bins without pixels; a region begins with the number of its image."""

    pooled_shape: Sequence[int]
    spatial_scale: float = 1.0

    def reference(self, x: Any, rois: Any) -> Any:
        check_regions("MaxRoiPool", x, rois, 5)
        check_positions(rois[:, 0], x.shape[0], "MaxRoiPool", least=0)
        height, width = self.pooled_shape
        out = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
        for number, region in enumerate(rois.astype(np.float64)):
            left, top, right, bottom = (floor(edge * self.spatial_scale + 0.5) for edge in region[1:])
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


define("MaxRoiPool", MaxRoiPool)
