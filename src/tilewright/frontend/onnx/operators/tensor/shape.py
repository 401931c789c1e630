"""Shape and Size: the extents of a tensor, and how many elements it has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Scalar, apply, scalar_of
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Some of the extents."""

    start: int = 0
    end: int | None = None

    def reference(self, x: Any) -> Any:
        return np.array(x.shape[self.start : self.end], np.int64)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A constant, or a map that reads nothing and whose elements are known extents."""
        return _of_extents(builder, x.shape[self.start : self.end])


class ShapeBefore15:
    """All extents."""

    def reference(self, x: Any) -> Any:
        return Shape().reference(x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return Shape().lower(builder, x)


class Size:
    """The number of elements."""

    def reference(self, x: Any) -> Any:
        return np.array(x.size, np.int64)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A constant."""
        extents = [extent for extent in x.shape if isinstance(extent, int)]
        if len(extents) < len(x.shape):
            raise UnsupportedOperation("the number of elements where extents are known at run time")
        return builder.constant(np.array(math.prod(extents), np.int64))


def _of_extents(builder: Builder, extents: Sequence[Extent]) -> Tensor:
    whole = [extent for extent in extents if isinstance(extent, int)]
    if len(whole) == len(extents):
        return builder.constant(np.array(whole, np.int64))
    tensor = builder.record(_extents, tuple(extents), kind="shape")
    values = np.empty(len(extents), object)
    values[:] = extents
    builder.known[tensor.name] = values
    return tensor


def _extents(extents: tuple[Extent, ...], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A vector of extents, by the position along it."""
    values = [scalar_of(extent) for extent in extents]
    body: Scalar = values[-1]
    for position in reversed(range(len(values) - 1)):
        body = apply("where", apply("less", AxisValue("d0"), Literal(position + 1.0)), values[position], body)
    axes, write = (Axis("d0", len(extents)),), Access(result, (axis_index("d0"),))
    return Operator(name, "shape", axes, (), write, body, accumulator="int64"), Tensor(result, (len(extents),), "int64")


define("Shape", ShapeBefore15)
define("Shape", Shape, since=15)
define("Size", Size)
