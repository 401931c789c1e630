"""Hyperbolic functions and their inverses, by exponentials and logarithms that lose nothing next to 0."""

from __future__ import annotations

import math

import numpy as np

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.functions.exponentials import exp_in_parts, expm1_in_parts
from tilewright.tile.functions.logarithms import log1p_of
from tilewright.tile.functions.steps import (
    BIAS,
    FRACTION_BITS,
    at_most,
    flipped,
    nearest,
    power_of_two,
    scaled,
    sign_of,
    size_of,
    square_root,
    with_sign,
)
from tilewright.tile.program import Value

TANH_LIMIT = {"float32": 10.0, "float64": 22.0}
"""From here on tanh is 1."""
SINH_LIMIT = {"float32": 89.6, "float64": 710.6}
"""From here on sinh and cosh are infinite, and a quarter of the exponential is not."""
LARGE = 2.0**60
"""Where sqrt(x**2 + 1) is x."""


def tanh(b: Builder, x: Value) -> Value:
    """(1 - e**(-2 |x|)) / (1 + e**(-2 |x|)): halves of these, the denominator between 1/2 and 1.

    Of float64 most of what both have lost is made good: the inverse of the denominator is about 1.4.
    """
    part, power, half = _with_powers(b, at_most(b, TANH_LIMIT[x.type.dtype], size_of(b, x)), -2.0)
    above, below = b.multiply_add(power, part, 0.5 - half), b.multiply_add(-power, part, half + 0.5)
    value = above / below
    if x.type.dtype == "float64":
        lost_above = b.multiply_add(power, part, (0.5 - half) - above)
        lost_below = b.multiply_add(-power, part, (half + 0.5) - below)
        value = b.multiply_add(b.multiply_add(-value, lost_below, lost_above), b.constant(1.4, x.type), value)
    return with_sign(b, value, x)


def _with_powers(b: Builder, x: Value, factor: float) -> tuple[Value, Value, Value]:
    """(e**r - 1) / factor, 2**n and 2**n / 2, of factor * x = n ln 2 + r."""
    dtype = x.type.dtype
    _, whole = nearest(b, x, factor * c.LOG2_E[dtype][0])
    part, _ = expm1_in_parts(b, x, factor, is_short=True)
    power = whole << FRACTION_BITS[dtype]
    one, half = (b.bitcast(power + (BIAS[dtype] - less << FRACTION_BITS[dtype]), x.type) for less in (0, 1))
    return part, one, half


def sinh(b: Builder, x: Value) -> Value:
    """(e + e / (e + 1)) / 2 with e = expm1(|x|), by quarters, since e may be too large."""
    part, n = expm1_in_parts(b, at_most(b, SINH_LIMIT[x.type.dtype], size_of(b, x)))
    power = power_of_two(b, 0.25, n)
    quarter = b.multiply_add(power, part, power - 0.25)
    return with_sign(b, (quarter + quarter / b.multiply_add(quarter, 4.0, b.constant(1.0, x.type))) * 2.0, x)


def cosh(b: Builder, x: Value) -> Value:
    """(e + 1 / e) / 2 with e = exp(|x|), by quarters."""
    part, n = exp_in_parts(b, at_most(b, SINH_LIMIT[x.type.dtype], size_of(b, x)))
    quarter = scaled(b, part * 0.25, n)
    return (quarter + 0.0625 / quarter) * 2.0


def asinh(b: Builder, x: Value) -> Value:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))), a = |x|; of large ones log(2 a)."""
    a = size_of(b, x)
    square = a * a
    rest = a + square / (square_root(b, square + 1.0) + 1.0)
    return with_sign(b, _log1p_or_log_of_twice(b, a, rest), x)


def acosh(b: Builder, x: Value) -> Value:
    """log1p(t + sqrt(t (t + 2))), t = x - 1; of large ones log(2 x)."""
    t = x - 1.0
    value = _log1p_or_log_of_twice(b, x, t + square_root(b, t * (t + 2.0)))
    return b.select(x < 1.0, math.nan, value)


def atanh(b: Builder, x: Value) -> Value:
    """log1p(2 a / (1 - a)) / 2, a = |x|."""
    a = size_of(b, x)
    return flipped(b, log1p_of(b, (a + a) / (1.0 - a)) * 0.5, sign_of(b, x))


def _log1p_or_log_of_twice(b: Builder, a: Value, rest: Value) -> Value:
    is_large = a > LARGE
    doubled = b.select(is_large, b.constant(1.0, a.type), 0.0)
    return log1p_of(b, b.select(is_large, a, rest), doubled)


DECLARED = (
    Declared("tanh", np.tanh, tanh, "The hyperbolic tangent", 7.1),
    Declared("sinh", np.sinh, sinh, "The hyperbolic sine", 12.0),
    Declared("cosh", np.cosh, cosh, "The hyperbolic cosine", 12.0),
    Declared("asinh", np.arcsinh, asinh, "The inverse of sinh", 35.0),
    Declared("acosh", np.arccosh, acosh, "The inverse of cosh; NaN below 1", 35.0),
    Declared("atanh", np.arctanh, atanh, "The inverse of tanh", 25.0),
)
