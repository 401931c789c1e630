"""pow, and roots.

x**y = e**(y log x), where log x is a sum of two numbers, good to about twice the bits of one: what s = (m - 1) / (m + 1), its
powers and the sums have lost is kept. Of float32 all is computed in float64.
"""

from __future__ import annotations

import math

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.exponentials import LIMITS, exp2_reduced
from tilewright.tile.functions.logarithms import mantissa_and_exponent
from tilewright.tile.functions.steps import (
    at_least,
    at_most,
    flipped,
    is_nan,
    nearest,
    polynomial,
    product_rest,
    scaled,
    scaled_normal,
    sign_of,
    size_of,
    square_root,
    two_sum,
)
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value


def rsqrt(b: Builder, x: Value) -> Value:
    """1 / sqrt(x)."""
    return 1.0 / square_root(b, x)


def power(b: Builder, x: Value, y: Value) -> Value:
    """x**y: that of |x|, then what C says of negative numbers (C99, annex F.9.4.4)."""
    size = size_of(b, x)
    value = (_of_size_in_float64 if x.type.dtype == "float32" else _of_size)(b, size, y)
    value = b.select(size.equals(1.0) | y.equals(0.0), 1.0, value)
    half, is_whole = y * 0.5, b.apply(Operation.FLOOR, y).equals(y)
    is_odd = is_whole & b.apply(Operation.FLOOR, half).differs(half)
    value = b.select((x < 0.0) & (size < math.inf) & ~is_whole, math.nan, value)
    return b.select(is_odd, flipped(b, value, sign_of(b, x)), value)


def _of_size_in_float64(b: Builder, size: Value, y: Value) -> Value:
    """2**(y log2 x) of x >= 0, rounded once: of 0 and infinity the logarithm is infinite."""
    m, k = mantissa_and_exponent(b, size)
    f, k, y = (b.cast(one, "float64") for one in (m - 1.0, k, y))
    s = f / (f + 2.0)
    t = b.multiply_add(s, polynomial(b, s * s, c.LOG2_WIDE), k) * y
    n, r = exp2_reduced(b, at_most(b, 130.0, at_least(b, -160.0, t)))
    return b.cast(scaled_normal(b, polynomial(b, r, c.EXP2_WIDE), n), "float32")


def _of_size(b: Builder, size: Value, y: Value) -> Value:
    """e**(y log x) of x >= 0."""
    is_end = size.equals(0.0) | size.equals(math.inf)
    high, low = log_in_parts(b, b.select(is_end, 1.0, size))
    grows = (y > 0.0) ^ size.equals(0.0)
    end = b.select(is_nan(y), y, b.select(grows, b.constant(math.inf, y.type), 0.0))
    return b.select(is_end, end, _exponential(b, y, high, low))


def log_in_parts(b: Builder, x: Value) -> tuple[Value, Value]:
    """log x as a sum of two numbers, of a positive finite x: k ln 2 + 2 s + 2/3 s**3 + s**5 P(s**2)."""
    m, k = mantissa_and_exponent(b, x)
    s, s_low = _quotient(b, m - 1.0)
    cube, cube_low, z = _cube(b, s, s_low)
    two_thirds = c.TWO_THIRDS[x.type.dtype]
    high, low = (b.constant(part, x.type) for part in two_thirds[:2])
    term = cube * high
    term_low = b.fma(cube, high, -term) + (cube * low + cube_low * high)
    ln2 = c.LN2[x.type.dtype]
    first, lost = two_sum(k * ln2[0], s * 2.0)
    total, lost_again = two_sum(first, term)
    last = term_low + cube * z * polynomial(b, z, c.ATANH_TAIL)
    rest = (lost + lost_again) + (b.fma(k, b.constant(ln2[1], x.type), s_low * 2.0) + last)
    value = total + rest
    return value, rest - (value - total)


def _quotient(b: Builder, f: Value) -> tuple[Value, Value]:
    """f / (f + 2) as a sum of two numbers."""
    below = f + 2.0
    s = f / below
    return s, b.fma(s, -(f - (below - 2.0)), b.fma(s, -below, f)) / below


def _cube(b: Builder, s: Value, s_low: Value) -> tuple[Value, Value, Value]:
    """s**3 as a sum of two numbers, and s**2."""
    z = s * s
    z_low = product_rest(b, s, s, z) + s * s_low * 2.0
    cube = z * s
    return cube, product_rest(b, z, s, cube) + (z * s_low + z_low * s), z


def _exponential(b: Builder, y: Value, high: Value, low: Value) -> Value:
    """e**(y (high + low))."""
    least, most = LIMITS[y.type.dtype]
    t = y * high
    t_low = b.select(size_of(b, t) < 2.0 * most, b.fma(y, high, -t) + y * low, 0.0)
    t = at_most(b, most, at_least(b, least, t))
    n, _ = nearest(b, t, c.LOG2_E[y.type.dtype][0])
    ln2 = c.LN2[y.type.dtype]
    r, t_low = b.fma(n, b.constant(-ln2[0], y.type), t), b.multiply_add(n, b.constant(-ln2[1], y.type), t_low)
    tail = polynomial(b, r, c.EXPM1) * (r * r)
    tail = b.multiply_add(t_low, (r + tail) + 1.0, tail)
    return scaled(b, (r + tail) + 1.0, n)
