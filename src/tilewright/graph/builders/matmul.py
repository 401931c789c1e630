"""Matrix products with batch dimensions, as the array API defines `matmul`: contractions built through einsum."""

from __future__ import annotations

from tilewright.errors import ShapeError
from tilewright.graph.builders.einsum import Subscripts, einsum
from tilewright.graph.shapes import broadcast_extents, broadcast_shapes, shape_text
from tilewright.graph.types import Operator, Tensor


def matmul(left: Tensor, right: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`left (..., m, k) @ right (..., k, n)`; batch dimensions broadcast.

    A 1-D operand is a row (left) or a column (right), and its dimension is not in the result. Raises `ShapeError` for 0-d
    operands, different k, or batches that do not broadcast. Axes are m, n, k, and b0, b1, ... from the last batch
    dimension outwards.

    >>> operator, tensor = matmul(Tensor("a", (8, 2, 3)), Tensor("b", (3, 4)), name="product", result="c")
    >>> tensor.shape, [axis.name for axis in operator.axes]
    ((8, 2, 4), ['b0', 'm', 'k', 'n'])
    """
    _check(left, right)
    rows = ("m", "k") if len(left.shape) > 1 else ("k",)
    columns = ("k", "n") if len(right.shape) > 1 else ("k",)
    left_labels = (*_batch(len(left.shape) - len(rows)), *rows)
    right_labels = (*_batch(len(right.shape) - len(columns)), *columns)
    batch = max(_batch(len(left.shape) - len(rows)), _batch(len(right.shape) - len(columns)), key=len)
    subscripts = Subscripts((left_labels, right_labels), (*batch, *rows[:-1], *columns[1:]))
    return einsum(subscripts, [left, right], name=name, result=result, kind="matmul")


def _batch(rank: int) -> tuple[str, ...]:
    return tuple(f"b{position}" for position in reversed(range(rank)))


def _check(left: Tensor, right: Tensor) -> None:
    shapes = f"{shape_text(left.shape)} by {shape_text(right.shape)}"
    if not left.shape or not right.shape:
        raise ShapeError(f"cannot multiply {shapes}", where="matmul", why="a 0-d operand is no matrix", hint="use * for scaling")
    depth = (left.shape[-1], right.shape[-2] if len(right.shape) > 1 else right.shape[0])
    if depth[0] != depth[1]:
        hint = "transpose one operand (.mT), or use einsum"
        raise ShapeError(f"cannot multiply {shapes}", where="matmul", why=f"{depth[0]} != {depth[1]}", hint=hint)
    batches = (left.shape[:-2], right.shape[:-2])
    if any(broadcast_extents(pair) is None for pair in zip(reversed(batches[0]), reversed(batches[1]), strict=False)):
        broadcast_shapes(batches, where=f"matmul of {shapes}: batch dimensions")
