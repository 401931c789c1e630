"""Run-time extents as the user's function sees them: in the shapes of traced arrays, where Python code may ask about them."""

from __future__ import annotations

from numbers import Real
from typing import Any, NoReturn

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.tracing.location import user_location
from tilewright.graph.shapes import Shape
from tilewright.graph.types import Extent, SymbolicExtent


class Length(SymbolicExtent):
    """A symbolic extent whose comparisons are answered where its range decides them, and refused where it does not.

    A function is traced once for all values: a branch that only some of them take would be lost without a word.

    >>> s = Length("s", 5, 16, 16)
    >>> s == 1, s > 1, s == SymbolicExtent("s", 5, 16, 16)
    (False, True, True)
    """

    __slots__ = ()
    __hash__ = SymbolicExtent.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymbolicExtent) and other.name == self.name:
            return True
        if not isinstance(other, Real | SymbolicExtent):
            return False
        low, high = _range(other)
        return False if high < self.low or self.high < low else self._only_value(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        low, high = _range(other)
        return True if self.high < low else False if self.low >= high else self._undecided("<", other)

    def __le__(self, other: Any) -> bool:
        low, high = _range(other)
        return True if self.high <= low else False if self.low > high else self._undecided("<=", other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self > 0

    def _only_value(self, compared: object) -> bool:
        return True if _range(compared) == (self.low, self.low) == (self.high, self.high) else self._undecided("==", compared)

    def _undecided(self, comparison: str, compared: object) -> NoReturn:
        raise UnsupportedOperation(
            f"whether {self} {comparison} {compared} is not known while the function is traced",
            where=user_location(),
            why=f"{self} may be {self.low} to {self.high}",
            hint="give tw.jit dynamic=False, or the Dim a range that decides it",
        )


def lengths(shape: Shape) -> Shape:
    """A shape for the user's eyes."""
    return tuple([_length(extent) for extent in shape])


def extent_of(value: SymbolicExtent) -> SymbolicExtent:
    """A symbolic extent for the graph, where comparisons are about identity.

    >>> type(extent_of(Length("s", 5, 16, 16))).__name__
    'SymbolicExtent'
    """
    return SymbolicExtent(value.name, value.low, value.high, value.hint)


def _length(extent: Extent) -> Extent:
    return extent if isinstance(extent, int) else Length(extent.name, extent.low, extent.high, extent.hint)


def _range(value: Any) -> tuple[float, float]:
    """The least and the largest value of a number or an extent."""
    if isinstance(value, SymbolicExtent):
        return value.low, value.high
    return float(value), float(value)
