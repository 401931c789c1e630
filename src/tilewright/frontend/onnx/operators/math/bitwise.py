"""BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor and BitShift: functions of the bits of integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.math.element_function import define_functions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

_X, _Y, _ZERO = Load(0), Load(1), Literal(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitShift:
    """x with its bits moved by y places; signed numbers keep their sign to the right.

    By a negative number of places, or as many as there are bits, nothing but copies of the sign (right) or 0 (left) is left.
    """

    direction: str

    def reference(self, x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
        places = np.where(inside, y, 0).astype(x.dtype)
        if self.direction == "LEFT":
            return np.where(inside, np.left_shift(x, places), 0).astype(x.dtype)
        return np.where(inside, np.right_shift(x, places), np.where(x < 0, -1, 0)).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        bits = Literal(float(np.dtype(x.dtype).itemsize * 8))
        inside = apply("logical_and", apply("greater_equal", _Y, _ZERO), apply("less", _Y, bits))
        places = apply("where", inside, _Y, _ZERO)
        moved = apply("left_shift" if self.direction == "LEFT" else "right_shift", _X, places)
        is_signed = self.direction == "RIGHT" and x.dtype.startswith("int")
        rest = apply("where", apply("less", _X, _ZERO), Literal(-1.0), _ZERO) if is_signed else _ZERO
        return builder.body(apply("where", inside, moved, rest), x, y, kind="bit_shift")


define("BitShift", BitShift, since=11)
define_functions(
    {
        "BitwiseAnd": (np.bitwise_and, "bitwise_and"),
        "BitwiseNot": (np.invert, "bitwise_not"),
        "BitwiseOr": (np.bitwise_or, "bitwise_or"),
        "BitwiseXor": (np.bitwise_xor, "bitwise_xor"),
    },
    since=18,
)
