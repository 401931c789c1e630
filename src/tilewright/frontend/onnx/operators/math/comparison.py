"""Equal, Greater, GreaterOrEqual, Less and LessOrEqual: truth values of two operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import BROADCASTING, define_functions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import Tensor


class Equal:
    """Whether elements are equal, truth values included."""

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(np.equal(x, y))

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; truth values are compared by logic."""
        is_equal = apply("equal", Load(0), Load(1))
        body = apply("logical_not", apply("logical_xor", Load(0), Load(1))) if x.dtype == "bool" else is_equal
        return builder.body(body, x, y, dtype="bool", kind="equal")


define("Equal", Equal, since=BROADCASTING)
define_functions({"Greater": (np.greater, "greater"), "Less": (np.less, "less")}, dtype="bool")
define_functions(
    {"GreaterOrEqual": (np.greater_equal, "greater_equal"), "LessOrEqual": (np.less_equal, "less_equal")},
    dtype="bool",
    since=12,
)
