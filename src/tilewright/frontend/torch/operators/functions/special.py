"""Special functions: logarithms of sums, entropies, signs and lengths, with infinities and NaN as ATen has them."""

from __future__ import annotations

from functools import partial
from math import copysign, inf, log2, nan, pi

from tilewright.frontend.torch.bodies import (
    X,
    Y,
    absolute,
    add,
    both,
    divide,
    either,
    equal,
    exp,
    exp2,
    floor,
    greater,
    greater_equal,
    has_sign,
    held,
    is_infinite,
    is_nan,
    less,
    log,
    log1p,
    log2_of,
    maximum,
    multiply,
    negative,
    scalar,
    sin,
    sqrt,
    square,
    subtract,
    where,
)
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.numbers import operand
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.expressions.scalar import Scalar, apply
from tilewright.graph.expressions.scalar_functions import AS_STORED
from tilewright.graph.numpy_types import is_float
from tilewright.graph.types import Tensor

# Of one operand

_SINC = where(equal(X, 0), 1, divide(sin(multiply(X, pi)), multiply(X, pi)))
_ENTROPY = where(greater(X, 0), negative(multiply(X, log(X))), where(equal(X, 0), 0, -inf))
_BODIES: dict[str, Scalar] = {"sinc": _SINC, "special_entr": where(is_nan(X), X, _ENTROPY)}


@lowers(*(f"aten.{name}.default" for name in _BODIES))
def special_function(call: Call) -> Tensor:
    """A function of floats."""
    return call.body(_BODIES[call.operator], call.tensor("self", call.result.dtype))


@lowers("aten.logit.default")
def logit(call: Call) -> Tensor:
    """log(x / (1 - x)), of x between eps and 1 - eps if it is given."""
    dtype = call.result.dtype
    x = held(X, call["eps"], 1 - call["eps"]) if call["eps"] is not None else X
    rounded = partial(apply, AS_STORED[dtype]) if dtype in AS_STORED else scalar  # ATen rounds each step
    return call.body(log(rounded(divide(x, rounded(subtract(1, x))))), call.tensor("self", dtype))


@lowers("aten.angle.default")
def angle(call: Call) -> Tensor:
    """0, or pi of negative numbers."""
    angles = where(less(X, 0), pi, 0)
    return call.body(where(is_nan(X), X, angles), call.tensor("self", call.result.dtype))


@lowers("aten.signbit.default")
def signbit(call: Call) -> Tensor:
    """Whether the sign is set; that of a NaN counts as clear."""
    x = call.tensor("self")
    return call.body(has_sign(X) if is_float(x.dtype) else less(X, 0), x)


# Of two operands


@lowers("aten.atan2.default")
def angle_of_point(call: Call) -> Tensor:
    """The angle of the point (other, self)."""
    return call.map("atan2", call.tensor("self", call.result.dtype), call.tensor("other", call.result.dtype))


@lowers("aten.copysign.Tensor", "aten.copysign.Scalar")
def with_sign(call: Call) -> Tensor:
    """The size of `self` with the sign of `other`."""
    dtype = call.result.dtype
    other, size = operand(call, "other", dtype), absolute(X)
    if isinstance(other, float):
        return call.body(negative(size) if copysign(1.0, other) < 0 else size, call.tensor("self", dtype))
    return call.body(where(has_sign(Y), negative(size), size), operand(call, "self", dtype), other)


@lowers("aten.hypot.default")
def length(call: Call) -> Tensor:
    """The root of the sum of squares, without overflow; infinite where one is, even beside NaN."""
    dtype = call.result.dtype
    operands = call.tensor("self", dtype), call.tensor("other", dtype)
    if dtype == "float64":
        return call.body(_double_length(), *operands)
    root = sqrt(add(square(X), square(Y)))
    return call.body(where(either(is_infinite(X), is_infinite(Y)), inf, root), *operands, accumulator="float64")


def _double_length() -> Scalar:
    """m sqrt(1 + (n / m)^2), m the larger and n the smaller size."""
    first, second = absolute(X), absolute(Y)
    is_first = greater(first, second)
    large, small = where(is_first, first, second), where(is_first, second, first)
    scaled = multiply(large, sqrt(add(1, square(divide(small, large)))))
    root = where(equal(add(first, second), 0), 0, scaled)
    return where(either(is_infinite(X), is_infinite(Y)), inf, root)


@lowers("aten.logaddexp.default", "aten.logaddexp2.default")
def log_of_sum(call: Call) -> Tensor:
    """log(exp(self) + exp(other)), to base e or 2, from the larger one on; equal infinities are their own."""
    dtype = call.result.dtype
    size = negative(absolute(subtract(X, Y)))
    rest = log1p(exp(size)) if call.operator == "logaddexp" else multiply(log1p(exp2(size)), log2(2.718281828459045))
    both_infinite = equal(absolute(X), inf)
    body = where(equal(X, Y), where(both_infinite, X, add(X, rest)), add(maximum(X, Y), rest))
    return call.body(body, call.tensor("self", dtype), call.tensor("other", dtype))


@lowers(
    *(f"aten.xlogy.{overload}" for overload in ("Tensor", "Scalar_Other", "Scalar_Self")),
    *(f"aten.special_xlog1py.{overload}" for overload in ("default", "other_scalar", "self_scalar")),
)
def times_logarithm(call: Call) -> Tensor:
    """`self * log(other)`, or `log(1 + other)`: 0 where `self` is 0, but NaN of NaN."""
    dtype = call.result.dtype
    logarithm = log(Y) if call.operator == "xlogy" else log1p(Y)
    body = where(is_nan(Y), nan, where(equal(X, 0), 0, multiply(X, logarithm)))
    return call.body(body, operand(call, "self", dtype), operand(call, "other", dtype))


@lowers("aten.ldexp.Tensor")
def scaled(call: Call) -> Tensor:
    """`self * 2^other`, rounded once."""
    dtype = call.result.dtype
    if dtype == "float64":
        raise call.refuse("powers of two beyond float64")
    power = exp2(held(Y, -1000, 1000))
    exponent = call.tensor("other", "float64" if not is_float(call.tensor("other").dtype) else dtype)
    return call.body(multiply(X, power), call.tensor("self", dtype), exponent, accumulator="float64")


@lowers("aten.frexp.Tensor")
def mantissa_and_exponent(call: Call) -> tuple[Tensor, Tensor]:
    """A mantissa from 1/2 to 1 and the power of two that it is multiplied with; zeros and infinities as they are."""
    x = call.tensor("self")
    if x.dtype == "float64":
        raise call.refuse("exponents of float64")
    size = absolute(X)
    is_plain = both(greater(size, 0), less(size, inf))
    about = call.body(where(is_plain, floor(log2_of(size)), 0), x, dtype="float64")
    part = multiply(size, exp2(negative(Y)))
    shift = where(greater_equal(part, 2), 2, where(less(part, 1), 0, 1))
    exponent = call.body(where(is_plain, add(Y, shift), 0), x, about, dtype="float64")
    return call.body(multiply(X, exp2(negative(Y))), x, exponent, accumulator="float64"), call.cast(exponent, "int32")
