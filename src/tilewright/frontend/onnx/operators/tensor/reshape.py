"""Reshape, Flatten, Squeeze, Unsqueeze and Transpose: the same elements in another shape.

Axes of Squeeze and Unsqueeze are an attribute before opset 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import times
from tilewright.graph.shapes import normalize_axis, shape_text
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


class Squeeze:
    """Without the named dimensions, or without all of extent 1."""

    def reference(self, x: Any, axes: Any = None) -> Any:
        return np.reshape(x, _squeezed(x.shape, None if axes is None else np.asarray(axes).reshape(-1).tolist()))

    def lower(self, builder: Builder, x: Tensor, axes: Tensor | None = None) -> Tensor:
        """An index change."""
        return builder.reshape(x, _squeezed(x.shape, None if axes is None else builder.integers(axes)))


class Unsqueeze:
    """New dimensions of extent 1 at the places `axes` of the result."""

    def reference(self, x: Any, axes: Any) -> Any:
        return np.reshape(x, _unsqueezed(x.shape, np.asarray(axes).reshape(-1).tolist()))

    def lower(self, builder: Builder, x: Tensor, axes: Tensor) -> Tensor:
        """An index change."""
        return builder.reshape(x, _unsqueezed(x.shape, builder.integers(axes)))


def _squeezed(shape: Sequence[Extent], axes: Sequence[Any] | None) -> tuple[Extent, ...]:
    """The shape without dimensions of extent 1: the chosen ones, or all."""
    where = f"Squeeze of {shape_text(shape)}"
    if axes is None:
        if not all(isinstance(extent, int) for extent in shape):
            raise UnsupportedOperation("Squeeze of all dimensions of extent 1, where some are known at run time", where=where)
        return tuple(extent for extent in shape if extent != 1)
    chosen = {normalize_axis(axis, len(shape), where) for axis in axes}
    if any(shape[axis] != 1 for axis in chosen):
        raise ShapeError(f"axes {sorted(chosen)} have more or less than one element", where=where)
    return tuple(extent for axis, extent in enumerate(shape) if axis not in chosen)


def _unsqueezed(shape: Sequence[Extent], axes: Sequence[Any]) -> tuple[Extent, ...]:
    rank = len(shape) + len(axes)
    chosen = {normalize_axis(axis, rank, "Unsqueeze") for axis in axes}
    if len(chosen) < len(axes):
        raise ShapeError(f"axes {tuple(axes)} name a dimension twice", where=f"Unsqueeze of {shape_text(shape)}")
    extents = iter(shape)
    return tuple(1 if axis in chosen else next(extents) for axis in range(rank))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose:
    """The order that is given, or the reverse."""

    perm: Sequence[int] | None = None

    def reference(self, x: Any) -> Any:
        if self.perm is not None and sorted(self.perm) != list(range(x.ndim)):
            raise ShapeError(f"{tuple(self.perm)} is no permutation of {x.ndim} dimensions", where="Transpose")
        return np.transpose(x, None if self.perm is None else tuple(self.perm))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """An index change."""
        order = tuple(reversed(range(len(x.shape)))) if self.perm is None else tuple(self.perm)
        return x if order == tuple(range(len(x.shape))) else builder.transpose(x, order)


define("Reshape", Reshape, since=5)
define("Flatten", Flatten)
define("Squeeze", Squeeze, by_attribute={"axes": None})
define("Squeeze", Squeeze, since=13)
define("Unsqueeze", Unsqueeze, by_attribute={"axes": MISSING})
define("Unsqueeze", Unsqueeze, since=13)
define("Transpose", Transpose)
