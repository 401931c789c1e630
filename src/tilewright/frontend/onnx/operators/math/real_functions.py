"""Exp, Log, Sqrt, Tanh, Sin, ...: functions of floating-point numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph import special_functions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import body_of
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class RealFunction:
    """A function of one array, which may be of short floating-point numbers."""

    function: str
    """The scalar function at every point."""
    numpy: Callable[[Any], Any]

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return self.numpy(x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(body_of(self.function), x, kind=self.function)


define("Acos", RealFunction, "acos", np.arccos, since=7)
define("Acosh", RealFunction, "acosh", np.arccosh, since=9)
define("Asin", RealFunction, "asin", np.arcsin, since=7)
define("Asinh", RealFunction, "asinh", np.arcsinh, since=9)
define("Atan", RealFunction, "atan", np.arctan, since=7)
define("Atanh", RealFunction, "atanh", np.arctanh, since=9)
define("Cos", RealFunction, "cos", np.cos, since=7)
define("Cosh", RealFunction, "cosh", np.cosh, since=9)
define("Erf", RealFunction, "erf", special_functions.erf, since=9)
define("Exp", RealFunction, "exp", np.exp)
define("Log", RealFunction, "log", np.log)
define("Reciprocal", RealFunction, "reciprocal", lambda x: 1 / x)
define("Sigmoid", RealFunction, "sigmoid", special_functions.sigmoid)
define("Sin", RealFunction, "sin", np.sin, since=7)
define("Sinh", RealFunction, "sinh", np.sinh, since=9)
define("Sqrt", RealFunction, "sqrt", np.sqrt)
define("Tan", RealFunction, "tan", np.tan, since=7)
define("Tanh", RealFunction, "tanh", np.tanh)
