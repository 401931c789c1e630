"""Reshape and Flatten: the same elements in another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import times
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """The shape that an operand gives; 0 there copies the extent, -1 takes the rest."""

    allowzero: int = 0

    def reference(self, x: Any, shape: Any) -> Any:
        wanted = self._wanted(x.shape, np.asarray(shape).reshape(-1).tolist())
        try:
            return np.reshape(x, wanted)
        except ValueError as problem:
            raise ShapeError(f"{x.shape} into {shape_text(wanted)}", where="Reshape", why=str(problem)) from problem

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """An index change."""
        return builder.reshape(x, self._wanted(x.shape, builder.integers(shape)))

    def _wanted(self, given: Sequence[Extent], shape: Sequence[Extent]) -> tuple[Extent, ...]:
        """The shape with zeros replaced by the extents at their places, unless they mean themselves."""
        if self.allowzero:
            return tuple(shape)
        if any(extent == 0 and place >= len(given) for place, extent in enumerate(shape)):
            text = f"shape {shape_text(shape)} copies a dimension that is not there"
            raise ShapeError(text, where=f"Reshape of {shape_text(given)}")
        return tuple(given[place] if extent == 0 else extent for place, extent in enumerate(shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten:
    """A matrix: the dimensions before `axis` as rows, the others as columns."""

    axis: int = 1

    def reference(self, x: Any) -> Any:
        cut = self._cut(x.ndim)
        return np.reshape(x, (math.prod(x.shape[:cut]), math.prod(x.shape[cut:])))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """An index change."""
        cut = self._cut(len(x.shape))
        return builder.reshape(x, (times(*x.shape[:cut]), times(*x.shape[cut:])))

    def _cut(self, rank: int) -> int:
        if not -rank <= self.axis <= rank:
            raise ShapeError(f"axis {self.axis} of {rank} dimensions", where="Flatten")
        return self.axis + rank if self.axis < 0 else self.axis


define("Reshape", Reshape, since=5)
define("Flatten", Flatten)
