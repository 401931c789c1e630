"""Numbers of one schedule, or of a family of schedules: a plain value, or an array with a value for each schedule.

Arrays broadcast against each other: each choice that a family leaves open has a dimension. Helpers keep plain values plain, and
take the symbols of `formulas`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Count: TypeAlias = int | npt.NDArray[np.int64]
"""A number of elements, points, trips or calls."""
Quantity: TypeAlias = float | npt.NDArray[np.int64] | npt.NDArray[np.floating]
"""A time, a share, or a number that is not whole."""
Condition: TypeAlias = bool | npt.NDArray[np.bool_]
"""Whether something holds."""

Pieces: TypeAlias = tuple[tuple[Count, Count], ...]
"""(number, length) of the pieces that a loop around a micro kernel cuts an axis into."""

Value = TypeVar("Value", Count, Quantity, Condition)

_TRUTHS = (bool, np.bool_)
_PLAIN = (int, float)
_OF_NUMPY = (np.ndarray, np.generic)


def either(condition: Condition, this: Value, that: Value) -> Value:
    """`this` where the condition holds, else `that`; plain values stay plain."""
    if isinstance(condition, _TRUTHS):
        return this if condition else that
    return np.where(condition, this, that)


def minimum(this: Value, that: Value) -> Value:
    """The smaller of each pair, not a number if either is none; plain values stay plain, which takes far less time.

    >>> minimum(3, 5), minimum(np.array([3, 7]), 5).tolist()
    (3, [3, 5])
    """
    if isinstance(this, _PLAIN) and isinstance(that, _PLAIN):
        return this if this <= that or this != this else that
    found: Value = np.minimum(this, that)
    return found


def maximum(this: Value, that: Value) -> Value:
    """The larger of each pair, not a number if either is none; plain values stay plain.

    >>> maximum(3, 5), maximum(np.array([3, 7]), 5).tolist()
    (5, [5, 7])
    """
    if isinstance(this, _PLAIN) and isinstance(that, _PLAIN):
        return this if this >= that or this != this else that
    found: Value = np.maximum(this, that)
    return found


def as_integer(value: Count) -> Count:
    """A Python integer in place of a NumPy scalar; arrays stay as they are."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, _OF_NUMPY) and not value.ndim else value


def is_zero(count: Count) -> bool:
    """Whether a number, or every number of an array, is known to be zero: terms may be left out that then add nothing.

    >>> is_zero(0), is_zero(np.array([0, 2]))
    (True, False)
    """
    return not count.any() if isinstance(count, np.ndarray) else isinstance(count, int) and not count


def surely(condition: Condition) -> bool:
    """Whether a condition is known to hold, for every number of an array: a formula may then leave out what comes to the same.

    >>> surely(True), surely(np.array([True, False]))
    (True, False)
    """
    if isinstance(condition, bool):
        return condition
    return isinstance(condition, _OF_NUMPY) and bool(condition.all())


def surely_not(condition: Condition) -> bool:
    """Whether a condition is known not to hold, for any number of an array.

    >>> surely_not(False), surely_not(np.array([True, False]))
    (True, False)
    """
    if isinstance(condition, bool):
        return not condition
    return isinstance(condition, _OF_NUMPY) and not condition.any()


def largest(count: Count) -> Any:
    """The largest number of an array; a plain value is itself.

    >>> largest(3), largest(np.array([3, 7]))
    (3, 7)
    """
    return count if isinstance(count, int) else as_integer(count.max())


def smallest(count: Count) -> Any:
    """The smallest number of an array; a plain value is itself."""
    return count if isinstance(count, int) else as_integer(count.min())


def pieces(size: Count, tile: Count, step: Count) -> Pieces:
    """How an axis is cut: blocks of `tile` (the last one shorter), each into pieces of `step` and a rest.

    >>> pieces(100, 40, 16), pieces(96, 96, 16)
    (((5, 16), (2, 8), (1, 4)), ((6, 16),))
    """
    tile = minimum(tile, size)
    blocks: Count = size // maximum(tile, 1)
    last: Count = size % maximum(tile, 1)
    number: Count = blocks * (tile // step) + last // step
    rest, last_rest = tile % step, last % step
    every = ((number, step), (blocks * minimum(rest, 1), rest), (minimum(last_rest, 1), last_rest))
    return tuple((as_integer(number), as_integer(length)) for number, length in every if not is_zero(number))


def product(counts: Iterable[Count]) -> Count:
    """The product of some counts, 1 of none."""
    total: Count = 1
    for count in counts:
        total = total * count
    return total


def spread(figures: Value, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The figures as an array of this shape, which they broadcast to; an array that has it stays itself.

    >>> spread(3, (2,)).tolist()
    [3, 3]
    """
    array = np.asarray(figures)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def expanded(count: Value, more: int) -> Value:
    """An array with so many dimensions behind its own; plain values stay plain."""
    return count.reshape(count.shape + (1,) * more) if isinstance(count, np.ndarray) and count.ndim else count


def content(figures: Quantity | Condition) -> Hashable:
    """Equal for equal numbers, or arrays."""
    return (figures.shape, figures.tobytes()) if isinstance(figures, np.ndarray) else figures
