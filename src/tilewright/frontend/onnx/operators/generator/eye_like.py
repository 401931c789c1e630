"""EyeLike: ones on a diagonal of a matrix, zeros elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.conditions import compared_ahead
from tilewright.graph.scalar import AxisValue, Literal, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class EyeLike:
    """Of the shape of a matrix and, without `dtype`, of its type."""

    dtype: int | None = None
    k: int = 0

    def reference(self, x: Any) -> Any:
        if x.ndim != 2:
            raise ShapeError(f"a diagonal of shape {x.shape}", where="EyeLike")
        return np.eye(x.shape[0], x.shape[1], self.k).astype(x.dtype if self.dtype is None else element_type(self.dtype))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A comparison of positions that reads nothing."""
        if len(x.shape) != 2:
            raise ShapeError(f"a diagonal of shape {shape_text(x.shape)}", where="EyeLike")
        target = x.dtype if self.dtype is None else element_type(self.dtype).name
        if target == "object":
            raise DTypeError("a diagonal of strings", where="EyeLike")
        return builder.record(_eye, x, self.k, target, kind="eye")


def _eye(x: Tensor, diagonal: int, dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    is_on = compared_ahead("equal", AxisValue("d1"), AxisValue("d0"), diagonal)
    body = apply("where", is_on, Literal(1.0), Literal(0.0))
    return map_of("eye", x.shape, (), body, dtype, name, result)


define("EyeLike", EyeLike, since=9)
