"""Pow: powers of elements, in the type of the base."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.division import is_integer
from tilewright.frontend.onnx.operators.math.element_function import BROADCASTING
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.numpy_types import widened
from tilewright.graph.types import Tensor


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


define("Pow", Pow, since=BROADCASTING)
