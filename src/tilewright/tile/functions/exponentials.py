"""Exponential functions: x = n ln 2 + r, |r| <= ln(2) / 2, and e**x = 2**n e**r.

ln 2 is in two parts, the first of few bits, so that n times it is exact (Cody and Waite, "Software Manual for the Elementary
Functions", 1980, chapter 6). Arguments beyond the range of results are moved to its ends, where n is small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.functions.steps import (
    at_least,
    at_most,
    horner,
    nearest,
    polynomial,
    power_of_two,
    scaled,
    size_of,
    stretched,
)
from tilewright.tile.program import Value

LIMITS = {"float32": (-104.0, 89.0), "float64": (-746.0, 710.0)}
"""Below e**x is 0, above infinite."""
LIMITS_2 = {"float32": (-151.0, 128.5), "float64": (-1076.0, 1024.5)}
"""The same of 2**x."""
OF_FRACTION = (0.00186712993, 0.00901703071, 0.0557999052, 0.240164489, 0.693151295, 1.0)
"""2**f, 0 <= f <= 1: to 1.4e-7, relative; a minimax polynomial."""
WIDE_BITS = 512
"""Vectors of machines that round, and scale by powers of two, by one instruction each."""
TINY = 2.0**-60
"""Below it e**x - 1 is x, whose last bit halves would lose where it is no normal number."""


def reduced(b: Builder, x: Value, factor: float = 1.0, *, is_short: bool = False) -> tuple[Value, Value]:
    """n and r / factor, of factor * x; the factor is a power of two with any sign.

    `is_short`: |n| is below 32, so that the float32 next to ln 2, which is good to 29 bits, does for float32.
    """
    n, _ = nearest(b, x, factor * c.LOG2_E[x.type.dtype][0])
    high, low = (part / factor for part in c.LN2[x.type.dtype])
    if is_short and x.type.dtype == "float32":
        return n, b.multiply_add(n, -(high + low), x)
    return n, b.multiply_add(n, -low, b.multiply_add(n, -high, x))


def exp_in_parts(b: Builder, x: Value, factor: float = 1.0) -> tuple[Value, Value]:
    """e**r and n, of factor * x within the limits."""
    n, r = reduced(b, x, factor)
    return horner(b, r, stretched([*c.EXP[x.type.dtype], 1.0], factor)), n


def expm1_in_parts(b: Builder, x: Value, factor: float = 1.0, *, is_short: bool = False) -> tuple[Value, Value]:
    """(e**r - 1) / factor and n, of factor * x within the limits."""
    n, r = reduced(b, x, factor, is_short=is_short)
    tail = horner(b, r, [one * factor for one in stretched(c.EXPM1[x.type.dtype], factor)])
    return b.multiply_add(tail, r * r, r), n


def decay(b: Builder, high: Value, low: Value, factor: float, over: Sequence[float]) -> tuple[Value, Value]:
    """e**r and n, of -factor * (high + low), where low is small and `over` is ln(2) / factor in two parts."""
    n, _ = nearest(b, high, -factor * c.LOG2_E[high.type.dtype][0])
    r = b.multiply_add(n, over[0], high) + b.multiply_add(n, over[1], low)
    return horner(b, r, stretched([*c.EXP[high.type.dtype], 1.0], -factor)), n


def exp(b: Builder, x: Value) -> Value:
    """e**x."""
    low, high = LIMITS[x.type.dtype]
    value, n = exp_in_parts(b, at_most(b, high, at_least(b, low, x)))
    return scaled(b, value, n)


def exp2_reduced(b: Builder, x: Value) -> tuple[Value, Value]:
    """n and r = x - n, of an x within the limits."""
    n, _ = nearest(b, x, 1.0)
    return n, x - n


def exp2_in_parts(b: Builder, x: Value) -> tuple[Value, Value]:
    """2**r and n, of an x within the limits."""
    n, r = exp2_reduced(b, x)
    return b.multiply_add(polynomial(b, r, c.EXP2), r, b.constant(1.0, x.type)), n


def exp2(b: Builder, x: Value) -> Value:
    """2**x."""
    low, high = LIMITS_2[x.type.dtype]
    value, n = exp2_in_parts(b, at_most(b, high, at_least(b, low, x)))
    return scaled(b, value, n)


def expm1(b: Builder, x: Value) -> Value:
    """e**x - 1: 2**n (e**r - 1) + (2**n - 1), by halves, since 2**n may be too large."""
    limited = at_most(b, LIMITS[x.type.dtype][1], at_least(b, -40.0, x))
    part, n = expm1_in_parts(b, limited)
    half = power_of_two(b, 0.5, n)
    return b.select(size_of(b, x) < TINY, x, b.fma(half, part, half - 0.5) * 2.0)


DECLARED = (
    Declared("exp", np.exp, exp, "The exponential function", 5.0),
    Declared("exp2", np.exp2, exp2, "2 to the power x", 5.0),
    Declared("expm1", np.expm1, expm1, "exp(x) - 1, exact next to 0, too", 8.0),
)
