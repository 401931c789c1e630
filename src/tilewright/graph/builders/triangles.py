"""Matrices by comparisons of positions: triangles of others, and ones on a diagonal."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.expressions.conditions import compared_ahead
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Extent, Operator, Tensor


def triangle(x: Tensor, diagonal: int, upper: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x` with zeros below, or above, a diagonal of its last two dimensions.

    >>> triangle(Tensor("x", (3, 4)), 0, True, name="trilu", result="y")[1].shape
    (3, 4)
    """
    rank = len(x.shape)
    row, column = AxisValue(f"d{rank - 2}"), AxisValue(f"d{rank - 1}")
    is_kept = compared_ahead("greater_equal" if upper else "less_equal", column, row, diagonal)
    body = apply("where", is_kept, Load(0), Literal(0.0))
    return map_of("trilu", x.shape, [Access(x.name, points(rank))], body, x.dtype, name, result)


def eye(shape: Sequence[Extent], diagonal: int, dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Ones on a diagonal of a matrix, zeros elsewhere.

    >>> eye((3, 4), 1, "float32", name="eye", result="y")[1].shape
    (3, 4)
    """
    is_on = compared_ahead("equal", AxisValue("d1"), AxisValue("d0"), diagonal)
    body = apply("where", is_on, Literal(1.0), Literal(0.0))
    return map_of("eye", shape, (), body, dtype, name, result)
