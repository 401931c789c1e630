"""Operators of ONNX before opset 7, whose second operand broadcasts only if an attribute says so, and from a given axis on.

Its shape is then a contiguous part of the first operand's, which begins at `axis`, or is its end. Source: the ONNX operator
schemas, opset 6 (Broadcasting in ONNX: "multidirectional" came with opset 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.errors import InternalError, ShapeError
from tilewright.graph.definition import Definition, define, definition
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

Shape: TypeAlias = Sequence[Extent]
FIRST_FREE = 7
"""The opset from which on both operands broadcast, as in NumPy."""


def aligned_shape(shape: Shape, other: Shape, axis: int | None, where: str) -> tuple[Extent, ...]:
    """The shape of a second operand with as many dimensions behind it as broadcasting as in NumPy needs.

    >>> aligned_shape((3, 4), (2, 3, 4, 5), 1, "Add")
    (3, 4, 1)
    """
    begin = len(other) - len(shape) if axis is None else axis + len(other) * (axis < 0)
    if not 0 <= begin <= len(other) - len(shape):
        text = f"{where} of shapes {shape_text(other)} and {shape_text(shape)} from axis {axis} on"
        raise ShapeError(text, where=where, why="the second one reaches over the end of the first")
    return (*shape, *(1,) * (len(other) - len(shape) - begin))


def _free(name: str) -> Definition:
    found = definition(name, FIRST_FREE)
    if found is None:
        raise InternalError(f"{name} is not defined in opset {FIRST_FREE}")
    return found


def _meaning(name: str) -> Callable[..., Any]:
    def meaning(x: Any, y: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
        return _free(name).meaning(x, y.reshape(aligned_shape(y.shape, x.shape, axis, name)) if broadcast else y)

    meaning.__doc__ = f"`{name}` of x and of y, which lies along some dimensions of x."
    return meaning


def _lower(name: str) -> Callable[..., Tensor]:
    def lower(builder: Builder, x: Tensor, y: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
        y = builder.reshape(y, aligned_shape(y.shape, x.shape, axis, name)) if broadcast else y
        return _free_lowering(name)(builder, x, y)

    return lower


def _free_lowering(name: str) -> Callable[..., Tensor]:
    lower = _free(name).lower
    if lower is None:
        raise InternalError(f"{name} has no lowering in opset {FIRST_FREE}")
    return lower


def gemm(
    a: Any, b: Any, c: Any, *, alpha: float = 1.0, beta: float = 1.0, broadcast: int = 0, transA: int = 0, transB: int = 0
) -> Any:
    """alpha A' B' + beta C."""
    return _free("Gemm").meaning(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


def lower_gemm(
    builder: Builder,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """That of later versions: they broadcast C whenever it is smaller."""
    return _free_lowering("Gemm")(builder, a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


for _name in ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Greater", "Less", "Equal"):
    define(_name, _meaning(_name), _lower(_name))
define("Gemm", gemm, lower_gemm)
