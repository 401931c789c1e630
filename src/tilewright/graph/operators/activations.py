"""ONNX's activations: functions of single elements with coefficients.

Source: the ONNX operator schemas, opsets 7 to 28. Where their formulas lose digits (exp(x) - 1 near 0) or overflow
(log(1 + exp x)), others are recorded that do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.numpy_types import in_operand_type
from tilewright.graph.scalar import Literal, Load, Scalar, apply, times
from tilewright.graph.shapes import shape_text
from tilewright.graph.special_functions import sigmoid
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

_X, _ZERO, _ONE, _TWO = Load(0), Literal(0.0), Literal(1.0), Literal(2.0)


def _where_negative(below: Scalar, otherwise: Scalar) -> Scalar:
    return apply("where", apply("less", _X, _ZERO), below, otherwise)


def _shrinking() -> Scalar:
    """exp(-|x|), which does not overflow."""
    return apply("exp", apply("negative", apply("abs", _X)))


def relu(x: Any) -> Any:
    """`maximum(x, 0)`."""
    return np.maximum(x, 0)


def lower_relu(builder: Builder, x: Tensor) -> Tensor:
    """One map."""
    return builder.map("relu", x)


def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    """x, times alpha where it is negative."""
    return np.where(x < 0, alpha * x, x)


def lower_leaky_relu(builder: Builder, x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """One map."""
    return builder.body(_where_negative(times(_X, alpha), _X), x, kind="leaky_relu")


def prelu(x: Any, slope: Any) -> Any:
    """x, times the slope where it is negative."""
    return np.where(x < 0, slope * x, x)


def lower_prelu(builder: Builder, x: Tensor, slope: Tensor) -> Tensor:
    """One map."""
    return builder.body(_where_negative(apply("multiply", _X, Load(1)), _X), x, slope, kind="prelu")


def elu(x: Any, *, alpha: float = 1.0) -> Any:
    """x, but alpha (exp(x) - 1) where it is negative."""
    return np.where(x < 0, alpha * np.expm1(x), x)


def lower_elu(builder: Builder, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """One map."""
    return builder.body(_where_negative(times(apply("expm1", _X), alpha), _X), x, kind="elu")


SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""Of the schema: Klambauer et al., "Self-Normalizing Neural Networks", arXiv:1706.02515 (2017), in float32."""


def selu(x: Any, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Any:
    """gamma x, but gamma alpha (exp(x) - 1) where it is negative."""
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


def lower_selu(builder: Builder, x: Tensor, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Tensor:
    """One map."""
    return builder.body(_where_negative(times(apply("expm1", _X), alpha * gamma), times(_X, gamma)), x, kind="selu")


def celu(x: Any, *, alpha: float = 1.0) -> Any:
    """x, but alpha (exp(x / alpha) - 1) where it is negative (for alpha > 0)."""
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0)


def lower_celu(builder: Builder, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """One map."""
    below = times(apply("expm1", times(_X, 1 / alpha)), alpha)
    return builder.body(apply("add", apply("maximum", _X, _ZERO), apply("minimum", below, _ZERO)), x, kind="celu")


def thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    """x where it is above alpha, else 0."""
    return np.where(x > alpha, x, 0)


def lower_thresholded_relu(builder: Builder, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """One map."""
    return builder.body(apply("where", apply("greater", _X, Literal(alpha)), _X, _ZERO), x, kind="thresholded_relu")


def hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """alpha x + beta between 0 and 1."""
    return np.maximum(0, np.minimum(1, alpha * x + beta))


def hard_sigmoid_body(alpha: float, beta: float) -> Scalar:
    """The same over `Load(0)`."""
    line = apply("add", times(_X, alpha), Literal(beta))
    return apply("maximum", apply("minimum", line, _ONE), _ZERO)


def lower_hard_sigmoid(builder: Builder, x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """One map."""
    return builder.body(hard_sigmoid_body(alpha, beta), x, kind="hard_sigmoid")


def hard_swish(x: Any) -> Any:
    """x times its hard sigmoid with the slope 1/6."""
    return x * hard_sigmoid(x, alpha=1 / 6)


def lower_hard_swish(builder: Builder, x: Tensor) -> Tensor:
    """One map."""
    return builder.body(apply("multiply", _X, hard_sigmoid_body(1 / 6, 0.5)), x, kind="hard_swish")


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return np.logaddexp(x, 0)


def lower_softplus(builder: Builder, x: Tensor) -> Tensor:
    """max(x, 0) + log(1 + exp(-|x|)), as one map."""
    return builder.body(apply("add", apply("maximum", _X, _ZERO), apply("log1p", _shrinking())), x, kind="softplus")


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1 + np.abs(x))


def lower_softsign(builder: Builder, x: Tensor) -> Tensor:
    """One map."""
    return builder.body(apply("divide", _X, apply("add", apply("abs", _X), _ONE)), x, kind="softsign")


def mish(x: Any) -> Any:
    """x tanh(log(1 + exp(x))) (D. Misra, arXiv:1908.08681, 2019)."""
    return x * np.tanh(np.logaddexp(x, 0))


def lower_mish(builder: Builder, x: Tensor) -> Tensor:
    """With u = exp(-|x|), tanh(log(1 + exp x)) is n / (n + 2 u^2) for x >= 0, n = 1 + 2 u,
    and else n / (n + 2), n = u (u + 2)."""
    u = _shrinking()
    above = apply("add", _ONE, apply("multiply", _TWO, u))
    below = apply("multiply", u, apply("add", u, _TWO))
    beside = apply("multiply", _TWO, apply("square", u))
    large = apply("divide", above, apply("add", above, beside))
    small = apply("divide", below, apply("add", below, _TWO))
    return builder.body(apply("multiply", _X, _where_negative(small, large)), x, kind="mish")


def swish(x: Any, *, alpha: float = 1.0) -> Any:
    """x sigmoid(alpha x) (P. Ramachandran, B. Zoph, Q. V. Le, arXiv:1710.05941, 2017)."""
    return x * sigmoid(alpha * x)


def swish_body(alpha: float) -> Scalar:
    """The same over `Load(0)`."""
    return apply("silu", _X) if alpha == 1 else apply("multiply", _X, apply("sigmoid", times(_X, alpha)))


def lower_swish(builder: Builder, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """One map."""
    return builder.body(swish_body(alpha), x, kind="swish")


def swiglu(a: Any, b: Any, *, alpha: float = 1.0) -> Any:
    """swish(a) b (N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202, 2020)."""
    return swish(a, alpha=alpha) * b


def lower_swiglu(builder: Builder, a: Tensor, b: Tensor, *, alpha: float = 1.0) -> Tensor:
    """One map. Raises `ShapeError` for shapes that differ."""
    if a.shape != b.shape:
        raise ShapeError(f"SwiGLU of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both have the same shape")
    return builder.body(apply("multiply", swish_body(alpha), Load(1)), a, b, kind="swiglu")


def shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    """x + bias below -lambd, x - bias above lambd, 0 between them."""
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def lower_shrink(builder: Builder, x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """One map."""
    above = apply("where", apply("greater", _X, Literal(lambd)), apply("subtract", _X, Literal(bias)), _ZERO)
    below = apply("less", _X, Literal(-lambd))
    return builder.body(apply("where", below, apply("add", _X, Literal(bias)), above), x, kind="shrink")


define("Relu", in_operand_type(relu), lower_relu)
define("LeakyRelu", in_operand_type(leaky_relu), lower_leaky_relu)
define("PRelu", in_operand_type(prelu), lower_prelu, since=7)
define("Elu", in_operand_type(elu), lower_elu)
define("Selu", in_operand_type(selu), lower_selu)
define("Celu", in_operand_type(celu), lower_celu, since=12)
define("ThresholdedRelu", in_operand_type(thresholded_relu), lower_thresholded_relu, since=10)
define("HardSigmoid", in_operand_type(hard_sigmoid), lower_hard_sigmoid)
define("HardSwish", in_operand_type(hard_swish), lower_hard_swish, since=14)
define("Softplus", in_operand_type(softplus), lower_softplus)
define("Softsign", in_operand_type(softsign), lower_softsign)
define("Mish", in_operand_type(mish), lower_mish, since=18)
define("Swish", in_operand_type(swish), lower_swish, since=24)
define("SwiGLU", in_operand_type(swiglu), lower_swiglu, since=28)
define("Shrink", in_operand_type(shrink), lower_shrink, since=9)
