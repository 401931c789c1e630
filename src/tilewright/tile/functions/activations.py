"""Activations of neural networks. Where one decays, its exponential stays apart from its power of two up to the last product."""

from __future__ import annotations

import math

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions import exponentials
from tilewright.tile.functions.declaration import Declared, in_float64, logistic
from tilewright.tile.functions.exponentials import decay, exp_in_parts, expm1
from tilewright.tile.functions.logarithms import log1p_of
from tilewright.tile.functions.steps import at_least, at_most, horner, product_rest, scaled, size_of
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
"""Klambauer et al., "Self-Normalizing Neural Networks", 2017, equation 14."""
SQRT_2_OVER_PI, CUBIC = math.sqrt(2 / math.pi), 0.044715
"""Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2: of the tanh form."""
LEAST = {"float32": -112.0, "float64": -755.0}
"""Below x e**x is 0."""
GELU_TANH_LIMIT = {"float32": 11.0, "float64": 23.0}
"""From here on the result is x or 0."""


def sigmoid(b: Builder, x: Value) -> Value:
    """1 / (1 + e**-|x|), times the exponential of negative numbers."""
    part, n = _decay(b, size_of(b, x))
    power = scaled(b, part, n)
    return b.select(x < 0.0, power, 1.0) / (power + 1.0)


def silu(b: Builder, x: Value) -> Value:
    """x sigmoid(x)."""
    if x.type.dtype == "float32" and x.type.size_bits == exponentials.WIDE_BITS:
        return _silu_by_powers(b, x)
    part, n = _decay(b, size_of(b, x))
    return _times_sigmoid(b, x, part, n)


def _silu_by_powers(b: Builder, x: Value) -> Value:
    """x / (1 + 2**t), t = -x log2(e), whose fraction and whole part make the power; -0 below -88.7, where that is infinite.

    The product with log2(e) is rounded. What the sigmoid makes of that error, and of 0, is below the last bit of x.
    """
    t = x * -c.LOG2_E["float32"][0]
    fraction = b.apply(Operation.FRACTION, t)
    return x / (b.apply(Operation.SCALE, horner(b, fraction, exponentials.OF_FRACTION), t) + 1.0)


def gelu_tanh(b: Builder, x: Value) -> Value:
    """x sigmoid(c (k x + x**3)), k = 1 / 0.044715, c = 2 sqrt(2 / pi) / k.

    With a = |x| and v = a**2 + k, the exponent is c a v: what their roundings have lost is added before e**r.
    """
    dtype = x.type.dtype
    a = at_most(b, GELU_TANH_LIMIT[dtype], size_of(b, x))
    k, k_low = c.GELU_TANH_K[dtype]
    v = b.fma(a, a, k)
    rest = b.fma(a, a, k - v) + k_low
    product = a * v
    rest = b.multiply_add(a, rest, product_rest(b, a, v, product))
    part, n = decay(b, product, rest, c.GELU_TANH_C[dtype][0], c.GELU_TANH_LN2[dtype])
    return _times_sigmoid(b, x, part, n)


def _times_sigmoid(b: Builder, x: Value, part: Value, n: Value) -> Value:
    """x / (1 + e**-s) of an s with the sign of x, e**-|s| = part * 2**n; NaN of -infinity, as a product with 0 is."""
    is_negative = x < 0.0
    limited = at_least(b, LEAST[x.type.dtype], x)
    value = b.select(is_negative, limited * part, limited) / (scaled(b, part, n) + 1.0)
    value = b.select(is_negative, scaled(b, value, n), value)
    return b.select(x.equals(-math.inf), math.nan, value)


def softplus(b: Builder, x: Value) -> Value:
    """log(1 + e**x) = max(x, 0) + log(1 + e**-|x|)."""
    part, n = _decay(b, size_of(b, x))
    return at_least(b, 0.0, x) + log1p_of(b, scaled(b, part, n))


def mish(b: Builder, x: Value) -> Value:
    """x tanh(log(1 + e**x)) = x e (e + 2) / (e (e + 2) + 2) with e = e**x; of 40 and more x."""
    limited = at_least(b, LEAST[x.type.dtype], x)
    part, n = exp_in_parts(b, at_most(b, 40.0, limited))
    e = scaled(b, part, n)
    twice = e + 2.0
    value = scaled(b, limited * (part * twice / b.multiply_add(e, twice, b.constant(2.0, x.type))), n)
    return b.select(x.equals(-math.inf), math.nan, value)


def elu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """alpha (e**x - 1) of negative numbers."""
    return b.select(x > 0.0, x, expm1(b, x) * alpha)


def selu(b: Builder, x: Value) -> Value:
    """Scaled `elu`."""
    return b.select(x > 0.0, x * SELU_SCALE, expm1(b, x) * (SELU_SCALE * SELU_ALPHA))


def celu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """alpha (e**(x / alpha) - 1) of negative numbers."""
    return b.select(x > 0.0, x, expm1(b, x * (1.0 / alpha)) * alpha)


def hardswish(b: Builder, x: Value) -> Value:
    """x (x + 3) / 6, with x + 3 between 0 and 6."""
    return x * (at_most(b, 6.0, at_least(b, 0.0, x + 3.0)) * (1.0 / 6.0))


def _decay(b: Builder, a: Value) -> tuple[Value, Value]:
    """v and n, v * 2**n = e**-a of an a >= 0."""
    return exp_in_parts(b, at_most(b, -LEAST[a.type.dtype], a), -1.0)


DECLARED = (
    Declared("sigmoid", in_float64(logistic), sigmoid, "1 / (1 + exp(-x)), exact in the left tail, too", 9.2),
    Declared("silu", in_float64(lambda x: x * logistic(x)), silu, "x / (1 + exp(-x)); NaN at -inf", 9.5),
    Declared(
        "gelu_tanh",
        in_float64(lambda x: x * logistic(2 * SQRT_2_OVER_PI * (x + CUBIC * x**3))),
        gelu_tanh,
        "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2",
        12.7,
    ),
)
