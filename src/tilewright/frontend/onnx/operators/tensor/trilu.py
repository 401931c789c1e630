"""Trilu: the part of matrices above or below a diagonal, zeros elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
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


define("Trilu", Trilu, since=14)
