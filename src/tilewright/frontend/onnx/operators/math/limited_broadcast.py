"""Functions of two operands before opset 7: the second one broadcasts only if an attribute says so, and from a given axis on.

Its shape is then a contiguous part of the first operand's, which begins at `axis`, or is its end. Source: the ONNX operator
schemas, opset 6 (Broadcasting in ONNX: "multidirectional" came with opset 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from tilewright.errors import InternalError, ShapeError
from tilewright.frontend.onnx.definition import define, definition
from tilewright.frontend.onnx.operators.math.element_function import BROADCASTING
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor

Shape: TypeAlias = Sequence[Extent]


@dataclass(frozen=True, slots=True)
class LimitedBroadcast:
    """A function of x and of y, which lies along some dimensions of x."""

    name: str
    """Of the operator, which is that of later versions once y has its dimensions."""
    _: KW_ONLY
    axis: int | None = None
    broadcast: int = 0

    def reference(self, x: Any, y: Any) -> Any:
        return self._later().reference(x, y.reshape(self._aligned(y.shape, x.shape)) if self.broadcast else y)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        y = builder.reshape(y, self._aligned(y.shape, x.shape)) if self.broadcast else y
        result: Tensor = self._later().lower(builder, x, y)
        return result

    def _aligned(self, shape: Shape, target: Shape) -> tuple[Extent, ...]:
        return aligned_shape(shape, target, self.axis, self.name)

    def _later(self) -> Any:
        found = definition(self.name, BROADCASTING)
        if found is None:
            raise InternalError(f"{self.name} is not defined in opset {BROADCASTING}")
        return found.operator()


def aligned_shape(shape: Shape, target: Shape, axis: int | None, where: str) -> tuple[Extent, ...]:
    """The shape of a second operand with as many dimensions behind it as broadcasting as in NumPy needs.

    >>> aligned_shape((3, 4), (2, 3, 4, 5), 1, "Add")
    (3, 4, 1)
    """
    begin = len(target) - len(shape) if axis is None else axis + len(target) * (axis < 0)
    if not 0 <= begin <= len(target) - len(shape):
        text = f"{where} of shapes {shape_text(target)} and {shape_text(shape)} from axis {axis} on"
        raise ShapeError(text, where=where, why="the second one reaches over the end of the first")
    return (*shape, *(1,) * (len(target) - len(shape) - begin))


for _name in ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Greater", "Less", "Equal"):
    define(_name, LimitedBroadcast, _name)
