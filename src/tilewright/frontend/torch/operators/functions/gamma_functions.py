"""The gamma function's logarithm and its derivatives, of all real numbers; computed in float64, in a map for each step.

Sources: Lanczos's sum with the coefficients of P. Godfrey (g = 607/128, 15 terms); reflection, recurrence and asymptotic series
as in Abramowitz and Stegun, chapter 6, and NIST's DLMF, 5.15 and 25.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial, inf, log, nan, pi

from tilewright.frontend.torch import bodies as f
from tilewright.frontend.torch.bodies import X, Y
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.expressions.scalar import Scalar, fold
from tilewright.graph.types import Tensor

LANCZOS_G = 607 / 128
LANCZOS = (
    *(0.99999999999999709182, 57.156235665862923517, -59.597960355475491248, 14.136097974741747174, -0.49191381609762019978),
    *(0.33994649984811888699e-4, 0.46523628927048575665e-4, -0.98374475304879564677e-4, 0.15808870322491248884e-3),
    *(-0.21026444172410488319e-3, 0.21743961811521264320e-3, -0.16431810653676389022e-3, 0.84418223983852743293e-4),
    *(-0.26190838401581408670e-4, 0.36899182659531625704e-5),
)
HALF_LOG_2_PI = 0.5 * log(2 * pi)
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B2, B4, ..."""
STEPS = 10
"""Of the recurrence, before an asymptotic series."""
_FROM_WHOLE = f.subtract(X, f.nearest(X))
"""From the nearest integer to x, exactly: the sine of pi times it is that of pi x but for the sign, the tangent is the same."""
_IS_POLE = f.both(f.less_equal(X, 0), f.equal(_FROM_WHOLE, 0))


@lowers("aten.lgamma.default")
def log_gamma(call: Call) -> Tensor:
    """log |gamma(x)|; infinite at the poles."""
    return call.cast(_log_gamma(call, call.double("self")), call.result.dtype)


@lowers("aten.mvlgamma.default")
def multivariate_log_gamma(call: Call) -> Tensor:
    """The sum of log gamma(x - i / 2) for i < p, and p (p - 1) log(pi) / 4."""
    x, count = call.double("self"), call["p"]
    total = call.in_double(f.add(X, count * (count - 1) / 4 * log(pi)), _log_gamma(call, x))
    for i in range(1, count):
        total = call.in_double(f.add(X, Y), total, _log_gamma(call, call.in_double(f.subtract(X, i / 2), x)))
    return call.cast(total, call.result.dtype)


def _log_gamma(call: Call, x: Tensor) -> Tensor:
    """By log(pi / sin(pi x)) - log gamma(1 - x) of numbers below 1/2."""
    size = call.in_double(f.where(f.less(X, 0.5), f.subtract(1, X), X), x)
    terms = [f.divide(c, f.add(X, k)) for k, c in enumerate(LANCZOS[1:], 1)]
    series = call.in_double(f.divide(f.add(fold("add", reversed(terms)), LANCZOS[0]), X), size)
    base = f.add(X, LANCZOS_G + 0.5)
    value = f.add(f.subtract(f.multiply(f.add(X, 0.5), f.log(base)), base), f.add(f.log(Y), HALF_LOG_2_PI))
    positive = call.in_double(f.where(f.is_infinite(X), inf, value), size, series)
    reflected = f.subtract(f.subtract(log(pi), f.log(f.absolute(f.sin(f.multiply(_FROM_WHOLE, pi))))), Y)
    reflected = f.where(f.either(f.is_infinite(X), _IS_POLE), inf, reflected)
    return call.in_double(f.where(f.less(X, 0.5), reflected, Y), x, positive)


@lowers("aten.digamma.default")
def digamma(call: Call) -> Tensor:
    """The first derivative; NaN at negative poles, infinite at 0."""
    return call.cast(_digamma(call, call.double("self")), call.result.dtype)


def _digamma(call: Call, x: Tensor) -> Tensor:
    size = call.in_double(f.where(f.less(X, 0), f.subtract(1, X), X), x)
    harmonic = call.in_double(fold("add", [f.reciprocal(f.add(X, k)) for k in reversed(range(STEPS))]), size)
    far = f.add(X, STEPS)
    inverse = f.reciprocal(f.square(far))
    series = f.polynomial(inverse, [b / (2 * j) for j, b in reversed(list(enumerate(BERNOULLI, 1)))])
    value = f.subtract(f.subtract(f.log(far), f.divide(0.5, far)), f.multiply(inverse, series))
    positive = call.in_double(f.subtract(value, Y), size, harmonic)
    reflected = f.subtract(Y, f.divide(pi, f.tan(f.multiply(_FROM_WHOLE, pi))))
    reflected = f.where(f.equal(_FROM_WHOLE, 0), nan, reflected)
    at_zero = f.where(f.equal(X, 0), f.negative(f.reciprocal(X)), Y)
    return call.in_double(f.where(f.less(X, 0), reflected, at_zero), x, positive)


@lowers("aten.polygamma.default")
def polygamma(call: Call) -> Tensor:
    """A derivative of the digamma function; infinite at the poles."""
    order, x = call["n"], call.double("self")
    if order > 1:
        return call.cast(_polygamma(call, order, x), call.result.dtype)
    found = _trigamma(call, x) if order else _digamma(call, x)
    return call.cast(found, call.result.dtype)


def _trigamma(call: Call, x: Tensor) -> Tensor:
    """(pi / sin(pi x))^2 less that of 1 - x, of numbers below 1/2: that part in float32 if x is, as ATen computes it."""
    positive = _zeta(call, 2, call.in_double(f.where(f.less(X, 0.5), f.subtract(1, X), X), x))
    dtype = "float64" if call.result.dtype == "float64" else "float32"
    part = call.body(f.square(f.divide(pi, f.sin(f.multiply(X, pi)))), call.cast(x, dtype), dtype=dtype)
    return call.in_double(f.where(f.less(X, 0.5), f.subtract(f.Z, Y), Y), x, positive, call.cast(part, "float64"))


def _polygamma(call: Call, order: int, x: Tensor) -> Tensor:
    """(-1)^(n + 1) n! zeta(n + 1, x); of negative numbers that of 1 - x, and a derivative of the cotangent."""
    sign = -1 if order % 2 == 0 else 1
    size = call.in_double(f.where(f.less(X, 0), f.subtract(1, X), X), x)
    positive = call.in_double(f.multiply(Y, float(sign * factorial(order))), size, _zeta(call, order + 1, size))
    cotangent = call.in_double(f.reciprocal(f.tan(f.multiply(_FROM_WHOLE, pi))), x)
    slope = call.in_double(f.multiply(f.polynomial(X, _cotangent_slopes(order)), -pi), cotangent)
    pole = f.where(_IS_POLE, sign * inf, f.add(f.multiply(Y, -sign), f.Z))
    return call.in_double(f.where(f.less_equal(X, 0), pole, Y), x, positive, slope)


def _cotangent_slopes(order: int) -> Sequence[float]:
    """The polynomial in cot(pi x) that is the derivative of it of an order: P' (-pi) (1 + c^2) of the one before."""
    slopes = [1.0, 0.0]
    for _ in range(order):
        inner = [-pi * c * (len(slopes) - 1 - k) for k, c in enumerate(slopes[:-1])]
        slopes = [a + b for a, b in zip([*inner, 0.0, 0.0], [0.0, 0.0, *inner], strict=True)]
    return slopes


def _zeta(call: Call, s: int, x: Tensor) -> Tensor:
    """Hurwitz's function of a whole number above 1, by the formula of Euler and Maclaurin; x is not negative."""
    first = call.in_double(fold("add", [_power(f.add(X, k), -s) for k in reversed(range(STEPS))]), x)
    far = f.reciprocal(f.add(X, STEPS))
    terms = [b * comb(s + 2 * j - 2, 2 * j - 1) / (2 * j) for j, b in enumerate(BERNOULLI, 1)]
    rest = f.multiply(f.multiply(far, far), f.polynomial(f.square(far), terms[::-1]))
    ends = f.add(f.add(1 / (s - 1), f.multiply(far, 0.5)), rest)
    return call.in_double(f.add(Y, f.multiply(_power(far, s - 1), ends)), x, first)


def _power(x: Scalar, exponent: int) -> Scalar:
    power = fold("multiply", [x] * abs(exponent))
    return f.reciprocal(power) if exponent < 0 else power
