"""Permutation of dimensions: an index change with one axis per dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import axis
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor


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
    operator_axes = tuple(Axis(f"d{position}", x.shape[dimension]) for position, dimension in enumerate(order))
    source = tuple(axis(f"d{order.index(dimension)}") for dimension in range(rank))
    write = Access(result, tuple(axis(a.name) for a in operator_axes))
    output = Tensor(result, tuple(x.shape[dimension] for dimension in order), x.dtype)
    reads = (Access(x.name, source),)
    return Operator(name, "transpose", operator_axes, reads, write, Load(0), accumulator=accumulator_of(x.dtype)), output


def numpy_reference(x: Any, axes: Sequence[int] | None = None) -> Any:
    """The same by `numpy.transpose`."""
    return np.transpose(x, axes)
