"""Activations: functions of single elements, which may have coefficients, and softmax with its kin.

exp(x) - 1 is one function, which keeps its digits near 0. Smooth ones are formulas in exp(-|x|), which do not overflow. Softmax,
LogSoftmax and Hardmax go along an axis, or before opset 13 along the rows of a matrix.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import SchemaAttributes, define, onnx_operator
from tilewright.frontend.onnx.operators.math.elements import ElementFunction, pointwise
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, Reshaped, in_operand_type
from tilewright.frontend.onnx.operators.operands import known as known_extents
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import log_softmax, softmax_reference
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, times
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.shapes import Shape, normalize_axis, shape_text
from tilewright.graph.types import Tensor
from tilewright.records import record

_X, _ZERO, _ONE, _TWO = Load(0), Literal(0.0), Literal(1.0), Literal(2.0)


def where_negative(below: Scalar, otherwise: Scalar) -> Scalar:
    """A body that is `below` where `Load(0)` is negative."""
    return apply("where", apply("less", _X, _ZERO), below, otherwise)


@pointwise("LeakyRelu")
def leaky_relu(alpha: float = 0.01) -> Scalar:
    """x, times alpha where it is negative."""
    return where_negative(times(_X, alpha), _X)


@pointwise("PRelu", since=7)
def prelu(x: Any, slope: Any) -> Scalar:
    """x, times the slope where it is negative."""
    return where_negative(apply("multiply", _X, Load(1)), _X)


@onnx_operator("PRelu")
class PReluBefore7(Composed):
    """x, times the slope of its channel where it is negative."""

    def composed(self, call: Call, known: Known, x: Any, slope: Any) -> Any:
        if len(slope.shape) == 1 and len(x.shape) > 2:
            slope = call(Reshaped((*slope.shape, *(1,) * (len(x.shape) - 2))))(slope)
        return call(ElementFunction("prelu", prelu(x, slope)))(x, slope)


@pointwise("ThresholdedRelu", since=10)
def thresholded_relu(alpha: float = 1.0) -> Scalar:
    """x where it is above alpha, else 0."""
    return apply("where", apply("greater", _X, Literal(alpha)), _X, _ZERO)


SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""Of the schema: Klambauer et al., "Self-Normalizing Neural Networks", arXiv:1706.02515 (2017), in float32."""


@pointwise("Elu")
def elu(alpha: float = 1.0) -> Scalar:
    """x, but alpha (exp(x) - 1) where it is negative."""
    return where_negative(times(apply("expm1", _X), alpha), _X)


@pointwise("Selu")
def selu(alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Scalar:
    """gamma x, but gamma alpha (exp(x) - 1) where it is negative."""
    return where_negative(times(apply("expm1", _X), alpha * gamma), times(_X, gamma))


@pointwise("Celu", since=12)
def celu(alpha: float = 1.0) -> Scalar:
    """x, but alpha (exp(x / alpha) - 1) where it is negative (for alpha > 0)."""
    below = times(apply("expm1", apply("divide", _X, Literal(alpha))), alpha)
    return apply("add", apply("maximum", _X, _ZERO), apply("minimum", below, _ZERO))


@pointwise("Shrink", since=9)
def shrink(bias: float = 0.0, lambd: float = 0.5) -> Scalar:
    """x + bias below -lambd, x - bias above lambd, 0 between them."""
    above = apply("where", apply("greater", _X, Literal(lambd)), apply("subtract", _X, Literal(bias)), _ZERO)
    return apply("where", apply("less", _X, Literal(-lambd)), apply("add", _X, Literal(bias)), above)


@pointwise("HardSigmoid")
def hard_sigmoid(alpha: float = 0.2, beta: float = 0.5) -> Scalar:
    """alpha x + beta between 0 and 1."""
    line = apply("add", times(_X, alpha), Literal(beta))
    return apply("maximum", apply("minimum", line, _ONE), _ZERO)


@pointwise("HardSwish", since=14)
def hard_swish() -> Scalar:
    """x times its hard sigmoid with the slope 1/6."""
    return apply("multiply", _X, hard_sigmoid(1 / 6, 0.5))


@pointwise("Swish", since=24)
def swish(alpha: float = 1.0) -> Scalar:
    """x sigmoid(alpha x) (P. Ramachandran, B. Zoph, Q. V. Le, arXiv:1710.05941, 2017)."""
    return apply("silu", _X) if alpha == 1 else apply("multiply", _X, apply("sigmoid", times(_X, alpha)))


@pointwise("SwiGLU", since=28)
def swiglu(a: Any, b: Any, *, alpha: float = 1.0) -> Scalar:
    """swish(a) b (N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202, 2020).

    Raises `ShapeError` for shapes that differ.
    """
    if a.shape != b.shape:
        raise ShapeError(f"SwiGLU of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both have the same shape")
    return apply("multiply", swish(alpha), Load(1))


@onnx_operator("Gelu", since=20)
class Gelu(SchemaAttributes):
    """x Phi(x)."""

    @property
    def _function(self) -> str:
        return "gelu" if self.approximate == "none" else "gelu_tanh"

    def reference(self, x: Any) -> Any:
        return np.asarray(FUNCTIONS[self._function].numpy(x), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map(self._function, x)


def _shrinking() -> Scalar:
    """exp(-|x|)."""
    return apply("exp", apply("negative", apply("abs", _X)))


@pointwise("Mish", since=18)
def mish() -> Scalar:
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


@pointwise("Relu")
def relu() -> Scalar:
    """max(x, 0)."""
    return apply("maximum", _X, _ZERO)


@pointwise("Softplus")
def softplus() -> Scalar:
    """log(1 + exp(x)), which is max(x, 0) + log(1 + exp(-|x|))."""
    return apply("add", apply("maximum", _X, _ZERO), apply("log1p", _shrinking()))


@pointwise("Softsign")
def softsign() -> Scalar:
    """x / (1 + |x|)."""
    return apply("divide", _X, apply("add", apply("abs", _X), _ONE))


@record
class OverRows(Composed):
    """An operator along the rows of a matrix whose columns are the dimensions from `axis` on."""

    operator: type[Any]
    """The operator along one axis."""
    _: KW_ONLY
    axis: int = 1

    def composed(self, call: Call, known: Known, x: Any) -> Any:
        along = first_column(x.shape, self.axis)
        if len(x.shape) == along + 1:
            return call(self.operator(axis=along))(x)
        rows, columns = (prod(known_extents(extents, "rows of a matrix")) for extents in (x.shape[:along], x.shape[along:]))
        matrix = call(Reshaped((rows, columns)))(x)
        return call(Reshaped(x.shape))(call(self.operator(axis=-1))(matrix))


def first_column(shape: Shape, axis: int) -> int:
    """The first dimension of a row; it may be the one behind the last, and then every element is a row."""
    return len(shape) if axis == len(shape) else normalize_axis(axis, len(shape), "axis of a matrix")


@onnx_operator("Softmax", since=13)
class Softmax:
    """exp(x - max) / sum(exp(x - max))."""

    axis: int = -1

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return softmax_reference(x, self.axis)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.softmax(x, self.axis)


@onnx_operator("LogSoftmax", since=13)
class LogSoftmax(SchemaAttributes):
    """x - max - log(sum(exp(x - max)))."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        if not x.size:
            return x
        shifted = x - x.max(axis=self.axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=self.axis, keepdims=True))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.record(log_softmax, x, self.axis, kind="log_softmax")


@onnx_operator("Hardmax", since=13)
class Hardmax(SchemaAttributes):
    """1 at the first of the largest elements, 0 elsewhere."""

    def reference(self, x: Any) -> Any:
        result = np.zeros_like(x)
        if x.size:
            np.put_along_axis(result, np.expand_dims(np.argmax(x, axis=self.axis), self.axis), 1, axis=self.axis)
        return result

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """The largest of a row, the first position where it or a NaN is found, and a comparison with that."""
        along = normalize_axis(self.axis, len(x.shape), where="hardmax")
        extent = x.shape[along]
        position, beyond = AxisValue(f"d{along}"), Literal(float(extent.high if not isinstance(extent, int) else extent))
        largest = builder.reduce("max", x, (along,), keepdims=True)
        is_largest = apply("logical_or", apply("equal", Load(0), Load(1)), apply("isnan", Load(0)))
        found = apply("where", is_largest, position, beyond)
        positions = builder.body(found, x, largest, dtype="float32", kind="positions")
        first = builder.reduce("min", positions, (along,), keepdims=True)
        is_first = apply("logical_and", apply("equal", Load(0), Load(1)), apply("less", Load(0), beyond))
        result = apply("where", is_first, Literal(1.0), Literal(0.0))
        return builder.body(result, positions, first, dtype=x.dtype, kind="hardmax")


define("Softmax", OverRows, Softmax)
define("LogSoftmax", OverRows, LogSoftmax)
define("Hardmax", OverRows, Hardmax)
