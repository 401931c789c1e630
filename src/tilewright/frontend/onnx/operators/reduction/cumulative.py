"""CumSum and CumProd: of every element and those before it along an axis.

Generated code reduces, for every position, the elements up to it behind a guard. That is quadratic work, so only short axes are
compiled.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Tensor

LONGEST = 64
"""Elements along the axis up to which every sum is made anew."""


@dataclass(frozen=True, slots=True)
class Cumulate:
    """The sums or products up to each position, or from it on; without its own element if `exclusive`."""

    function: str
    """`sum` or `prod`."""
    _: KW_ONLY
    exclusive: int = 0
    reverse: int = 0

    def reference(self, x: Any, axis: Any) -> Any:
        along = normalize_axis(int(np.asarray(axis).reshape(-1)[0]), x.ndim, "CumSum")
        x = np.flip(x, along) if self.reverse else x
        if self.exclusive and x.shape[along]:
            first = np.full_like(np.take(x, [0], axis=along), REDUCTIONS[self.function].states[0].identity)
            x = np.concatenate([first, np.take(x, np.arange(x.shape[along] - 1), axis=along)], axis=along)
        total = np.asarray((np.cumsum if self.function == "sum" else np.cumprod)(x, axis=along, dtype=x.dtype))
        return np.flip(total, along) if self.reverse else total

    def lower(self, builder: Builder, x: Tensor, axis: Tensor) -> Tensor:
        """A reduction behind a guard."""
        kind = f"cum{self.function}"
        along = normalize_axis(int(builder.constant_value(axis).reshape(-1)[0]), len(x.shape), kind)
        extent = x.shape[along]
        if not isinstance(extent, int) or extent > LONGEST:
            raise UnsupportedOperation(f"{kind} along {extent} elements in generated code", why=f"at most {LONGEST} are")
        return builder.record(_cumulated, self.function, x, along, bool(self.exclusive), bool(self.reverse), kind=kind)


def _cumulated(
    function: str, x: Tensor, axis: int, exclusive: bool, reverse: bool, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    outputs, taken = points(len(x.shape)), axis_index("k")
    ahead: Index = taken - outputs[axis] if reverse else outputs[axis] - taken
    indices = tuple(taken if d == axis else index for d, index in enumerate(outputs))
    guard = Guard((ahead - 1 if exclusive else ahead,), 0.0 if function == "sum" else 1.0)
    operator, tensor = map_of(f"cum{function}", x.shape, [Access(x.name, indices, guard)], Load(0), x.dtype, name, result)
    axes = (*operator.axes, Axis("k", x.shape[axis], AxisKind.REDUCTION))
    return replace(operator, axes=axes, reduction=REDUCTIONS[function]), tensor


define("CumSum", Cumulate, "sum", since=11)
define("CumProd", Cumulate, "prod", since=26)
