"""Max, Min, Sum and Mean: functions of any number of operands, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor

MOST_OPERANDS = 32
"""Of one map: each is a function more in its body, one inside the other."""
EXTREMES = ("maximum", "minimum")
"""Of any order, so that they need not be nested deeply: C of them reads an operand three times, and compilers take 2 s for 32."""


@dataclass(frozen=True, slots=True)
class Variadic:
    """A function of two numbers: of the first two operands, then of its result and the third, ..."""

    function: str
    numpy: Callable[[Any, Any], Any]

    def reference(self, first: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reduce(self.numpy, rest, first))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        return _lowered(builder, self.function, (first, *rest))


class Mean:
    """The mean of the operands."""

    @in_operand_type
    def reference(self, first: Any, *rest: Any) -> Any:
        return reduce(np.add, rest, first) / (1 + len(rest))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        """One map, of few operands: a sum and a quotient."""
        count = 1 + len(rest)
        if count > MOST_OPERANDS:
            return builder.map("divide", _lowered(builder, "add", (first, *rest)), float(count))
        return builder.body(apply("divide", _folded("add", count), Literal(float(count))), first, *rest, kind="mean")


def _lowered(builder: Builder, function: str, operands: Sequence[Tensor]) -> Tensor:
    """The function of all operands, from the first to the last, a map for every few of them."""
    result = operands[0]
    for first in range(1, len(operands), MOST_OPERANDS - 1):
        some = operands[first : first + MOST_OPERANDS - 1]
        combine = _balanced if function in EXTREMES else _folded
        result = builder.body(combine(function, 1 + len(some)), result, *some, kind=function)
    return result


def _balanced(function: str, count: int) -> Scalar:
    """Of neighbours, then of neighbours of these."""
    parts: list[Scalar] = [Load(read) for read in range(count)]
    while len(parts) > 1:
        last = parts[len(parts) // 2 * 2 :]
        parts = [*(apply(function, *pair) for pair in zip(parts[::2], parts[1::2], strict=False)), *last]
    return parts[0]


def _folded(function: str, count: int) -> Scalar:
    start: Scalar = Load(0)
    return reduce(lambda body, read: apply(function, body, Load(read)), range(1, count), start)


define("Max", Variadic, "maximum", np.maximum)
define("Min", Variadic, "minimum", np.minimum)
define("Sum", Variadic, "add", np.add)
define("Mean", Mean)
