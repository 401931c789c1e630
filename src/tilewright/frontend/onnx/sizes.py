"""Sizes that no machine can have: refused before anything is allocated or planned."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache

from tilewright.errors import InvalidModel, ShapeError
from tilewright.graph.expressions.extents import Extent, SymbolicExtent

MOST_ELEMENTS = 2**31
"""Results with more elements than this are refused before memory is asked for them."""


@cache
def most_bytes() -> int:
    """The memory of this machine: a tensor beyond cannot be computed here.

    >>> most_bytes() > 1 << 20
    True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_shape(shape: Sequence[Extent], itemsize: int, where: str) -> None:
    """Raise `InvalidModel` for a tensor that does not fit into memory, symbolic extents at their least."""
    extents = [extent.low if isinstance(extent, SymbolicExtent) else extent for extent in shape]
    check_bytes(math.prod(extents) * itemsize, where)


def check_bytes(size_bytes: int, where: str) -> None:
    """Raise `InvalidModel` for more than this machine has."""
    if not 0 <= size_bytes <= most_bytes():
        why = f"it would have {size_bytes} bytes, and this machine has {most_bytes()}"
        raise InvalidModel("a tensor does not fit into memory", where=where, why=why)


def check_size(shape: Sequence[int], where: str) -> tuple[int, ...]:
    """The shape of a result as integers; raises `ShapeError` for negative extents and for more than MOST_ELEMENTS elements."""
    extents = tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in extents) or math.prod(extents) > MOST_ELEMENTS:
        why = f"extents are 0 or more, elements at most {MOST_ELEMENTS}"
        raise ShapeError(f"a result of shape {extents}", where=where, why=why)
    return extents
