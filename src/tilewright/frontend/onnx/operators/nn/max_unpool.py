"""MaxUnpool: what MaxPool has taken, back at the positions that it told; 0 elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import shape_text


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxUnpool:
    """Positions count in the pooled tensor's shape, whatever shape is asked for."""

    kernel_shape: Sequence[int]
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def reference(self, x: Any, positions: Any, output_shape: Any = None) -> Any:
        rank = len(self.kernel_shape)
        if x.ndim != rank + 2 or positions.shape != x.shape:
            raise ShapeError(
                f"MaxUnpool of {shape_text(x.shape)} with positions of {shape_text(positions.shape)}", where="MaxUnpool"
            )
        steps, cut = tuple(self.strides or (1,) * rank), tuple(self.pads or (0,) * (2 * rank))
        spatial = [(x.shape[d + 2] - 1) * steps[d] + self.kernel_shape[d] - cut[d] - cut[d + rank] for d in range(rank)]
        pooled = (*x.shape[:2], *spatial)
        shape = pooled if output_shape is None else tuple(int(extent) for extent in output_shape)
        if len(shape) != x.ndim or min(shape) < 0 or prod(shape) > MOST_ELEMENTS:
            raise ShapeError(f"MaxUnpool of {shape_text(x.shape)} into {shape_text(shape)}", where="MaxUnpool")
        places = _places(positions, pooled, shape)
        y = np.zeros(shape, x.dtype)
        y[places] = x
        return y


def _places(positions: Any, pooled: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The indices of all positions, checked."""
    where = f"MaxUnpool of {shape_text(pooled)} into {shape_text(shape)}"
    check_positions(positions, prod(pooled), where, least=0)
    places = np.unravel_index(positions, pooled)
    for coordinates, extent in zip(places, shape, strict=True):
        check_positions(coordinates, extent, where, least=0)
    return places


define("MaxUnpool", MaxUnpool, since=9)
