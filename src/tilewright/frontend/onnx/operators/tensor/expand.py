"""Expand: dimensions of one element repeated, as a shape says."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import broadcast
from tilewright.graph.extents import least_extent
from tilewright.graph.shapes import broadcast_shapes
from tilewright.graph.types import Tensor


class Expand:
    """Broadcast against a shape."""

    def reference(self, x: Any, shape: Any) -> Any:
        wanted = check_size(np.asarray(shape).tolist(), "Expand")
        try:
            full = np.broadcast_shapes(x.shape, wanted)
        except ValueError as problem:
            raise ShapeError(f"{x.shape} and {wanted} do not broadcast", where="Expand") from problem
        check_size(full, "Expand")
        return np.array(np.broadcast_to(x, full))

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """A map that reads dimensions of one element again."""
        wanted = builder.integers(shape)
        full = broadcast_shapes([x.shape, wanted], where="Expand")
        check_size(list(map(least_extent, full)), "Expand")
        return x if full == x.shape else builder.record(broadcast, x, full, kind="broadcast")


define("Expand", Expand, since=8)
