"""Trilu and EyeLike: the part of matrices above or below a diagonal, and ones on a diagonal; zeros elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.conditions import SPREAD, compared_ahead
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Trilu:
    """The triangle with the diagonal k."""

    upper: int = 1

    def reference(self, x: Any, k: Any = None) -> Any:
        if x.ndim < 2:
            raise ShapeError(f"a triangle of shape {x.shape}", where="Trilu")
        diagonal = 0 if k is None else int(np.asarray(k).reshape(-1)[0])
        diagonal = max(-SPREAD, min(diagonal, SPREAD))
        return np.triu(x, diagonal) if self.upper else np.tril(x, diagonal)

    def lower(self, builder: Builder, x: Tensor, k: Tensor | None = None) -> Tensor:
        """A comparison of positions."""
        if len(x.shape) < 2:
            raise ShapeError(f"a triangle of shape {shape_text(x.shape)}", where="Trilu")
        diagonal = 0 if k is None else int(builder.constant_value(k).reshape(-1)[0])
        return builder.record(_triangle, x, diagonal, bool(self.upper), kind="trilu")


def _triangle(x: Tensor, diagonal: int, upper: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x` with zeros below, or above, a diagonal of its last two dimensions.

    >>> _triangle(Tensor("x", (3, 4)), 0, True, name="trilu", result="y")[1].shape
    (3, 4)
    """
    rank = len(x.shape)
    row, column = AxisValue(f"d{rank - 2}"), AxisValue(f"d{rank - 1}")
    is_kept = compared_ahead("greater_equal" if upper else "less_equal", column, row, diagonal)
    body = apply("where", is_kept, Load(0), Literal(0.0))
    return map_of("trilu", x.shape, [Access(x.name, points(rank))], body, x.dtype, name, result)


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


define("Trilu", Trilu, since=14)
define("EyeLike", EyeLike, since=9)
