"""Permutation of dimensions: an index change with one axis per dimension."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import copy_of
from tilewright.graph.index import axis
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Operator, Tensor


def transpose(x: Tensor, axes: Sequence[int] | None = None, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Dimension i of the result is dimension `axes[i]` of `x`; None reverses the order. Raises `ShapeError` for no permutation.

    >>> transpose(Tensor("x", (2, 3, 4)), (2, 0, 1), name="transpose", result="y")[1].shape
    (4, 2, 3)
    """
    rank = len(x.shape)
    where = f"transpose of {shape_text(x.shape)}"
    order = tuple(reversed(range(rank))) if axes is None else tuple(normalize_axis(a, rank, where) for a in axes)
    if sorted(order) != list(range(rank)):
        raise ShapeError(f"{tuple(axes or ())} is no permutation of {rank} dimensions", where=where)
    source = [axis(f"d{order.index(dimension)}") for dimension in range(rank)]
    return copy_of("transpose", x, [x.shape[dimension] for dimension in order], source, name, result)
