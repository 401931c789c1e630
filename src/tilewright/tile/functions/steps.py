"""Steps that functions share: polynomials, signs, whole parts, powers of two, sums of two numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.tile.builder import Builder
from tilewright.tile.operations import NEAR, NORMAL, Operation
from tilewright.tile.program import Number, Value

FRACTION_BITS = {"float32": 23, "float64": 52}
BIAS = {"float32": 127, "float64": 1023}
ByType = Mapping[str, Sequence[float]]
"""Coefficients, or parts of a constant, of every type."""


def horner(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial, its coefficients from the highest power down."""
    total: Value = b.constant(coefficients[0], x.type)
    for place, coefficient in enumerate(coefficients[1:]):
        is_first = place == 0 and coefficients[0] == 1.0
        total = x + coefficient if is_first else b.multiply_add(total, x, b.constant(coefficient, x.type))
    return total


def polynomial(b: Builder, x: Value, table: ByType) -> Value:
    """A polynomial of the coefficients that the type has."""
    return horner(b, x, table[x.type.dtype])


def stretched(coefficients: Sequence[float], factor: float) -> list[float]:
    """The coefficients of p(factor * x), highest power first.

    >>> stretched((3.0, 2.0, 1.0), -2.0)
    [12.0, -4.0, 1.0]
    """
    highest = len(coefficients) - 1
    return [one * factor ** (highest - i) for i, one in enumerate(coefficients)]


def square_root(b: Builder, x: Value) -> Value:
    """Rounded to nearest."""
    return b.apply(Operation.SQUARE_ROOT, x)


def size_of(b: Builder, x: Value) -> Value:
    """|x|."""
    return b.apply(Operation.ABSOLUTE, x)


def at_most(b: Builder, limit: float, x: Value) -> Value:
    """The smaller of a limit and x; NaN stays."""
    return b.apply(Operation.SMALLER, limit, x)


def at_least(b: Builder, limit: float, x: Value) -> Value:
    """The larger of a limit and x; NaN stays."""
    return b.apply(Operation.LARGER, limit, x)


def bits(b: Builder, x: Value) -> Value:
    """The bits of floats as signed integers."""
    return b.bitcast(x, x.type.integer)


def sign_of(b: Builder, x: Value) -> Value:
    """The sign bit alone, as an integer."""
    return bits(b, x) & (-1 << x.type.bits - 1)


def flipped(b: Builder, x: Value, sign: Value) -> Value:
    """x, negated where `sign` (an integer) has the sign bit."""
    return b.bitcast(bits(b, x) ^ sign, x.type)


def with_sign(b: Builder, x: Value, other: Value) -> Value:
    """A value that is positive or has the sign of another already, with that sign: of zeros, too."""
    return b.bitcast(bits(b, x) | sign_of(b, other), x.type)


def magic(x: Value) -> float:
    """What added to a small number rounds it to an integer, whose low bits are those of the sum."""
    return 1.5 * 2.0 ** FRACTION_BITS[x.type.dtype]


def nearest(b: Builder, x: Value, factor: float) -> tuple[Value, Value]:
    """The integer next to `factor * x`, small, as a float; and an integer with the same low bits."""
    shifted = x + magic(x) if factor == 1.0 else b.multiply_add(x, factor, b.constant(magic(x), x.type))
    return shifted - magic(x), bits(b, shifted)


def two_sum(left: Value, right: Value) -> tuple[Value, Value]:
    """A sum and what it has lost (Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def product_rest(b: Builder, left: Value, right: Number, product: Value) -> Value:
    """What a product has lost."""
    return b.fma(left, right, -product)


def scaled(b: Builder, x: Value, power: Value) -> Value:
    """x * 2**power, rounded once, of an integer power and an x that is not far from 1: see `SCALE`."""
    return b.instruction(Operation.SCALE, x.type, (x, power), NEAR)


def scaled_normal(b: Builder, x: Value, power: Value) -> Value:
    """The same of a result and a 2**power that are normal."""
    return b.instruction(Operation.SCALE, x.type, (x, power), NORMAL)


def power_of_two(b: Builder, factor: float, power: Value) -> Value:
    """factor * 2**power, a normal number; the factor is a power of two."""
    return scaled_normal(b, b.constant(factor, power.type), power)


def is_nan(x: Value) -> Value:
    """The mask of lanes that are no number."""
    return x.differs(x)
