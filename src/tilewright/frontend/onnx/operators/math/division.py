"""Div and Mod: quotients and remainders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import BROADCASTING
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import Tensor


class Div:
    """The quotient; of integers, rounded towards 0, and 0 where the divisor is."""

    @in_operand_type
    def reference(self, x: Any, y: Any) -> Any:
        if not np.issubdtype(x.dtype, np.integer):
            return x / y
        return np.floor_divide(x - np.fmod(x, y), y)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; of integers, what the remainder leaves is divided."""
        if not is_integer(x):
            return builder.map("divide", x, y)
        whole = apply("subtract", Load(0), apply("fmod", Load(0), Load(1)))
        return builder.body(apply("floor_divide", whole, Load(1)), x, y, kind="div")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mod:
    """The remainder of the quotient rounded down (it has the sign of y), or with `fmod` towards 0 (it has the sign of x)."""

    fmod: int = 0

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return (np.fmod if self.fmod else np.mod)(x, y)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        return builder.map("fmod" if self.fmod else "mod", x, y)


def is_integer(x: Tensor) -> bool:
    """Whether the elements are whole numbers."""
    return x.dtype.startswith(("int", "uint"))


define("Div", Div, since=BROADCASTING)
define("Mod", Mod, since=10)
