"""Remainders of floats, exact: large quotients are taken apart, lane by lane."""

from __future__ import annotations

from functools import cache

from tilewright.tile.builder import Builder
from tilewright.tile.functions.steps import sign_of, size_of, with_sign
from tilewright.tile.operations import Operation
from tilewright.tile.program import TileProgram, Value
from tilewright.tile.types import vector

QUOTIENT_BITS = {"float32": 22, "float64": 50}
"""A quotient of so many bits, rounded, is off by one at most."""
EXPONENTS = {"float32": 277, "float64": 2098}
"""Powers of two between the largest and the smallest number."""


def fmod(b: Builder, left: Value, right: Value) -> Value:
    """What division toward zero leaves: it has the dividend's sign."""
    dividend, divisor = size_of(b, left), size_of(b, right)
    near = _near(b, dividend, divisor)
    is_far = (dividend > b.scale(divisor, float(QUOTIENT_BITS[left.type.dtype]))) & _is_finite(dividend)
    rest = b.per_lane(_far(left.type.dtype), (dividend, divisor), near, is_far & (divisor > 0.0))
    return with_sign(b, rest, left)


def mod(b: Builder, left: Value, right: Value) -> Value:
    """What floor division leaves: it has the divisor's sign."""
    rest = fmod(b, left, right)
    is_across = ((rest < 0.0) ^ (right < 0.0)) & rest.differs(0.0)
    return b.select(rest.equals(0.0), _zero_of(b, right), b.select(is_across, rest + right, rest))


def floor_divide(b: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded down, of the exact rest."""
    rest = fmod(b, left, right)
    is_across = ((rest < 0.0) ^ (right < 0.0)) & rest.differs(0.0)
    whole = (left - rest) / right
    whole = b.select(is_across, whole - 1.0, whole)
    low = b.apply(Operation.FLOOR, whole)
    nearest = b.select(whole - low > 0.5, low + 1.0, low)
    quotient = left / right
    value = b.select(whole.equals(0.0), _zero_of(b, quotient), nearest)
    return b.select(right.equals(0.0), quotient, value)


def _zero_of(b: Builder, x: Value) -> Value:
    return b.bitcast(sign_of(b, x), x.type)


def _is_finite(size: Value) -> Value:
    return size < float("inf")


def _near(b: Builder, dividend: Value, divisor: Value) -> Value:
    """Of numbers without sign; a quotient that was rounded up leaves less than nothing."""
    rest = b.fma(-b.apply(Operation.TRUNCATE, dividend / divisor), divisor, dividend)
    return b.select(dividend < divisor, dividend, b.select(rest < 0.0, rest + divisor, rest))


@cache
def _far(dtype: str) -> TileProgram:
    """Of one number: what it leaves by the divisor times powers of two, from the largest down, is near each time."""
    b = Builder()
    dividend, divisor = b.argument("dividend", vector(dtype)), b.argument("divisor", vector(dtype))
    rest, bits = b.variable(dividend), QUOTIENT_BITS[dtype]
    last = EXPONENTS[dtype] // bits
    with b.loop("step", 0, last + 1) as step:
        power = b.cast(b.index_value((last - step) * bits), dtype)
        b.assign(rest, _near(b, rest, b.scale(divisor, power)))
    return b.program(f"far_remainder_{dtype}", rest)
