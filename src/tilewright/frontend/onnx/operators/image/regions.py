"""Regions of images: rows of coordinates."""

from __future__ import annotations

from typing import Any

from tilewright.errors import ShapeError
from tilewright.graph.shapes import shape_text


def check_regions(where: str, x: Any, rois: Any, columns: int) -> None:
    """Raise `ShapeError` unless x is (batch, channels, height, width) and each region a row of so many numbers."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != columns:
        raise ShapeError(f"{where} of {shape_text(rois.shape)} regions in {shape_text(x.shape)}", where=where)
