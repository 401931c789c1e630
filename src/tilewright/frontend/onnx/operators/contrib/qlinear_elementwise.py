"""QLinearAdd, QLinearMul, QLinearSigmoid and QLinearLeakyRelu: functions of what bytes stand for, as bytes of another scale.

Source: onnxruntime's ContribOperators.md. What bytes stand for, (byte - zero point) times scale, and functions of it are
computed in float32, divided by the result's scale, rounded to even, and saturated. onnxruntime multiplies by ratios of scales
that it rounds before, or looks results up; where a result lies halfway between two steps but for these roundings it may be a
step apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import (
    MICROSOFT,
    check_operand,
    dequantised,
    lowered_dequantised,
    lowered_requantised,
    requantised,
)
from tilewright.frontend.onnx.operators.contrib.quantised_function import QuantisedFunction
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.special_functions import sigmoid
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class QLinearBinary:
    """A function of two operands, which broadcast."""

    name: str
    function: str

    def reference(self, *operands: Any) -> Any:
        self._check(operands)
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        values = getattr(np, self.function)(dequantised(a, a_scale, a_zero), dequantised(b, b_scale, b_zero))
        return requantised(values, c_scale, c_zero, a.dtype)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """One map."""
        self._check(operands, builder.known)
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        left, left_operands = lowered_dequantised(builder, a, a_scale, a_zero, 0)
        right, right_operands = lowered_dequantised(builder, b, b_scale, b_zero, len(left_operands))
        body = apply(self.function, left, right)
        return lowered_requantised(builder, body, (*left_operands, *right_operands), c_scale, c_zero, a.dtype)

    def _check(self, operands: Sequence[Any], known: Mapping[str, np.ndarray] | None = None) -> None:
        """Raise `InvalidModel` for parameters that do not fit."""
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        check_operand(self.name, "A", a.dtype, a_scale, a_zero, known=known)
        check_operand(self.name, "B", b.dtype, b_scale, b_zero, known=known)
        check_operand(self.name, "C", a.dtype, c_scale, c_zero, divides=True, known=known)


class QLinearSigmoid(QuantisedFunction):
    """1 / (1 + exp(-x))."""

    def values(self, x: Any) -> Any:
        return sigmoid(x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("sigmoid", x)


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearLeakyRelu(QuantisedFunction):
    """x, or alpha times x where that is below 0."""

    alpha: float = 0.01

    def values(self, x: Any) -> Any:
        return np.where(x < 0, np.float32(self.alpha) * x, x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        scaled = apply("multiply", Literal(float(np.float32(self.alpha))), Load(0))
        return builder.body(apply("where", apply("less", Load(0), Literal(0.0)), scaled, Load(0)), x)


define("QLinearAdd", QLinearBinary, "QLinearAdd", "add", domain=MICROSOFT)
define("QLinearMul", QLinearBinary, "QLinearMul", "multiply", domain=MICROSOFT)
define("QLinearSigmoid", QLinearSigmoid, domain=MICROSOFT)
define("QLinearLeakyRelu", QLinearLeakyRelu, domain=MICROSOFT)
