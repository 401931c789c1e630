"""Tensors repeated as a whole: copies of one side by side along its dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.index import Index, constant
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Axis, Extent, Operator, SymbolicExtent, Tensor


def tile(x: Tensor, repeats: Sequence[int], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every dimension so many times in a row: the number of the repetition is an axis of its own.

    >>> operator, tensor = tile(Tensor("x", (2, 3)), (2, 1), name="tile", result="y")
    >>> tensor.shape, [str(index) for index in operator.write.indices]
    ((4, 3), ['d0 + 2*r0', 'd1'])
    """
    shape = tuple(repeated(extent, count, x) for extent, count in zip(x.shape, repeats, strict=True))
    axes, written, read_at = list[Axis](), list[Index](), list[Index]()
    for d, (extent, count) in enumerate(zip(x.shape, repeats, strict=True)):
        index = axis_index(f"d{d}")
        if count == 1 or not isinstance(extent, int) or extent < 2:
            axes.append(Axis(f"d{d}", shape[d]))
            written.append(index)
            read_at.append(constant(0) if extent == 1 else index)
        else:
            axes += [Axis(f"r{d}", count), Axis(f"d{d}", extent)]
            written.append(axis_index(f"r{d}") * extent + index)
            read_at.append(index)
    read = Access(x.name, tuple(read_at))
    write, accumulator = Access(result, tuple(written)), accumulator_of(x.dtype)
    return Operator(name, "tile", tuple(axes), (read,), write, Load(0), accumulator=accumulator), Tensor(result, shape, x.dtype)


def repeated(extent: Extent, count: int, x: Tensor) -> Extent:
    """The extent of a dimension so many times in a row. Raises `UnsupportedOperation` where it is known at run time only."""
    if count == 1:
        return extent
    if isinstance(extent, SymbolicExtent) or count < 0:
        raise UnsupportedOperation(f"{extent} elements {count} times", where=f"Tile of {shape_text(x.shape)}")
    return extent * count
