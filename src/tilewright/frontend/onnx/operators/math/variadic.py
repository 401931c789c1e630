"""Max, Min, Sum and Mean: functions of any number of operands, element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.precision import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class Variadic:
    """A function of two numbers: of the first two operands, then of its result and the third, ..."""

    function: str
    numpy: Callable[[Any, Any], Any]

    def reference(self, first: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reduce(self.numpy, rest, first))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        body = _folded(self.function, 1 + len(rest))
        return builder.body(body, first, *rest, kind=self.function) if rest else first


class Mean:
    """The mean of the operands."""

    @in_operand_type
    def reference(self, first: Any, *rest: Any) -> Any:
        return reduce(np.add, rest, first) / (1 + len(rest))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        """One map: a sum and a quotient."""
        count = 1 + len(rest)
        return builder.body(apply("divide", _folded("add", count), Literal(float(count))), first, *rest, kind="mean")


def _folded(function: str, count: int) -> Scalar:
    start: Scalar = Load(0)
    return reduce(lambda body, read: apply(function, body, Load(read)), range(1, count), start)


define("Max", Variadic, "maximum", np.maximum)
define("Min", Variadic, "minimum", np.minimum)
define("Sum", Variadic, "add", np.add)
define("Mean", Mean)
