"""Trilu and EyeLike of ONNX: by the positions along two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.definition import define
from tilewright.graph.element_types import element_type
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

SPREAD = 1 << 24
"""Diagonals further out than any matrix reaches are all the same."""


def triangle(x: Tensor, diagonal: int, upper: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x` with zeros below, or above, a diagonal of its last two dimensions.

    >>> triangle(Tensor("x", (3, 4)), 0, True, name="trilu", result="y")[1].shape
    (3, 4)
    """
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(x.shape))
    own = tuple(axis_index(a.name) for a in axes)
    ahead = apply("subtract", AxisValue(axes[-1].name), AxisValue(axes[-2].name))
    is_kept = apply("greater_equal" if upper else "less_equal", ahead, Literal(float(max(-SPREAD, min(diagonal, SPREAD)))))
    body = apply("where", is_kept, Load(0), Literal(0.0))
    operator = Operator(
        name, "trilu", axes, (Access(x.name, own),), Access(result, own), body, accumulator=accumulator_of(x.dtype)
    )
    return operator, Tensor(result, x.shape, x.dtype)


def _eye(x: Tensor, diagonal: int, dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(x.shape))
    own = tuple(axis_index(a.name) for a in axes)
    ahead = apply("subtract", AxisValue("d1"), AxisValue("d0"))
    body = apply("where", apply("equal", ahead, Literal(float(diagonal))), Literal(1.0), Literal(0.0))
    operator = Operator(name, "eye", axes, (), Access(result, own), body, accumulator=accumulator_of(dtype))
    return operator, Tensor(result, x.shape, dtype)


def trilu_meaning(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    """The same by NumPy."""
    if x.ndim < 2:
        raise ShapeError(f"a triangle of shape {x.shape}", where="Trilu")
    diagonal = 0 if k is None else int(np.asarray(k).reshape(-1)[0])
    diagonal = max(-SPREAD, min(diagonal, SPREAD))
    return np.triu(x, diagonal) if upper else np.tril(x, diagonal)


def trilu_lower(builder: Builder, x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    """A comparison of positions."""
    if len(x.shape) < 2:
        raise ShapeError(f"a triangle of shape {shape_text(x.shape)}", where="Trilu")
    diagonal = 0 if k is None else int(builder.contents(k).reshape(-1)[0])
    return builder.record(triangle, x, diagonal, bool(upper), kind="trilu")


def eye_meaning(x: Any, *, dtype: Any = None, k: int = 0) -> Any:
    """Ones on a diagonal, in the shape of a matrix."""
    if x.ndim != 2:
        raise ShapeError(f"a diagonal of shape {x.shape}", where="EyeLike")
    return np.eye(x.shape[0], x.shape[1], k).astype(x.dtype if dtype is None else element_type(dtype))


def eye_lower(builder: Builder, x: Tensor, *, dtype: Any = None, k: int = 0) -> Tensor:
    """A comparison of positions that reads nothing."""
    if len(x.shape) != 2:
        raise ShapeError(f"a diagonal of shape {shape_text(x.shape)}", where="EyeLike")
    target = x.dtype if dtype is None else element_type(dtype).name
    if target == "object":
        raise DTypeError("a diagonal of strings", where="EyeLike")
    return builder.record(_eye, x, k, target, kind="eye")


define("Trilu", trilu_meaning, trilu_lower, since=14)
define("EyeLike", eye_meaning, eye_lower, since=9)
