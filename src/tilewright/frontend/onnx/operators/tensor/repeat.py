"""Expand and Tile: elements repeated, as a shape says, and copies of a tensor side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of, broadcast
from tilewright.graph.extents import least_extent
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Access, Axis, Extent, Operator, SymbolicExtent, Tensor


class Expand:
    """Broadcast against a shape."""

    def reference(self, x: Any, shape: Any) -> Any:
        wanted = check_size(np.asarray(shape).tolist(), "Expand")
        try:
            full = np.broadcast_shapes(x.shape, wanted)
        except ValueError as problem:
            raise ShapeError(f"{x.shape} and {wanted} do not broadcast", where="Expand") from problem
        check_size(full, "Expand")
        return np.array(np.broadcast_to(x, full))

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """A map that reads dimensions of one element again."""
        wanted = builder.integers(shape)
        full = broadcast_shapes([x.shape, wanted], where="Expand")
        check_size(list(map(least_extent, full)), "Expand")
        return x if full == x.shape else builder.record(broadcast, x, full, kind="broadcast")


class Tile:
    """As many along every dimension as an operand says."""

    def reference(self, x: Any, repeats: Any) -> Any:
        counts = np.asarray(repeats).tolist()
        if len(counts) != x.ndim:
            raise ShapeError(f"{len(counts)} repeats of {x.ndim} dimensions", where=f"Tile of {x.shape}")
        check_size([extent * count for extent, count in zip(x.shape, counts, strict=True)], "Tile")
        return np.tile(x, counts)

    def lower(self, builder: Builder, x: Tensor, repeats: Tensor) -> Tensor:
        """A copy whose repetitions are loops."""
        counts = builder.integers(repeats)
        if len(counts) != len(x.shape):
            raise ShapeError(f"{len(counts)} repeats of {len(x.shape)} dimensions", where=f"Tile of {shape_text(x.shape)}")
        whole = [count for count in counts if isinstance(count, int)]
        if len(whole) < len(counts):
            raise UnsupportedOperation("Tile by counts that are known at run time")
        shape = [_repeated(extent, count, x) for extent, count in zip(x.shape, whole, strict=True)]
        check_size(list(map(least_extent, shape)), "Tile")
        return x if all(count == 1 for count in whole) else builder.record(_tile, x, whole, kind="tile")


def _tile(x: Tensor, repeats: Sequence[int], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every dimension so many times in a row: the number of the repetition is an axis of its own.

    >>> operator, tensor = _tile(Tensor("x", (2, 3)), (2, 1), name="tile", result="y")
    >>> tensor.shape, [str(index) for index in operator.write.indices]
    ((4, 3), ['d0 + 2*r0', 'd1'])
    """
    shape = tuple(_repeated(extent, count, x) for extent, count in zip(x.shape, repeats, strict=True))
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


def _repeated(extent: Extent, count: int, x: Tensor) -> Extent:
    if count == 1:
        return extent
    if isinstance(extent, SymbolicExtent) or count < 0:
        raise UnsupportedOperation(f"{extent} elements {count} times", where=f"Tile of {shape_text(x.shape)}")
    return extent * count


define("Expand", Expand, since=8)
define("Tile", Tile, since=6)
