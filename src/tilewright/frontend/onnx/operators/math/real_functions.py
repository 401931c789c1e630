"""Exp, Log, Sqrt, Tanh, Sin, ...: functions of floating-point numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.precision import in_operand_type
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


define("Acos", RealFunction, "acos", np.arccos)
define("Acosh", RealFunction, "acosh", np.arccosh)
define("Asin", RealFunction, "asin", np.arcsin)
define("Asinh", RealFunction, "asinh", np.arcsinh)
define("Atan", RealFunction, "atan", np.arctan)
define("Atanh", RealFunction, "atanh", np.arctanh)
define("Cos", RealFunction, "cos", np.cos)
define("Cosh", RealFunction, "cosh", np.cosh)
define("Erf", RealFunction, "erf", special_functions.erf)
define("Exp", RealFunction, "exp", np.exp)
define("Log", RealFunction, "log", np.log)
define("Reciprocal", RealFunction, "reciprocal", lambda x: 1 / x)
define("Sigmoid", RealFunction, "sigmoid", special_functions.sigmoid)
define("Sin", RealFunction, "sin", np.sin)
define("Sinh", RealFunction, "sinh", np.sinh)
define("Sqrt", RealFunction, "sqrt", np.sqrt)
define("Tan", RealFunction, "tan", np.tan)
define("Tanh", RealFunction, "tanh", np.tanh)
