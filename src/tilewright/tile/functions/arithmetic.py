"""Functions of floats and integers that are an operation or a few: with NaN, zeros and signs as NumPy has them."""

from __future__ import annotations

import math

from tilewright.tile.builder import Builder
from tilewright.tile.functions.steps import at_least, is_nan, size_of
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value


def square(b: Builder, x: Value) -> Value:
    """x * x."""
    return x * x


def reciprocal(b: Builder, x: Value) -> Value:
    """1 / x; of integers toward zero, and 0 of 0."""
    return divide(b, b.constant(1, x.type), x)


def divide(b: Builder, left: Value, right: Value) -> Value:
    """left / right; of integers toward zero, and 0 by 0."""
    return left / right if left.type.is_float else b.apply(Operation.QUOTIENT, left, right)


def sign(b: Builder, x: Value) -> Value:
    """1, -1, or x itself where it is 0 or NaN; 0 has no sign."""
    no_sign = x + 0.0 if x.type.is_float else x
    below = b.select(x < 0, b.constant(-1, x.type), no_sign) if x.type.is_float or x.type.is_signed else no_sign
    return b.select(x > 0, b.constant(1, x.type), below)


def maximum(b: Builder, left: Value, right: Value) -> Value:
    """The larger; NaN where either is."""
    larger = b.apply(Operation.LARGER, left, right)
    return b.select(is_nan(left), left, larger) if left.type.is_float else larger


def minimum(b: Builder, left: Value, right: Value) -> Value:
    """The smaller; NaN where either is."""
    smaller = b.apply(Operation.SMALLER, left, right)
    return b.select(is_nan(left), left, smaller) if left.type.is_float else smaller


def rounding(operation: Operation):  # type: ignore[no-untyped-def]
    """To integers; integers are that."""

    def function(b: Builder, x: Value) -> Value:
        return b.apply(operation, x) if x.type.is_float else x

    return function


def stored_as(dtype: str):  # type: ignore[no-untyped-def]
    """The nearest number of another type."""

    def function(b: Builder, x: Value) -> Value:
        return b.cast(b.cast(x, dtype), x.type.dtype)

    return function


def is_infinite(b: Builder, x: Value) -> Value:
    """A mask; no integer is infinite."""
    return size_of(b, x).equals(math.inf) if x.type.is_float else x.differs(x)


def condition(x: Value) -> Value:
    """A mask as it is; of numbers where they are not 0."""
    return x if x.type.is_mask else x.differs(0)


def where(b: Builder, mask: Value, yes: Value, no: Value) -> Value:
    """Lanes of one value where a condition holds, of another elsewhere."""
    return b.select(condition(mask), yes, no)


def relu(b: Builder, x: Value) -> Value:
    """max(x, 0); NaN stays."""
    return at_least(b, 0, x)
