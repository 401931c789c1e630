"""Functions made of the error function: its inverse, what is scaled, and the normal distribution's logarithm."""

from __future__ import annotations

from math import inf, nan, pi, sqrt

from tilewright.frontend.torch import bodies as f
from tilewright.frontend.torch.bodies import X, Y
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import Tensor

NEAR = (-0.140543331, 0.914624893, -1.645349621, 0.886226899), (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
FAR = (1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.637067800, 3.543889200, 1.0)
"""Quotients of polynomials, of ATen's `calc_erfinv`: near 0, and beyond 0.7."""
LARGEST_ARGUMENT = 25.0
"""Up to it the complement of the error function is no denormal number."""


def _double(call: Call, body: Scalar, *operands: Tensor) -> Tensor:
    return call.body(body, *operands, dtype="float64")


def _operand(call: Call) -> Tensor:
    return call.cast(call.tensor("self", call.result.dtype), "float64")


@lowers("aten.erfinv.default")
def inverse_error_function(call: Call) -> Tensor:
    """From -1 to 1, infinite there, NaN elsewhere: an approximation, and two steps of Newton's method."""
    y = _operand(call)
    near = f.multiply(X, f.divide(*(f.polynomial(f.square(X), part) for part in NEAR)))
    root = f.sqrt(f.negative(f.log(f.multiply(f.subtract(1, f.absolute(X)), 0.5))))
    far = f.divide(*(f.polynomial(root, part) for part in FAR))
    far = f.where(f.less(X, 0), f.negative(far), far)
    x = _double(call, f.where(f.less_equal(f.absolute(X), 0.7), near, far), y)
    slope = f.multiply(f.exp(f.negative(f.square(X))), 2 / sqrt(pi))
    for _ in range(2):
        x = _double(call, f.subtract(X, f.divide(f.subtract(f.erf(X), Y), slope)), x, y)
    ends = f.where(f.equal(f.absolute(X), 1), f.multiply(X, inf), nan)
    return call.cast(_double(call, f.where(f.less(f.absolute(X), 1), Y, ends), y, x), call.result.dtype)


@lowers("aten.special_erfcx.default")
def scaled_complement(call: Call) -> Tensor:
    """exp(x^2) erfc(x)."""
    return call.cast(_scaled_complement(call, _operand(call)), call.result.dtype)


def _scaled_complement(call: Call, x: Tensor) -> Tensor:
    """From 25 on by the asymptotic series (DLMF 7.12.1)."""
    inverse = f.divide(0.5, f.square(X))
    series = f.polynomial(inverse, (105.0, -15.0, 3.0, -1.0, 1.0))
    far = f.divide(f.multiply(series, 1 / sqrt(pi)), X)
    near = f.multiply(f.exp(f.square(X)), f.erfc(X))
    return _double(call, f.where(f.greater(X, LARGEST_ARGUMENT), far, near), x)


@lowers("aten.special_log_ndtr.default")
def log_normal_distribution(call: Call) -> Tensor:
    """The logarithm of the normal distribution's function."""
    x = _operand(call)
    scaled = _scaled_complement(call, _double(call, f.multiply(X, -1 / sqrt(2)), x))
    left = f.subtract(f.log(f.multiply(Y, 0.5)), f.multiply(f.square(X), 0.5))
    right = f.log1p(f.multiply(f.erfc(f.multiply(X, 1 / sqrt(2))), -0.5))
    return call.cast(_double(call, f.where(f.less(X, -1), left, right), x, scaled), call.result.dtype)
