"""Remainders of floats, exact: large quotients are taken apart, lane by lane."""

from __future__ import annotations

import math
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
    return b.select(rest.equals(0.0), _zero_of(b, right), b.select(_is_across(rest, right), rest + right, rest))


def floor_divide(b: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded down. One that was rounded up to an integer leaves a rest across 0; large ones are taken apart."""
    quotient = left / right
    low = b.apply(Operation.FLOOR, quotient)
    near = b.select(_is_across(b.fma(-low, right, left), right), low - 1.0, low)
    is_large = (size_of(b, quotient) >= 2.0 ** QUOTIENT_BITS[left.type.dtype]) | size_of(b, right).equals(math.inf)
    return b.per_lane(_quotient_by_rest(left.type.dtype), (left, right), near, is_large)


def _is_across(rest: Value, right: Value) -> Value:
    """Where a rest that is not 0 has the other sign."""
    return ((rest < 0.0) ^ (right < 0.0)) & rest.differs(0.0)


def _zero_of(b: Builder, x: Value) -> Value:
    return b.bitcast(sign_of(b, x), x.type)


def _is_finite(size: Value) -> Value:
    return size < math.inf


def _near(b: Builder, dividend: Value, divisor: Value) -> Value:
    """Of numbers without sign; a quotient that was rounded up leaves less than nothing."""
    rest = b.fma(-b.apply(Operation.TRUNCATE, dividend / divisor), divisor, dividend)
    return b.select(dividend < divisor, dividend, b.select(rest < 0.0, rest + divisor, rest))


@cache
def _far(dtype: str) -> TileProgram:
    """Of one number without sign."""
    b = Builder()
    dividend, divisor = b.argument("dividend", vector(dtype)), b.argument("divisor", vector(dtype))
    return b.program(f"far_remainder_{dtype}", _rest(b, dividend, divisor))


def _rest(b: Builder, dividend: Value, divisor: Value) -> Value:
    """What a number leaves by the divisor times powers of two, from the largest down, is near each time."""
    dtype = dividend.type.dtype
    rest, bits = b.variable(dividend), QUOTIENT_BITS[dtype]
    last = EXPONENTS[dtype] // bits
    with b.loop("step", 0, last + 1) as step:
        power = b.cast(b.index_value((last - step) * bits), dtype)
        b.assign(rest, _near(b, rest, b.scale(divisor, power)))
    return rest


@cache
def _quotient_by_rest(dtype: str) -> TileProgram:
    """Of one number, rounded down as NumPy does it, by the exact rest."""
    b = Builder()
    left, right = b.argument("left", vector(dtype)), b.argument("right", vector(dtype))
    rest = with_sign(b, _rest(b, size_of(b, left), size_of(b, right)), left)
    whole = (left - rest) / right
    whole = b.select(_is_across(rest, right), whole - 1.0, whole)
    low = b.apply(Operation.FLOOR, whole)
    nearest = b.select(whole - low > 0.5, low + 1.0, low)
    value = b.select(whole.equals(0.0), _zero_of(b, left / right), nearest)
    return b.program(f"quotient_by_rest_{dtype}", b.select(right.equals(0.0), left / right, value))
