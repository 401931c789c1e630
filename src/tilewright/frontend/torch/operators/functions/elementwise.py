"""Functions at every point: arithmetic, roundings, and functions of one operand that graphs have by one name."""

from __future__ import annotations

from collections.abc import Callable
from math import degrees, radians

from tilewright.frontend.torch.bodies import (
    X,
    Y,
    Z,
    absolute,
    add,
    both,
    divide,
    equal,
    floor,
    floor_divide,
    fmod,
    greater,
    is_infinite,
    is_nan,
    less,
    multiply,
    nearest,
    no,
    not_equal,
    one_of,
    reciprocal,
    scalar,
    sqrt,
    square,
    subtract,
    times,
    trunc,
    where,
)
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.numbers import as_operand, check_divisor, factor, operand, rounded
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.expressions.scalar import Scalar, apply
from tilewright.graph.expressions.scalar_functions import AS_STORED
from tilewright.graph.numpy_types import is_float
from tilewright.graph.types import Tensor

# Sums, products, quotients


@lowers("aten.add.Tensor", "aten.add.Scalar")
def added(call: Call) -> Tensor:
    """`self + alpha * other`; of truth values, whether one is true."""
    if call.result.dtype != "bool":
        return _scaled_sum(call, "add", "self", "other")
    if not call["alpha"]:
        raise call.refuse("a multiple of truth values")
    return call.map("logical_or", operand(call, "self", "bool"), operand(call, "other", "bool"))


@lowers("aten.sub.Tensor", "aten.sub.Scalar")
def difference(call: Call) -> Tensor:
    """`self - alpha * other`."""
    return _scaled_sum(call, "subtract", "self", "other")


@lowers("aten.rsub.Tensor", "aten.rsub.Scalar")
def reversed_difference(call: Call) -> Tensor:
    """`other - alpha * self`."""
    return _scaled_sum(call, "subtract", "other", "self")


def _scaled_sum(call: Call, function: str, first: str, second: str) -> Tensor:
    dtype, alpha = call.result.dtype, call["alpha"]
    left, right = operand(call, first, dtype), operand(call, second, dtype)
    if alpha == 1:
        return call.map(function, left, right)
    combine = add if function == "add" else subtract
    return call.body(combine(X, multiply(Y, Z)), left, right, as_operand(call, alpha, dtype))


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def product(call: Call) -> Tensor:
    """The product; of truth values, whether both are true."""
    dtype = call.result.dtype
    function = "logical_and" if dtype == "bool" else "multiply"
    return call.map(function, operand(call, "self", dtype), factor(call, "other", dtype))


@lowers("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.true_divide.Scalar")
def quotient(call: Call) -> Tensor:
    """The quotient of floats."""
    dtype = call.result.dtype
    return call.map("divide", operand(call, "self", dtype), factor(call, "other", dtype))


@lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def rounded_quotient(call: Call) -> Tensor:
    """The quotient, rounded down or toward zero."""
    if call["rounding_mode"] is None:
        return quotient(call)
    return floored_quotient(call) if call["rounding_mode"] == "floor" else _truncated_quotient(call)


def _truncated_quotient(call: Call) -> Tensor:
    """Of short floats, torch rounds quotients by tensors to their type before."""
    dtype = call.result.dtype
    left, right = operand(call, "self", dtype), factor(call, "other", dtype)
    if is_float(dtype):
        step = _stored(dtype) if _is_rounded_stepwise(dtype, right) else scalar
        return call.body(trunc(step(divide(X, Y))), left, right)
    check_divisor(call, "other")
    return call.body(floor_divide(subtract(X, fmod(X, Y)), Y), left, right)


@lowers("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floored_quotient(call: Call) -> Tensor:
    """The quotient rounded down."""
    dtype = call.result.dtype
    left, right = operand(call, "self", dtype), factor(call, "other", dtype)
    if is_float(dtype) and _is_rounded_stepwise(dtype, right):
        return call.body(_stepwise_floor(_stored(dtype)), left, right)
    if not is_float(dtype):
        check_divisor(call, "other")
    return call.map("floor_divide", left, right)


def _is_rounded_stepwise(dtype: str, divisor: Tensor | float) -> bool:
    return dtype in AS_STORED and isinstance(divisor, Tensor) and bool(divisor.shape)


def _stored(dtype: str) -> Callable[[Scalar], Scalar]:
    return lambda value: apply(AS_STORED[dtype], value)


def _stepwise_floor(stored: Callable[[Scalar], Scalar]) -> Scalar:
    """As ATen computes it in a short type (c10's `div_floor_floating`): each step is rounded."""
    rest = stored(fmod(X, Y))
    is_across = both(not_equal(rest, 0), one_of(less(Y, 0), less(rest, 0)))
    near = stored(divide(stored(subtract(X, rest)), Y))
    near = where(is_across, stored(subtract(near, 1)), near)
    low = floor(near)
    nearest_one = where(greater(stored(subtract(near, low)), 0.5), stored(add(low, 1)), low)
    signed = where(equal(near, 0), multiply(divide(X, Y), 0), nearest_one)
    return where(equal(Y, 0), divide(X, Y), signed)


@lowers("aten.fmod.Tensor", "aten.fmod.Scalar")
def rest_toward_zero(call: Call) -> Tensor:
    """What division toward zero leaves."""
    return _of_divisor(call, "fmod")


def _of_divisor(call: Call, function: str) -> Tensor:
    dtype = call.result.dtype
    if not is_float(dtype):
        check_divisor(call, "other")
    return call.map(function, operand(call, "self", dtype), operand(call, "other", dtype))


@lowers("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(call: Call) -> Tensor:
    """What floor division leaves. Of floats, a zero has the dividend's sign, other than in NumPy."""
    dtype = call.result.dtype
    if not is_float(dtype):
        return _of_divisor(call, "mod")
    rest = fmod(X, Y)
    is_across = both(not_equal(rest, 0), one_of(less(Y, 0), less(rest, 0)))
    return call.body(where(is_across, add(rest, Y), rest), operand(call, "self", dtype), operand(call, "other", dtype))


@lowers("aten.addcmul.default", "aten.addcdiv.default")
def sum_with_product(call: Call) -> Tensor:
    """`self + value * tensor1 * tensor2`, or with a quotient in place of the product."""
    dtype, value = call.result.dtype, call["value"]
    combine = multiply if call.operator == "addcmul" else divide
    if not isinstance(value, bool | int | float):
        raise call.refuse("a factor that is no number")
    value = value if is_float(dtype) else rounded(value, dtype)
    operands = (call.tensor(name, dtype) for name in ("self", "tensor1", "tensor2"))
    return call.body(add(X, combine(times(Y, value), Z)), *operands)


@lowers("aten.lerp.Scalar", "aten.lerp.Tensor")
def between(call: Call) -> Tensor:
    """`self + weight (end - self)`, from the nearer end."""
    dtype = call.result.dtype
    weight = operand(call, "weight", wide_type(dtype))
    near = add(X, multiply(Z, subtract(Y, X)))
    far = subtract(Y, multiply(subtract(Y, X), subtract(1, Z)))
    body = where(less(absolute(Z), 0.5), near, far)
    if isinstance(weight, float):
        body = near if abs(weight) < 0.5 else far
    return call.body(body, call.tensor("self", dtype), call.tensor("end", dtype), weight)


# Powers


@lowers("aten.pow.Tensor_Scalar")
def power(call: Call) -> Tensor:
    """A power; one that is a multiple of 1/2 is made of products, a square root and a quotient."""
    dtype, exponent = call.result.dtype, call["exponent"]
    if isinstance(exponent, bool | int | float) and has_simple_power(float(exponent)) and dtype != "bool":
        if not is_float(dtype) and exponent < 0:
            raise call.refuse("integers to negative powers")
        return call.body(_power_body(float(exponent), dtype), call.tensor("self", dtype))
    return general_power(call)


def _power_body(exponent: float, dtype: str) -> Scalar:
    """Of float16, ATen has no square roots for powers of 1/2: those of zeros and infinities are C's, without a sign."""
    if dtype != "float16" or abs(exponent) != 0.5:
        return power_body(exponent)
    root = where(equal(add(X, X), X), square(X), sqrt(X))
    return root if exponent > 0 else reciprocal(root)


@lowers("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def general_power(call: Call) -> Tensor:
    """A power of any exponents."""
    dtype = call.result.dtype
    if dtype == "bool":
        raise call.refuse("powers of truth values")
    return call.map("pow", operand(call, "self", dtype), operand(call, "exponent", dtype))


# Functions of one operand

FUNCTIONS = {
    **{name: name for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{name: name for name in ("erf", "erfc", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2")},
    **{name: name for name in ("abs", "ceil", "floor", "reciprocal", "round", "sqrt", "square", "trunc", "sigmoid", "silu")},
    "neg": "negative",
}
"""By the names of ATen, functions of `scalar_functions.FUNCTIONS` whose special values are ATen's."""


@lowers(*(f"aten.{name}.default" for name in FUNCTIONS))
def function(call: Call) -> Tensor:
    """A function in the result's type."""
    return call.map(FUNCTIONS[call.operator], call.tensor("self", call.result.dtype))


@lowers("aten.positive.default", "aten.real.default", "aten.conj_physical.default", "aten._conj_physical.default")
def unchanged(call: Call) -> Tensor:
    """Real numbers as they are."""
    return call.tensor("self")


BODIES: dict[str, Scalar] = {
    "rsqrt": reciprocal(sqrt(X)),
    "frac": subtract(X, trunc(X)),
    "deg2rad": multiply(X, radians(1.0)),
    "rad2deg": multiply(X, degrees(1.0)),
}
"""Functions whose results are floats."""


@lowers(*(f"aten.{name}.default" for name in BODIES))
def composed(call: Call) -> Tensor:
    """A function made of others, in the result's type."""
    return call.body(BODIES[call.operator], call.tensor("self", call.result.dtype))


@lowers("aten.sign.default", "aten.sgn.default")
def sign(call: Call) -> Tensor:
    """1, -1 or 0; 0 of NaN. Truth values are their own signs."""
    x = call.tensor("self", call.result.dtype)
    if x.dtype == "bool":
        return x
    below = 0.0 if x.dtype.startswith("uint") else where(less(X, 0), -1, 0)
    return call.body(where(greater(X, 0), 1, below), x)


@lowers("aten.round.decimals")
def round_to_decimals(call: Call) -> Tensor:
    """To a multiple of a power of ten."""
    x, decimals = call.tensor("self"), call["decimals"]
    if not is_float(x.dtype):
        raise call.refuse("decimals of integers")
    ten = rounded(10.0 ** abs(decimals), "float64" if x.dtype == "float64" else "float32")
    if decimals == 0:
        return call.map("round", x)
    body = divide(nearest(multiply(X, ten)), ten) if decimals > 0 else multiply(nearest(divide(X, ten)), ten)
    return call.body(body, x)


# Kinds of numbers


@lowers("aten.isnan.default", "aten.isinf.default", "aten.isposinf.default", "aten.isneginf.default")
def is_special(call: Call) -> Tensor:
    """Whether an element is NaN or an infinity, or an infinity of one sign. No integer is."""
    x = call.tensor("self")
    if not is_float(x.dtype):
        return call.body(one_of(X, X) if x.dtype == "bool" else not_equal(X, X), x)
    bodies = {
        "isnan": is_nan(X),
        "isinf": is_infinite(X),
        "isposinf": equal(X, float("inf")),
        "isneginf": equal(X, float("-inf")),
    }
    return call.body(bodies[call.operator], x)


@lowers("aten.isfinite.default")
def is_finite(call: Call) -> Tensor:
    """Whether an element is neither NaN nor an infinity."""
    x = call.tensor("self")
    if not is_float(x.dtype):
        return call.body(no(one_of(X, X)) if x.dtype == "bool" else equal(X, X), x)
    return call.body(less(absolute(X), float("inf")), x)
