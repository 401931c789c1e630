"""Basic indexing: integers, slices with any step, new dimensions and the ellipsis, as index maps."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import Index, axis, constant
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor

Key: TypeAlias = int | slice | EllipsisType | None


def slicing(x: Tensor, key: tuple[Key, ...], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x[key]` of NumPy's basic indexing. A symbolic dimension can only be taken whole.

    Raises `ShapeError` for an index out of range or too many of them, and `UnsupportedOperation` for indexing by arrays.

    >>> operator, tensor = slicing(Tensor("x", (10, 4)), (slice(8, 2, -2), 1), name="slice", result="y")
    >>> tensor.shape, [str(index) for index in operator.reads[0].indices]
    ((3,), ['-2*d0 + 8', '1'])
    """
    indices: list[Index] = []
    shape: list[Extent] = []
    for part in _complete(key, x):
        if part is None:
            shape.append(1)
        elif isinstance(part, slice):
            start, step, extent = _range(part, x.shape[len(indices)], x)
            indices.append(axis(f"d{len(shape)}") * step + start)
            shape.append(extent)
        else:
            indices.append(constant(_position(part, x.shape[len(indices)], x)))
    axes = tuple(Axis(f"d{position}", extent) for position, extent in enumerate(shape))
    write = Access(result, tuple(axis(a.name) for a in axes))
    reads = (Access(x.name, tuple(indices)),)
    operator = Operator(name, "slice", axes, reads, write, Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(shape), x.dtype)


def numpy_reference(x: Any, key: tuple[Key, ...]) -> Any:
    """The same by NumPy's indexing."""
    return x[key]


def _complete(key: tuple[Key, ...], x: Tensor) -> tuple[int | slice | None, ...]:
    for part in key:
        if isinstance(part, bool) or not (part is None or part is Ellipsis or isinstance(part, slice | int | np.integer)):
            raise UnsupportedOperation(
                f"indexing by a {type(part).__name__}",
                why="only integers, slices, None and ... give an index map",
                hint="use where() with a condition, or einsum with a one-hot matrix",
            )
    used = sum(part is not None and part is not Ellipsis for part in key)
    spare = len(x.shape) - used
    if spare < 0 or sum(part is Ellipsis for part in key) > 1:
        raise ShapeError(f"too many indices for shape {shape_text(x.shape)}", where="slice", why=f"{used} were given")
    position = next((i for i, part in enumerate(key) if part is Ellipsis), len(key))
    full = [*key[:position], *([slice(None)] * spare), *key[position + 1 :]]
    return tuple(part for part in full if part is not Ellipsis)


def _range(part: slice, extent: Extent, x: Tensor) -> tuple[int, int, Extent]:
    if isinstance(extent, int):
        start, stop, step = part.indices(extent)
        count = len(range(start, stop, step))
        return (start, step, count) if count else (0, 1, 0)
    if part != slice(None):
        why = f"{extent} is known at run time"
        raise ShapeError(f"cannot slice a symbolic dimension of {shape_text(x.shape)}", where="slice", why=why)
    return 0, 1, extent


def _position(part: int, extent: Extent, x: Tensor) -> int:
    position = part.__index__()
    if not isinstance(extent, int):
        if 0 <= position < extent.low:
            return position
        why = f"{extent} is known at run time and at least {extent.low}"
        raise ShapeError(f"index {position} may be outside shape {shape_text(x.shape)}", where="slice", why=why)
    if not -extent <= position < extent:
        raise ShapeError(f"index {position} is outside a dimension of extent {extent}", where="slice")
    return position % extent
