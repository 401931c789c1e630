"""Axes, extents and positions that the user's function gives: whole numbers, or symbolic extents of the shapes it was shown."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from tilewright.errors import ShapeError
from tilewright.frontend.tracing.dynamic_dimensions import extent_of
from tilewright.frontend.tracing.location import user_location
from tilewright.graph.types import SymbolicExtent


def whole(value: Any) -> Any:
    """A whole number as an int, a symbolic extent as it is. Raises `ShapeError`; traced values say that they have no value.

    >>> import numpy as np
    >>> whole(np.int64(3))
    3
    """
    if isinstance(value, SymbolicExtent):
        return extent_of(value)
    try:
        return operator.index(value)
    except TypeError as problem:
        raise ShapeError(
            f"{value!r} is not an integer", where=user_location(), hint="axes, extents and positions are ints"
        ) from problem


def wholes(values: Iterable[Any]) -> tuple[Any, ...]:
    """The same of several."""
    return tuple(map(whole, values))
