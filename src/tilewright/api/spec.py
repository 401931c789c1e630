"""Descriptions of arguments for planning without arrays: `tw.spec((12, 's', 64), 'f4')`."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.graph.types import Extent, SymbolicExtent

HIGHEST = 65536
"""The largest value of a symbol unless its Dim says otherwise."""
HINT = 512
"""The value that planning assumes of a symbol unless its Dim says otherwise."""


def Dim(name: str, low: int = 1, high: int = HIGHEST, hint: int | None = None) -> SymbolicExtent:
    """An extent that is known at run time: `low <= value <= high`; planning assumes `hint` (512, moved into the range).

    Equal names mean equal extents. Raises `ShapeError` for an empty range or a hint outside of it.

    >>> Dim("s", high=4096)
    SymbolicExtent(name='s', low=1, high=4096, hint=512)
    """
    chosen = min(max(HINT, low), high) if hint is None else hint
    if not name.isidentifier():
        raise ShapeError(f"{name!r} cannot name a dimension", why="a name is a letter followed by letters and digits")
    if not 0 <= low <= chosen <= high:
        raise ShapeError(f"dimension {name!r} has no possible value", why=f"0 <= {low} <= {chosen} (hint) <= {high} is false")
    return SymbolicExtent(name, low, high, chosen)


def spec(shape: Sequence[int | str | SymbolicExtent], dtype: object = "float32") -> TensorSpec:
    """A stand-in for an array in `lower`: extents are integers, `Dim`s, or names (a `Dim` with its defaults).

    Raises `ShapeError` for what is no extent and `DTypeError` for an unknown element type.

    >>> spec((12, "s", 64), "f4").shape[1].name
    's'
    """
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise ShapeError(f"{shape!r} is no shape", where="spec", hint="give a tuple of extents: (12, 's', 64)")
    return TensorSpec(tuple(_extent(extent) for extent in shape), _dtype_name(dtype))


def _extent(extent: int | str | SymbolicExtent) -> Extent:
    if isinstance(extent, SymbolicExtent):
        return extent
    if isinstance(extent, str):
        return Dim(extent)
    try:
        number = operator.index(extent)
    except TypeError as problem:
        hint = "extents are integers, names or Dims"
        raise ShapeError(f"an extent cannot be {extent!r}", where="spec", hint=hint) from problem
    if number < 0:
        raise ShapeError(f"an extent cannot be {extent}", where="spec", hint="give a name for an extent known at run time: 's'")
    return number


def _dtype_name(dtype: object) -> str:
    try:
        return (dtype_named(dtype) if isinstance(dtype, str) else np.dtype(dtype)).name  # type: ignore[call-overload]
    except TypeError as problem:
        raise DTypeError(f"{dtype!r} is no element type", where="spec", hint="use 'f4' or numpy.float32") from problem
