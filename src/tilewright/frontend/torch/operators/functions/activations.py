"""Activations: functions of single elements, which may have coefficients, and the gated linear unit."""

from __future__ import annotations

from tilewright.frontend.torch.bodies import (
    X,
    Y,
    Z,
    absolute,
    add,
    both,
    divide,
    exp,
    expm1,
    greater,
    greater_equal,
    held,
    is_nan,
    less,
    less_equal,
    log1p,
    maximum,
    minimum,
    multiply,
    negative,
    sigmoid,
    square,
    subtract,
    times,
    where,
)
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.numbers import held_operand
from tilewright.frontend.torch.operators.positions.index_changes import part
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import Tensor


@lowers("aten.relu.default")
def relu(call: Call) -> Tensor:
    """The operand where it is positive, else 0."""
    return call.map("relu", call.tensor("self"))


@lowers("aten.gelu.default")
def gelu(call: Call) -> Tensor:
    """The Gaussian error linear unit, by the error function or by tanh."""
    return call.map({"none": "gelu", "tanh": "gelu_tanh"}[call["approximate"]], call.tensor("self"))


_SHRINKING = exp(negative(absolute(X)))


def _mish() -> Scalar:
    """x tanh(log(1 + exp(x))).

    With u = exp(-|x|), tanh(log(1 + exp x)) is n / (n + 2 u^2) for x >= 0, n = 1 + 2 u, and else n / (n + 2), n = u (u + 2).
    """
    above = add(1, multiply(2, _SHRINKING))
    below = multiply(_SHRINKING, add(_SHRINKING, 2))
    large = divide(above, add(above, multiply(2, square(_SHRINKING))))
    return multiply(X, where(less(X, 0), divide(below, add(below, 2)), large))


_LINE = held(add(X, 3), 0, 6)
_HARD = {"hardsigmoid": multiply(_LINE, 1 / 6), "hardswish": multiply(multiply(X, _LINE), 1 / 6), "mish": _mish()}


@lowers(*(f"aten.{name}.default" for name in _HARD))
def activation(call: Call) -> Tensor:
    """A function without coefficients."""
    return call.body(_HARD[call.operator], call.tensor("self"))


@lowers("aten.log_sigmoid_forward.default")
def log_sigmoid(call: Call) -> tuple[Tensor, Tensor | None]:
    """log(1 / (1 + exp(-x))), and exp(-|x|) of as many elements as torch says."""
    x = call.tensor("self")
    power = call.body(_SHRINKING, x) if call.results[1].shape == x.shape else None
    return call.body(subtract(minimum(X, 0), log1p(_SHRINKING)), x), power


# With coefficients


@lowers("aten.leaky_relu.default")
def leaky_relu(call: Call) -> Tensor:
    """x, times the slope where it is not positive."""
    return _leaky(call, call["negative_slope"])


@lowers("aten._prelu_kernel.default")
def prelu(call: Call) -> Tensor:
    """The same with a slope for every element."""
    return _leaky(call, call.tensor("weight", call.result.dtype))


@lowers("aten.rrelu_with_noise.default")
def rrelu(call: Call) -> Tensor:
    """The same with the mean of two slopes; random ones in training are refused."""
    if call["training"]:
        raise call.refuse("random slopes")
    return _leaky(call, (call["lower"] + call["upper"]) / 2)


@lowers("aten.rrelu_with_noise_functional.default")
def rrelu_and_noise(call: Call) -> tuple[Tensor, Tensor]:
    """The same, and the noise as it is."""
    return rrelu(call), call.tensor("noise")


def _leaky(call: Call, slope: Tensor | float) -> Tensor:
    return call.body(where(greater(X, 0), X, multiply(X, Y)), call.tensor("self"), slope)


@lowers("aten.elu.default")
def elu(call: Call) -> Tensor:
    """scale x, but scale alpha (exp(input_scale x) - 1) where it is not positive."""
    alpha, scale, inner = (float(call[name]) for name in ("alpha", "scale", "input_scale"))
    below = times(expm1(times(X, inner)), alpha * scale)
    return call.body(where(less_equal(X, 0), below, times(X, scale)), call.tensor("self"))


@lowers("aten.celu.default")
def celu(call: Call) -> Tensor:
    """x, but alpha (exp(x / alpha) - 1) where it is not positive."""
    alpha = float(call["alpha"])
    below = times(expm1(times(X, 1 / alpha)), alpha)
    return call.body(where(less_equal(X, 0), below, X), call.tensor("self"))


@lowers("aten.hardshrink.default")
def hardshrink(call: Call) -> Tensor:
    """0 from -lambda to lambda."""
    bound = float(call["lambd"])
    return call.body(where(both(greater_equal(X, -bound), less_equal(X, bound)), 0, X), call.tensor("self"))


@lowers("aten.softshrink.default")
def softshrink(call: Call) -> Tensor:
    """x nearer to 0 by lambda, but not beyond it; NaN stays."""
    bound = float(call["lambd"])
    below = where(less(X, -bound), add(X, bound), where(is_nan(X), X, 0))
    return call.body(where(greater(X, bound), subtract(X, bound), below), call.tensor("self"))


@lowers("aten.threshold.default")
def threshold(call: Call) -> Tensor:
    """Another value up to a threshold."""
    dtype = call.result.dtype
    bound = held_operand(call, "threshold", dtype)
    return call.body(where(less_equal(X, Z), Y, X), call.tensor("self"), held_operand(call, "value", dtype), bound)


@lowers("aten.softplus.default")
def softplus(call: Call) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x where beta x is above the threshold."""
    beta, bound = float(call["beta"]), float(call["threshold"])
    inner = times(X, beta)
    smooth = add(maximum(inner, 0), log1p(exp(negative(absolute(inner)))))
    return call.body(where(greater(inner, bound), X, times(smooth, 1 / beta)), call.tensor("self"))


@lowers("aten.glu.default")
def glu(call: Call) -> Tensor:
    """The first half along a dimension times the sigmoid of the second."""
    x = call.tensor("self")
    along = call["dim"] % len(x.shape)
    half = call.result.shape[along]
    first, second = (part(call, x, along, start, half) for start in (0, half))
    return call.body(multiply(X, sigmoid(Y)), first, second)


# Derivatives, which torch.func takes without gradients of its own

_CHAIN = {"tanh_backward": subtract(1, square(Y)), "sigmoid_backward": multiply(subtract(1, Y), Y)}
"""By the function's result."""


@lowers(*(f"aten.{name}.default" for name in _CHAIN))
def derivative(call: Call) -> Tensor:
    """The gradient of the operand, by that of the result and the result."""
    return call.body(multiply(X, _CHAIN[call.operator]), call.tensor("grad_output"), call.tensor("output"))


@lowers("aten.threshold_backward.default")
def derivative_of_threshold(call: Call) -> Tensor:
    """The gradient of the result where the operand is above the threshold, else 0."""
    passed = where(less_equal(Y, Z), 0, X)
    return call.body(passed, call.tensor("grad_output"), call.tensor("self"), held_operand(call, "threshold", call.result.dtype))
