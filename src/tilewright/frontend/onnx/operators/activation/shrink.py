"""Shrink: x moved towards 0 by a bias, and 0 where it is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

_X, _ZERO = Load(0), Literal(0.0)


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


define("Shrink", Shrink, since=9)
