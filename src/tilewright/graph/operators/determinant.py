"""Det: the determinants of the matrices in the last two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.numpy_types import in_operand_type
from tilewright.graph.shapes import shape_text


def meaning(x: Any) -> Any:
    """The determinant of every matrix. Raises `ShapeError` for what is not square."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"the determinant of {shape_text(x.shape)}", where="Det", why="the last two dimensions are equal")
    return np.linalg.det(x)


define("Det", in_operand_type(meaning), since=11)
