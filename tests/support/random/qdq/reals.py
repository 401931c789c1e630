"""Interval arithmetic: between which numbers a float32 result of any order of summation lies, and where there is one such number.

A value whose elements are whole multiples of one power of two (`unit`), none of which is beyond 2^24 of them, is computed exactly
in float32, in every order: its interval is a point. All others are as wide as roundings may make them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import frexp
from typing import Any

import numpy as np

UNIT_ROUNDOFF = 2.0**-24
MOST_UNITS = 2.0**24
QUOTIENT_ROUNDINGS = 4
"""Of a scaled sum over a scale: the sum, the product of scales, the product, the quotient."""

Linear = Callable[[Any, Any], Any]
"""A function of two arrays that is linear in each, and whose sums have as many terms as the function of ones gives."""


@dataclass(frozen=True, slots=True, eq=False)
class Reals:
    """Elements between `low` and `high` (float64), whole multiples of `unit` where that is not 0."""

    low: Any
    high: Any
    unit: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.low))

    @property
    def middle(self) -> Any:
        return (self.low + self.high) / 2

    @property
    def radius(self) -> Any:
        return (self.high - self.low) / 2

    @property
    def size(self) -> Any:
        """The largest magnitude of every element."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def is_exact(self) -> bool:
        """Whether every element is one number."""
        return bool((self.low == self.high).all())

    def moved(self, move: Callable[[Any], Any]) -> Reals:
        """A change of places alone."""
        return Reals(move(self.low), move(self.high), self.unit)

    def increasing(self, function: Callable[[Any], Any], roundings: float = 0.0, unit: float = 0.0) -> Reals:
        """An increasing function of every element, of so many roundings."""
        low, high = function(self.low), function(self.high)
        return rounded(Reals(low, high, unit), np.maximum(np.abs(low), np.abs(high)), roundings)


def exactly(values: Any, unit: float = 0.0) -> Reals:
    """Known numbers."""
    wide = np.asarray(values, np.float64)
    return Reals(wide, wide, unit)


def is_power_of_two(value: float) -> bool:
    """Whether products with a number are exact.

    >>> is_power_of_two(0.25), is_power_of_two(0.3)
    (True, False)
    """
    return frexp(value)[0] == 0.5


def rounded(value: Reals, size: Any, roundings: float) -> Reals:
    """A value that is computed with so many roundings of sums up to `size`: the same one where all of them are exact."""
    if value.unit and float(np.max(size, initial=0.0)) <= MOST_UNITS * value.unit:
        return value
    error = roundings * UNIT_ROUNDOFF * size
    return Reals(value.low - error, value.high + error)


def linear(function: Linear, x: Reals, w: Reals) -> Reals:
    """A sum of products, in any order. Errors of sums of n terms grow as the root of n."""
    middle = function(x.middle, w.middle)
    radius = function(np.abs(x.middle), w.radius) + function(x.radius, np.abs(w.middle)) + function(x.radius, w.radius)
    terms = float(np.max(function(np.ones(x.shape), np.ones(w.shape)), initial=0.0))
    value = Reals(middle - radius, middle + radius, x.unit * w.unit)
    return rounded(value, function(x.size, w.size), 4 + 2 * np.sqrt(terms))


def total(x: Reals, y: Reals) -> Reals:
    """x + y."""
    unit = min(x.unit, y.unit)
    return rounded(Reals(x.low + y.low, x.high + y.high, unit), x.size + y.size, 2)


def dequantised(steps: Reals, scale: Any, zero: Any) -> Reals:
    """(steps - zero) scale: exact where scales are powers of two, rounded once elsewhere."""
    factor = np.asarray(scale, np.float64)
    low, high = (steps.low - zero) * factor, (steps.high - zero) * factor
    unit = float(factor.min()) if all(map(is_power_of_two, factor.reshape(-1).tolist())) else 0.0
    return rounded(Reals(low, high, unit), np.maximum(np.abs(low), np.abs(high)), 1)


def quantised(x: Reals, scale: float, zero: int, dtype: str, *, is_given: bool = False) -> Reals:
    """x / scale, rounded to even, plus zero, within the range of a type.

    The quotients of float32 numbers that are `given` are those of float32.
    """
    if is_given:
        steps = exactly(x.low.astype(np.float32) / np.float32(scale))
    else:
        size = x.size / scale
        unit = x.unit / scale if is_power_of_two(scale) else 0.0
        steps = rounded(Reals(x.low / scale, x.high / scale, unit), size, QUOTIENT_ROUNDINGS)
    limits = np.iinfo(dtype)
    low, high = (np.clip(np.rint(bound) + zero, limits.min, limits.max) for bound in (steps.low, steps.high))
    return Reals(low, high, 1.0)
