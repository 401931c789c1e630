"""Functions made of the error function: its inverse, what is scaled, and the normal distribution's logarithm."""

from __future__ import annotations

from math import inf, nan, pi, sqrt

from tilewright.frontend.torch import bodies as f
from tilewright.frontend.torch.bodies import X, Y
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.expressions.scalar import Scalar, with_loads
from tilewright.graph.types import Tensor

NEAR = (-0.140543331, 0.914624893, -1.645349621, 0.886226899), (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)
FAR = (1.641345311, 3.429567803, -1.624906493, -1.970840454), (1.637067800, 3.543889200, 1.0)
"""Quotients of polynomials, of ATen's `calc_erfinv`: near 0, and beyond 0.7."""
LARGEST_ARGUMENT = 25.0
"""Up to it the complement of the error function is no denormal number."""


@lowers("aten.erfinv.default")
def inverse_error_function(call: Call) -> Tensor:
    """From -1 to 1, infinite there, NaN elsewhere: an approximation, and two steps of Newton's method."""
    y = call.double("self")
    near = f.multiply(X, f.divide(*(f.polynomial(f.square(X), part) for part in NEAR)))
    root = f.sqrt(f.negative(f.log(f.multiply(f.subtract(1, f.absolute(X)), 0.5))))
    far = f.divide(*(f.polynomial(root, part) for part in FAR))
    far = f.where(f.less(X, 0), f.negative(far), far)
    x = call.in_double(f.where(f.less_equal(f.absolute(X), 0.7), near, far), y)
    slope = f.multiply(f.exp(f.negative(f.square(X))), 2 / sqrt(pi))
    for _ in range(2):
        x = call.in_double(f.subtract(X, f.divide(f.subtract(f.erf(X), Y), slope)), x, y)
    ends = f.where(f.equal(f.absolute(X), 1), f.multiply(X, inf), nan)
    return call.cast(call.in_double(f.where(f.less(f.absolute(X), 1), Y, ends), y, x), call.result.dtype)


@lowers("aten.special_erfcx.default")
def scaled_complement(call: Call) -> Tensor:
    """exp(x^2) erfc(x)."""
    return call.cast(_scaled_complement(call, call.double("self")), call.result.dtype)


def _scaled_complement(call: Call, x: Tensor) -> Tensor:
    """From 25 on by the asymptotic series (DLMF 7.12.1)."""
    inverse = f.divide(0.5, f.square(X))
    series = f.polynomial(inverse, (105.0, -15.0, 3.0, -1.0, 1.0))
    far = f.divide(f.multiply(series, 1 / sqrt(pi)), X)
    near = f.multiply(f.exp(f.square(X)), f.erfc(X))
    return call.in_double(f.where(f.greater(X, LARGEST_ARGUMENT), far, near), x)


@lowers("aten.special_log_ndtr.default")
def log_normal_distribution(call: Call) -> Tensor:
    """The logarithm of the normal distribution's function."""
    x = call.double("self")
    scaled = _scaled_complement(call, call.in_double(f.multiply(X, -1 / sqrt(2)), x))
    left = f.subtract(f.log(f.multiply(Y, 0.5)), f.multiply(f.square(X), 0.5))
    right = f.log1p(f.multiply(f.erfc(f.multiply(X, 1 / sqrt(2))), -0.5))
    return call.cast(call.in_double(f.where(f.less(X, -1), left, right), x, scaled), call.result.dtype)


TAIL = 0.13533528323661269189
"""exp(-2), from which on a series around 1/2 serves; S. L. Moshier's Cephes library (ndtri.c), as in ATen's `calc_ndtri`."""
MIDDLE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439, 13.9312609387279679503, -1.23916583867381258016),
    (
        *(1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527),
        *(200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142),
    ),
)
FAR_TAIL = 8.0
"""Of sqrt(-2 log y), where the other quotient begins."""
TAILS = (
    (
        *(4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700, 14.6849561928858024014),
        *(2.18663306850790267539, -0.140256079171354495875, -3.50424626827848203418e-2, -8.57456785154685413611e-4),
    ),
    (
        *(1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408),
        *(2.50464946208309415979, -0.142182922854787788574, -3.80806407691578277194e-2, -9.33259480895457427372e-4),
    ),
)
FAR_TAILS = (
    (
        *(
            3.23774891776946035970,
            6.91522889068984211695,
            3.93881025292474443415,
            1.33303460815807542389,
            0.201485389549179081538,
        ),
        *(1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9),
    ),
    (
        *(1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 0.216236993594496635890),
        *(1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
    ),
)


@lowers("aten.special_ndtri.default")
def normal_quantile(call: Call) -> Tensor:
    """The inverse of the normal distribution's function: infinite at 0 and 1, NaN outside of them."""
    y = call.double("self")
    is_upper = f.greater(X, 1 - TAIL)
    share = call.in_double(f.where(is_upper, f.subtract(1, X), X), y)
    centred = f.subtract(X, 0.5)
    middle = f.add(1, f.multiply(f.square(centred), f.divide(*(f.polynomial(f.square(centred), part) for part in MIDDLE))))
    middle = f.multiply(f.multiply(centred, middle), sqrt(2 * pi))
    root = call.in_double(f.sqrt(f.multiply(f.log(X), -2)), share)
    inverse = f.reciprocal(X)
    near, far = (f.divide(*(f.polynomial(inverse, part) for part in parts)) for parts in (TAILS, FAR_TAILS))
    less_root = f.add(f.divide(f.log(X), X), f.multiply(inverse, f.where(f.less(X, FAR_TAIL), near, far)))
    tail = call.in_double(f.subtract(X, less_root), root)
    signed = f.where(is_upper, f.Z, f.negative(f.Z))
    inner = f.where(f.greater(Y, TAIL), f.where(is_upper, f.negative(_shifted(middle)), _shifted(middle)), signed)
    ends = f.where(f.equal(X, 0), -inf, f.where(f.equal(X, 1), inf, nan))
    inside = f.both(f.greater(X, 0), f.less(X, 1))
    return call.cast(call.in_double(f.where(inside, inner, ends), y, share, tail), call.result.dtype)


def _shifted(body: Scalar) -> Scalar:
    """A function of the first operand as one of the second."""
    return with_loads(body, {0: Y})
