"""HardSigmoid and HardSwish: a line between 0 and 1, and x times it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply, times
from tilewright.graph.types import Tensor

_X, _ZERO, _ONE = Load(0), Literal(0.0), Literal(1.0)
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


class HardSwish:
    """x times its hard sigmoid with the slope 1/6."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return x * HardSigmoid(alpha=SWISH_SLOPE).reference(x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(apply("multiply", _X, _hard_sigmoid(SWISH_SLOPE, 0.5)), x, kind="hard_swish")


def _hard_sigmoid(alpha: float, beta: float) -> Scalar:
    line = apply("add", times(_X, alpha), Literal(beta))
    return apply("maximum", apply("minimum", line, _ONE), _ZERO)


define("HardSigmoid", HardSigmoid)
define("HardSwish", HardSwish, since=14)
