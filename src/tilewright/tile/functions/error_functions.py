"""erf and erfc, and gelu, which is of erfc.

erf a is a + a P(a**2) next to 0; beyond, of float32, 1 - P(a)**4, of float64, 1 - e**(-a**2) P(t), t = (a - 3) /
(a + 3). erfc a = e**(-a**2) P(t) / (a + 3) for all a >= 0 (after Shepherd and Laframboise, "Chebyshev Approximation of (1 + 2x)
exp(x^2) erfc x in 0 <= x < infinity", 1981); next to 0 it is 1 - erf a.
"""

from __future__ import annotations

import math

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared, by_elements, in_float64
from tilewright.tile.functions.exponentials import decay, exp_in_parts, expm1_in_parts
from tilewright.tile.functions.steps import (
    at_least,
    at_most,
    horner,
    polynomial,
    product_rest,
    scaled,
    scaled_normal,
    size_of,
    with_sign,
)
from tilewright.tile.program import Value

ERF_LIMIT = {"float32": 3.93, "float64": 5.95}
"""From here on erf is 1."""
ERF_NEAR = {"float32": 1.2, "float64": 1.0}
"""Up to here a polynomial is erf."""
ERFC_LIMIT = {"float32": 10.2, "float64": 27.3}
"""From here on erfc is 0."""
GELU_LIMIT = {"float32": 16.0, "float64": 40.0}
"""From here on -x has no influence."""


def erf(b: Builder, x: Value) -> Value:
    """The error function."""
    size = at_most(b, ERF_LIMIT[x.type.dtype], size_of(b, x))
    square = size * size
    near = _erf_near(b, size, square)
    far = _erf_by_fourth_power(b, size) if x.type.dtype == "float32" else 1.0 - _erfc_by_square(b, size, square)
    return with_sign(b, b.select(size < ERF_NEAR[x.type.dtype], near, far), x)


def fast_erf(b: Builder, x: Value) -> Value:
    """x P(x**2) / Q(x**2) of float32: within 6 units in the last place."""
    square = at_most(b, ERF_LIMIT["float32"] ** 2, x * x)
    quotient = polynomial(b, square, c.ERF_QUOTIENT) / polynomial(b, square, c.ERF_QUOTIENT_BELOW)
    return at_most(b, 1.0, at_least(b, -1.0, x * quotient))


def erfc(b: Builder, x: Value) -> Value:
    """1 - erf x."""
    a = at_most(b, ERFC_LIMIT[x.type.dtype], size_of(b, x))
    square = a * a
    part, n = expm1_in_parts(b, square, -1.0)
    rest, factor = product_rest(b, a, a, square), erfcx(b, a)
    part = -(part + b.multiply_add(part, -rest, rest))
    far = scaled(b, b.multiply_add(factor, part, factor), n)
    size = b.select(a < 0.5, 1.0 - _erf_near(b, a, square), far)
    return b.select(x < 0.0, 2.0 - size, size)


def gelu(b: Builder, x: Value) -> Value:
    """max(x, 0) - a Phi(-a), a = |x|, where nothing cancels; Phi(-a) = e**(-a**2 / 2) erfcx(a / sqrt(2)) / 2.

    NaN of -infinity, as x Phi(x) is; 0 keeps its sign.
    """
    a = at_most(b, GELU_LIMIT[x.type.dtype], size_of(b, x))
    square = a * a
    part, n = decay(b, square, product_rest(b, a, a, square), 0.5, [part * 2.0 for part in c.LN2[x.type.dtype]])
    positive = b.select(x.equals(-math.inf), math.nan, at_least(b, -0.0, x))
    return scaled(b, a * part * _minus_half_erfcx(b, a), n) + positive


def erfcx(b: Builder, a: Value) -> Value:
    """e**(a**2) erfc a, a >= 0; what t has lost counts."""
    inverse = 1.0 / (a + 3.0)
    t = (a - 3.0) * inverse
    lost = b.multiply_add(t, -a, b.multiply_add(t + 1.0, -3.0, a))
    return polynomial(b, b.multiply_add(inverse, lost, t), c.ERFC) * inverse


def _minus_half_erfcx(b: Builder, a: Value) -> Value:
    if a.type.dtype == "float32":
        return horner(b, a, [-one for one in c.PHI["float32"]]) / polynomial(b, a, c.PHI_BELOW)
    return erfcx(b, a * math.sqrt(0.5)) * -0.5


def _erf_near(b: Builder, a: Value, square: Value) -> Value:
    return b.multiply_add(polynomial(b, square, c.ERF), a, a)


def _erf_by_fourth_power(b: Builder, a: Value) -> Value:
    root = polynomial(b, a, c.ERF_FAR)
    square = root * root
    return b.multiply_add(-square, square, b.constant(1.0, a.type))


def _erfc_by_square(b: Builder, a: Value, square: Value) -> Value:
    power, n = exp_in_parts(b, square, -1.0)
    t = (a - 3.0) / (a + 3.0)
    return scaled_normal(b, power * polynomial(b, t, c.ERFCX), n)


_ERFC = by_elements(math.erfc)
DECLARED = (
    Declared("erf", in_float64(by_elements(math.erf)), erf, "The error function", 7.7),
    Declared("erfc", in_float64(_ERFC), erfc, "1 - erf(x), exact in the tail, too", 16.0),
    Declared("gelu", in_float64(lambda x: x * (_ERFC(-x / math.sqrt(2)) / 2)), gelu, "x (1 + erf(x / sqrt(2))) / 2", 12.3),
)
