"""Activations of single elements, which may have coefficients: rectifiers, exponential and smooth ones.

exp(x) - 1 is one function, which keeps its digits near 0. Smooth ones are formulas in exp(-|x|), which do not overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import RealFunction
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply, times
from tilewright.graph.scalar_functions import gelu, gelu_tanh, sigmoid
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor

_X, _ZERO, _ONE, _TWO = Load(0), Literal(0.0), Literal(1.0), Literal(2.0)


def where_negative(below: Scalar, otherwise: Scalar) -> Scalar:
    """A body that is `below` where `Load(0)` is negative."""
    return apply("where", apply("less", _X, _ZERO), below, otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakyRelu:
    """x, times alpha where it is negative."""

    alpha: float = 0.01

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x < 0, self.alpha * x, x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(where_negative(times(_X, self.alpha), _X), x, kind="leaky_relu")


class PRelu:
    """x, times the slope where it is negative."""

    @in_operand_type
    def reference(self, x: Any, slope: Any) -> Any:
        return np.where(x < 0, slope * x, x)

    def lower(self, builder: Builder, x: Tensor, slope: Tensor) -> Tensor:
        return builder.body(where_negative(apply("multiply", _X, Load(1)), _X), x, slope, kind="prelu")


class PReluBefore7:
    """x, times the slope of its channel where it is negative."""

    def reference(self, x: Any, slope: Any) -> Any:
        return PRelu().reference(x, slope.reshape(_slope_shape(slope.shape, x.shape)))

    def lower(self, builder: Builder, x: Tensor, slope: Tensor) -> Tensor:
        return PRelu().lower(builder, x, builder.reshape(slope, _slope_shape(slope.shape, x.shape)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedRelu:
    """x where it is above alpha, else 0."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x > self.alpha, x, 0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(apply("where", apply("greater", _X, Literal(self.alpha)), _X, _ZERO), x, kind="thresholded_relu")


def _slope_shape(shape: Shape, x: Shape) -> Shape:
    """The shape of the slopes of channels: dimension 1 of x."""
    return (*shape, *(1,) * (len(x) - 2)) if len(shape) == 1 and len(x) > 2 else shape


SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""Of the schema: Klambauer et al., "Self-Normalizing Neural Networks", arXiv:1706.02515 (2017), in float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elu:
    """x, but alpha (exp(x) - 1) where it is negative."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x < 0, self.alpha * np.expm1(x), x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(where_negative(times(apply("expm1", _X), self.alpha), _X), x, kind="elu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selu:
    """gamma x, but gamma alpha (exp(x) - 1) where it is negative."""

    alpha: float = SELU_ALPHA
    gamma: float = SELU_GAMMA

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return self.gamma * np.where(x < 0, self.alpha * np.expm1(x), x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        below = times(apply("expm1", _X), self.alpha * self.gamma)
        return builder.body(where_negative(below, times(_X, self.gamma)), x, kind="selu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Celu:
    """x, but alpha (exp(x / alpha) - 1) where it is negative (for alpha > 0)."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.maximum(x, 0) + np.minimum(self.alpha * np.expm1(x / self.alpha), 0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        below = times(apply("expm1", apply("divide", _X, Literal(self.alpha))), self.alpha)
        return builder.body(apply("add", apply("maximum", _X, _ZERO), apply("minimum", below, _ZERO)), x, kind="celu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrink:
    """x + bias below -lambd, x - bias above lambd, 0 between them."""

    bias: float = 0.0
    lambd: float = 0.5

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x < -self.lambd, x + self.bias, np.where(x > self.lambd, x - self.bias, 0))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        bias = Literal(self.bias)
        above = apply("where", apply("greater", _X, Literal(self.lambd)), apply("subtract", _X, bias), _ZERO)
        is_below = apply("less", _X, Literal(-self.lambd))
        return builder.body(apply("where", is_below, apply("add", _X, bias), above), x, kind="shrink")


SWISH_SLOPE = 1 / 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HardSigmoid:
    """alpha x + beta between 0 and 1."""

    alpha: float = 0.2
    beta: float = 0.5

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.maximum(0, np.minimum(1, self.alpha * x + self.beta))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(_hard_sigmoid(self.alpha, self.beta), x, kind="hard_sigmoid")


def _hard_sigmoid(alpha: float, beta: float) -> Scalar:
    line = apply("add", times(_X, alpha), Literal(beta))
    return apply("maximum", apply("minimum", line, _ONE), _ZERO)


def _shrinking() -> Scalar:
    """exp(-|x|)."""
    return apply("exp", apply("negative", apply("abs", _X)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Swish:
    """x sigmoid(alpha x) (P. Ramachandran, B. Zoph, Q. V. Le, arXiv:1710.05941, 2017)."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return x * sigmoid(self.alpha * x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(_swish(self.alpha), x, kind="swish")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwiGLU:
    """swish(a) b (N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202, 2020)."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, a: Any, b: Any) -> Any:
        return Swish(alpha=self.alpha).reference(a) * b

    def lower(self, builder: Builder, a: Tensor, b: Tensor) -> Tensor:
        """Raises `ShapeError` for shapes that differ."""
        if a.shape != b.shape:
            raise ShapeError(f"SwiGLU of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both have the same shape")
        return builder.body(apply("multiply", _swish(self.alpha), Load(1)), a, b, kind="swiglu")


def _swish(alpha: float) -> Scalar:
    return apply("silu", _X) if alpha == 1 else apply("multiply", _X, apply("sigmoid", times(_X, alpha)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gelu:
    """x Phi(x)."""

    approximate: str = "none"

    def reference(self, x: Any) -> Any:
        return np.asarray((gelu if self.approximate == "none" else gelu_tanh)(x), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("gelu" if self.approximate == "none" else "gelu_tanh", x)


def _hard_swish(x: Any) -> Any:
    return x * HardSigmoid(alpha=SWISH_SLOPE).reference(x)


def _mish() -> Scalar:
    """x tanh(log(1 + exp(x))) (D. Misra, arXiv:1908.08681, 2019).

    With u = exp(-|x|), tanh(log(1 + exp x)) is n / (n + 2 u^2) for x >= 0, n = 1 + 2 u, and else n / (n + 2), n = u (u + 2).
    """
    u = _shrinking()
    above = apply("add", _ONE, apply("multiply", _TWO, u))
    below = apply("multiply", u, apply("add", u, _TWO))
    beside = apply("multiply", _TWO, apply("square", u))
    large = apply("divide", above, apply("add", above, beside))
    small = apply("divide", below, apply("add", below, _TWO))
    return apply("multiply", _X, where_negative(small, large))


SOFTPLUS = apply("add", apply("maximum", _X, _ZERO), apply("log1p", _shrinking()))
"""max(x, 0) + log(1 + exp(-|x|)), which is log(1 + exp(x))."""
SOFTSIGN = apply("divide", _X, apply("add", apply("abs", _X), _ONE))
"""x / (1 + |x|)."""
HARD_SWISH = apply("multiply", _X, _hard_sigmoid(SWISH_SLOPE, 0.5))
"""x times its hard sigmoid with the slope 1/6."""

define("Relu", RealFunction, "relu", lambda x: np.maximum(x, 0))
define("LeakyRelu", LeakyRelu)
define("PRelu", PReluBefore7)
define("PRelu", PRelu, since=7)
define("ThresholdedRelu", ThresholdedRelu, since=10)
define("Elu", Elu)
define("Selu", Selu)
define("Celu", Celu, since=12)
define("Shrink", Shrink, since=9)
define("HardSigmoid", HardSigmoid)
define("HardSwish", RealFunction, "hard_swish", _hard_swish, HARD_SWISH, since=14)
define("Softplus", RealFunction, "softplus", lambda x: np.logaddexp(x, 0), SOFTPLUS)
define("Softsign", RealFunction, "softsign", lambda x: x / (1 + np.abs(x)), SOFTSIGN)
define("Mish", RealFunction, "mish", lambda x: x * np.tanh(np.logaddexp(x, 0)), _mish(), since=18)
define("Swish", Swish, since=24)
define("SwiGLU", SwiGLU, since=28)
define("Gelu", Gelu, since=20)
