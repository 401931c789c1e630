"""Shape and Size: the extents of a tensor, and how many elements it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import times
from tilewright.graph.types import Extent, Tensor


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


class Size:
    """The number of elements."""

    def reference(self, x: Any) -> Any:
        return np.array(x.size, np.int64)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A constant, or the product of extents as a number."""
        count = times(*x.shape)
        if isinstance(count, int):
            return builder.constant(np.array(count, np.int64))
        return builder.run_time_constant(np.array(count, object), "int64")


def _of_extents(builder: Builder, values: Sequence[Extent]) -> Tensor:
    whole = [extent for extent in values if isinstance(extent, int)]
    if len(whole) == len(values):
        return builder.constant(np.array(whole, np.int64))
    array = np.empty(len(values), object)
    array[:] = values
    return builder.run_time_constant(array, "int64")


define("Shape", Shape)
define("Size", Size)
