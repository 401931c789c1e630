"""Sizes that no machine can have: refused before anything is allocated or planned."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache

from tilewright.errors import InvalidModel
from tilewright.graph.types import Extent, SymbolicExtent


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
