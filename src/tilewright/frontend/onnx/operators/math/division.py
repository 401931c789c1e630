"""Div, Mod and Pow: quotients, remainders and powers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import BROADCASTING
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.numpy_types import widened
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


class Pow:
    """`x ** y` in the common type of both, converted to the type of x; whole powers of integers wrap."""

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            if all(np.issubdtype(operand.dtype, np.integer) for operand in (x, y)):
                return np.where(y < 0, np.power(x.astype(np.float64), y), np.power(x, np.maximum(y, 0))).astype(x.dtype)
            return np.asarray(np.power(widened(x), widened(y))).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; a known power that is a multiple of 1/2 is made of products and a square root."""
        if is_integer(x) and not is_integer(y):
            raise UnsupportedOperation("Pow of integers to powers that are none", why="they are computed in a third type")
        exponent = builder.known.get(y.name)
        if exponent is not None and not y.shape and not is_integer(x) and has_simple_power(float(exponent)):
            return builder.body(power_body(float(exponent)), x, kind="pow")
        return builder.map("pow", x, y, dtype=x.dtype)


define("Div", Div, since=BROADCASTING)
define("Mod", Mod, since=10)
define("Pow", Pow, since=BROADCASTING)
