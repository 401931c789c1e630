"""Col2Im: the sum of columns, each the elements of a window, at their places in an image (the adjoint of unfolding windows)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.shapes import shape_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Col2Im:
    """Every tap of the blocks added to its own places."""

    dilations: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def reference(self, x: Any, image_shape: Any, block_shape: Any) -> Any:
        image, block = (tuple(int(extent) for extent in np.reshape(shape, -1)) for shape in (image_shape, block_shape))
        window = window_of(image, block, where="Col2Im", pads=self.pads, strides=self.strides, dilations=self.dilations)
        if x.ndim != 3 or x.shape[1] % prod(block) or x.shape[2] != prod(window.outputs):
            raise ShapeError(f"Col2Im of {shape_text(x.shape)} into {image} by {block}", where="Col2Im")
        columns = x.reshape(x.shape[0], -1, *block, *window.outputs)
        size = [max(window.seen(d), window.begins[d] + image[d]) for d in range(window.rank)]
        full: Any = np.zeros((*columns.shape[:2], *size), x.dtype)
        for tap in np.ndindex(*block):
            starts = [k * window.dilations[d] for d, k in enumerate(tap)]
            ends = [s + (window.outputs[d] - 1) * window.strides[d] + 1 for d, s in enumerate(starts)]
            places = tuple(slice(s, e, step) for s, e, step in zip(starts, ends, window.strides, strict=True))
            full[(..., *places)] += columns[(slice(None), slice(None), *tap)]
        return full[(..., *(slice(begin, begin + extent) for begin, extent in zip(window.begins, image, strict=True)))]


define("Col2Im", Col2Im, since=18)
