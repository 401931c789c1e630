"""ArrayFeatureExtractor: some columns of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)


class ArrayFeatureExtractor:
    """The columns of x at the given places, of a vector as one row."""

    def reference(self, x: Any, indices: Any) -> Any:
        chosen = np.asarray(indices).reshape(-1)
        if np.ndim(x) < 1 or np.any((chosen < 0) | (chosen >= np.shape(x)[-1])):
            raise ShapeError(f"columns of shape {np.shape(x)}", where="ArrayFeatureExtractor", why="a column does not exist")
        return np.atleast_2d(np.take(x, chosen, axis=-1))


define("ArrayFeatureExtractor", ArrayFeatureExtractor, domain=DOMAIN)
