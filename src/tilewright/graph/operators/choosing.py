"""Where of ONNX: elements of one of two operands, as a condition says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(condition: Any, x: Any, y: Any) -> Any:
    """The same by NumPy."""
    try:
        return np.where(condition, x, y)
    except ValueError as problem:
        raise ShapeError(f"shapes {condition.shape}, {x.shape} and {y.shape} do not broadcast", where="Where") from problem


def lower(builder: Builder, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """One map."""
    return builder.map("where", condition, x, y, dtype=x.dtype)


define("Where", meaning, lower, since=9)
