"""Positions that data gives: they count from the end if they are negative, and lie inside of their dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import PositionError
from tilewright.graph.types import Access, Operator


@dataclass(frozen=True, slots=True)
class NamedLookup:
    """A read at positions that data gives, by the names that users are told."""

    operator: str
    tensor: str
    """What is read."""
    dimension: int
    positions: str
    """The tensor of the positions."""

    def error(self, position: int, extent: int) -> PositionError:
        """The error for a position outside of the dimension, of that extent."""
        dimension = f"dimension {self.dimension} of {self.tensor}, looked up by {self.positions},"
        return _error(position, -extent, extent, self.operator, dimension)


def named_lookup(operator: Operator, access: Access, dimension: int) -> NamedLookup:
    """The lookup that a read of an operator makes in a dimension."""
    by = operator.reads[dict(access.lookups)[dimension]]
    return NamedLookup(operator.name, access.tensor, dimension, by.tensor)


def check_positions(positions: Any, extent: int, where: str, *, least: int | None = None) -> None:
    """Raise `PositionError` for the first of an array of positions that lies outside of a dimension of that extent.

    The smallest one is `-extent`, unless `least` says where negative ones do not count from the end.

    >>> import numpy as np
    >>> check_positions(np.array([-5, 0, 4]), 5, "Gather")
    >>> check_positions(np.array([2, -6]), 5, "Gather")
    Traceback (most recent call last):
    tilewright.errors.PositionError: position -6 is out of range
      where: Gather
      why: the dimension has 5 elements
      hint: positions lie between -5 and 4; negative ones count from the end
    """
    least = -extent if least is None else least
    if positions.size and not (least <= positions.min() and positions.max() < extent):
        outside = positions[(positions < least) | (positions >= extent)]
        raise _error(int(outside.reshape(-1)[0]), least, extent, where, "the dimension")


def _error(position: int, least: int, extent: int, where: str, dimension: str) -> PositionError:
    return PositionError(
        f"position {position} is out of range",
        where=where,
        why=f"{dimension} has {extent} elements",
        hint=f"positions lie between {least} and {extent - 1}" + ("; negative ones count from the end" if least < 0 else ""),
    )
