"""Logarithms: x = 2**k m with m from sqrt(1/2) to sqrt(2), f = m - 1, and log x = k log 2 + log(1 + f).

log(1 + f) is f + f**2 P(f), or f - (f**2 / 2 - s (f**2 / 2 + R(s**2))) with s = f / (2 + f): one division instead of a long
polynomial. Of 0 and infinity the exponent is what the logarithm is, and f is finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.functions.steps import horner, polynomial, scaled, two_sum, with_sign
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value


def mantissa_and_exponent(b: Builder, x: Value) -> tuple[Value, Value]:
    """m and k, of a number that is positive."""
    parts = Operation.CENTRED_MANTISSA, Operation.CENTRED_EXPONENT
    mantissa, exponent = (b.instruction(part, x.type, (x,)) for part in parts)
    return mantissa, exponent


def beyond_f(b: Builder, f: Value, total: Value | None = None) -> Value:
    """log(1 + f) - f, plus a small total."""
    square = f * f
    if f.type.dtype == "float32":
        factor = polynomial(b, f, c.LOG)
        return factor * square if total is None else b.multiply_add(factor, square, total)
    half = square * 0.5
    s = f / (f + 2.0)
    z = s * s
    inside = b.multiply_add(polynomial(b, z, c.ATANH), z, half)
    return (s * inside if total is None else b.multiply_add(s, inside, total)) - half


def log(b: Builder, x: Value) -> Value:
    """To the base e."""
    m, k = mantissa_and_exponent(b, x)
    return _where_positive(b, x, _natural(b, m - 1.0, k))


def log2(b: Builder, x: Value) -> Value:
    """To the base 2."""
    return _scaled_log(b, x, 1.0 / math.log(2.0), c.LOG2_E[x.type.dtype], (1.0, 0.0))


def log10(b: Builder, x: Value) -> Value:
    """To the base 10."""
    return _scaled_log(b, x, 1.0 / math.log(10.0), c.LOG10_E[x.type.dtype], c.LOG10_2[x.type.dtype])


def log1p(b: Builder, x: Value) -> Value:
    """log(1 + x)."""
    return with_sign(b, log1p_of(b, x), x)


def log1p_of(b: Builder, x: Value, doublings: Value | None = None) -> Value:
    """The same, of 0 with any sign; doublings are added to k. What 1 + x has lost is added to f."""
    total, lost = two_sum(x, b.constant(1.0, x.type))
    m, k = mantissa_and_exponent(b, total)
    is_inside = (total > 0.0) & (total < math.inf)
    k = b.select(is_inside, k, 0.0)
    f = (m - 1.0) + scaled(b, lost, -k)
    value = _natural(b, f, k if doublings is None else k + doublings)
    return b.select(is_inside, value, b.select(total.equals(0.0), -math.inf, b.select(total < 0.0, math.nan, total)))


def _natural(b: Builder, f: Value, k: Value) -> Value:
    """k ln 2 + log(1 + f); the float32 nearest to ln 2 is that to 29 bits."""
    if f.type.dtype == "float32":
        return b.multiply_add(k, b.constant(math.log(2.0), f.type), f + beyond_f(b, f))
    high, low = c.LN2[f.type.dtype]
    return b.multiply_add(k, b.constant(high, f.type), f + beyond_f(b, f, k * low))


def _scaled_log(b: Builder, x: Value, factor: float, parts: Sequence[float], of_two: Sequence[float]) -> Value:
    """k times the logarithm of 2 plus `factor` log(1 + f), with both in parts; float32 is near enough to the factor itself."""
    m, k = mantissa_and_exponent(b, x)
    f = m - 1.0
    if x.type.dtype == "float32":
        rest = horner(b, f, [one * factor for one in c.LOG["float32"]]) * (f * f)
    else:
        rest = b.multiply_add(f, parts[1], beyond_f(b, f) * parts[0])
    if of_two[1]:
        rest = b.multiply_add(k, of_two[1], rest)
    value = b.multiply_add(f, parts[0], rest)
    return _where_positive(b, x, b.multiply_add(k, of_two[0], value))


def _where_positive(b: Builder, x: Value, value: Value) -> Value:
    return b.select(x < 0.0, math.nan, value)


DECLARED = (
    Declared("log", np.log, log, "The natural logarithm; -inf for 0, NaN below", 9.7),
    Declared("log2", np.log2, log2, "The logarithm to base 2; -inf for 0, NaN below", 9.7),
    Declared("log10", np.log10, log10, "The logarithm to base 10; -inf for 0, NaN below", 9.7),
    Declared("log1p", np.log1p, log1p, "log(1 + x), exact next to 0, too", 20.0),
)
