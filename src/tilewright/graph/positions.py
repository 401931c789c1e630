"""Positions that data gives: they count from the end if they are negative, and lie inside of their dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.errors import PositionError
from tilewright.records import record

if TYPE_CHECKING:
    from tilewright.graph.types import Access, Operator

BY_LENGTH = "reverse_sequence"
"""The kind of operators whose positions come from lengths. Those of a length L outside of 0..extent are all
`L - extent` if L is negative, else L: they are out of range, and tell the length."""


@record
class NamedLookup:
    """A read at positions that data gives, by the names that users are told."""

    operator: str
    tensor: str
    """What is read."""
    dimension: int
    positions: str
    """The tensor of the positions."""
    is_by_length: bool = False
    """Whether positions come from lengths, as those of `BY_LENGTH`."""

    def error(self, position: int, extent: int) -> PositionError:
        """The error for a position outside of the dimension, of that extent."""
        if self.is_by_length:
            length = position + extent if position < 0 else position
            return _error("length", length, (0, extent), extent, self.operator, f"dimension {self.dimension} of {self.tensor}")
        dimension = f"dimension {self.dimension} of {self.tensor}, looked up by {self.positions},"
        return _error("position", position, (-extent, extent - 1), extent, self.operator, dimension)


def named_lookup(operator: Operator, access: Access, dimension: int) -> NamedLookup:
    """The lookup that a read of an operator makes in a dimension."""
    by = operator.reads[dict(access.lookups)[dimension]]
    return NamedLookup(operator.name, access.tensor, dimension, by.tensor, operator.kind == BY_LENGTH)


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
        raise _error("position", int(outside.reshape(-1)[0]), (least, extent - 1), extent, where, "the dimension")


def check_lengths(lengths: Any, extent: int, where: str) -> None:
    """Raise `PositionError` for the first of an array of lengths that is below 0 or exceeds a dimension of that extent.

    >>> import numpy as np
    >>> check_lengths(np.array([0, 6]), 5, "ReverseSequence")
    Traceback (most recent call last):
    tilewright.errors.PositionError: length 6 is out of range
      where: ReverseSequence
      why: the dimension has 5 elements
      hint: lengths lie between 0 and 5
    """
    outside = lengths[(lengths < 0) | (lengths > extent)]
    if outside.size:
        raise _error("length", int(outside[0]), (0, extent), extent, where, "the dimension")


def _error(what: str, number: int, ends: tuple[int, int], extent: int, where: str, dimension: str) -> PositionError:
    """The error of a position or a length that does not lie between these ends."""
    hint = f"{what}s lie between {ends[0]} and {ends[1]}" + ("; negative ones count from the end" if ends[0] < 0 else "")
    return PositionError(f"{what} {number} is out of range", where=where, why=f"{dimension} has {extent} elements", hint=hint)
