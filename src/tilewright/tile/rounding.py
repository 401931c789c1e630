"""Multiply-adds that are rounded once, and conversions to narrower floats: of NumPy arrays, exactly as IEEE 754 defines them.

Rounding to odd makes the last of two roundings the only one: what is inexact gets an odd last bit, which the narrower type sees
as "more than" or "less than" [S. Boldo, G. Melquiond: Emulation of FMA and correctly rounded sums, IEEE ToC 2008].
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

HALF_ULP = 1 << 28
"""Of float32: the lower 29 bits of a float64 that lies in the middle between two of them."""
SMALL_F32 = 2.0**-125
"""Below, the middle lies elsewhere."""
SPLITTER = 2.0**27 + 1
"""Dekker's: halves of a float64 of 26 bits."""
SMALLEST, LARGEST = 2.0**-450, 2.0**450
"""Factors of float64 between them have products whose rounding errors are float64 numbers too."""
SMALLEST_TOTAL, LARGEST_TOTAL = 2.0**-900, 2.0**1000


def fma(a: Array, b: Array, c: Array) -> Array:
    """`a * b + c`, rounded once: floats of one type.

    >>> x = np.float32([1 + 2.0**-23])
    >>> float(fma(x, x, -x * x)[0]) == 2.0**-46
    True
    """
    if a.dtype == np.float64:
        return _fma_f64(a, b, c)
    product, term = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + term
    if a.dtype == np.float32 and not _is_doubtful(total).any():
        return np.asarray(total, np.float32)
    return np.asarray(to_odd(total, error_of_sum(product, term, total)), a.dtype)


def _is_doubtful(total: Array) -> Array:
    """Where a float64 that is rounded already may be rounded otherwise to float32 than what it was."""
    is_middle = total.view(np.int64) & (2 * HALF_ULP - 1) == HALF_ULP
    found: Array = is_middle | (np.abs(total) < SMALL_F32)
    return found


def error_of_sum(a: Array, b: Array, total: Array) -> Array:
    """What rounding left out of `a + b`, exactly [Knuth's TwoSum]."""
    part = total - a
    error: Array = (a - (total - part)) + (b - part)
    return error


def to_odd(total: Array, error: Array) -> Array:
    """The exact `total + error`, of float64 numbers the first of which is the nearest one, rounded to odd.

    Where the sum lies beyond an even number, the next one in its direction is odd.
    """
    bits = total.view(np.int64)
    moves = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    away = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(moves, bits + away, bits).view(np.float64)


def _fma_f64(a: Array, b: Array, c: Array) -> Array:
    """By float64 alone where nothing overflows or becomes denormal, else by fractions, lane by lane."""
    product = a * b
    low = _error_of_product(a, b, product)
    high = c + low
    total = product + high
    rest = error_of_sum(c, low, high)
    error = error_of_sum(product, high, total)
    sum_of_errors = rest + error
    odd = to_odd(sum_of_errors, error_of_sum(rest, error, sum_of_errors))
    result = total + odd
    has_exact_product = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b)
    result = np.where(has_exact_product, product + c, np.where(np.isfinite(c), result, c))
    rare = ~has_exact_product & np.isfinite(c) & ~_is_easy(a, b, c)
    for lane in np.flatnonzero(rare):
        result.flat[lane] = _fma_of_numbers(float(a.flat[lane]), float(b.flat[lane]), float(c.flat[lane]))
    return result


def _is_easy(a: Array, b: Array, c: Array) -> Array:
    easy: Array = (np.abs(c) > SMALLEST_TOTAL) & (np.abs(c) < LARGEST_TOTAL)
    for x in (a, b):
        easy = easy & (np.abs(x) > SMALLEST) & (np.abs(x) < LARGEST)
    return easy


def _error_of_product(a: Array, b: Array, product: Array) -> Array:
    """What rounding left out of `a * b`, exactly [Dekker's product]."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error: Array = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return error


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _fma_of_numbers(a: float, b: float, c: float) -> float:
    """Of finite numbers, none of the factors 0: Python rounds quotients of integers once."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return 0.0
    try:
        return float(exact) or (0.0 if exact > 0 else -0.0)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def to_f32_odd(x: Array) -> Array:
    """Numbers as float32, rounded to odd: a float64, or integers."""
    if x.dtype == np.float32:
        return x
    near = x.astype(np.float32)
    order = _order(near, x)
    bits = near.view(np.int32)
    moves = np.isfinite(near) & (order != 0) & (bits & 1 == 0)
    away = np.where((order < 0) == np.signbit(near), 1, -1)
    return np.where(moves, bits + away, bits).astype(np.int32).view(np.float32)


def _order(near: Array, x: Array) -> Array:
    """1 where a number is larger than its nearest float32, -1 where it is smaller, else 0."""
    if x.dtype.kind == "f":
        wide = near.astype(np.float64)
        return np.asarray((x > wide).astype(np.int8) - (x < wide))
    order = [(int(whole) > int(one)) - (int(whole) < int(one)) for whole, one in zip(x.flat, near.flat, strict=True)]
    return np.array(order, np.int8).reshape(x.shape)


def to_bfloat16(x: Array) -> Array:
    """The bits of the nearest bfloat16 numbers, as uint16; NaN becomes a quiet NaN.

    >>> [hex(bits) for bits in to_bfloat16(np.array([1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30]))]
    ['0x3f80', '0x3f81']
    """
    bits = to_f32_odd(x).view(np.uint32)
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    is_nan = bits & 0x7FFFFFFF > 0x7F800000
    return np.where(is_nan, bits >> 16 | 0x40, nearest).astype(np.uint16)


def from_bfloat16(bits: Array) -> Array:
    """As float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
