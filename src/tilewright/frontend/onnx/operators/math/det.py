"""Det: the determinants of square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define


class Det:
    """The determinant of the last two dimensions; computed in float32 at least."""

    def reference(self, x: Any) -> Any:
        if np.ndim(x) < 2 or x.shape[-1] != x.shape[-2]:
            raise ShapeError(f"determinant of shape {np.shape(x)}", where="Det", why="the last two extents must be equal")
        return np.asarray(np.linalg.det(np.asarray(x, np.result_type(x.dtype, np.float32)))).astype(x.dtype)


define("Det", Det, since=11)
