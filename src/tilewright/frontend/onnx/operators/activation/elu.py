"""Exponential linear units: Elu, Selu and Celu, with exp(x) - 1 computed as one function, which keeps its digits near 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.relu import where_negative
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply, times
from tilewright.graph.types import Tensor

_X, _ZERO = Load(0), Literal(0.0)
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


define("Elu", Elu)
define("Selu", Selu)
define("Celu", Celu, since=12)
