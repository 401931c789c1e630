"""AffineGrid: the positions of the pixels of images under affine maps.

Source: M. Jaderberg et al., "Spatial Transformer Networks", arXiv:1506.02025 (2015), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.shapes import shape_text


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


define("AffineGrid", AffineGrid, since=20)
