"""Squeeze and Unsqueeze: dimensions of extent 1, left out and put in. Axes are an attribute before opset 13."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Extent, Tensor


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


define("Squeeze", Squeeze, by_attribute={"axes": None})
define("Squeeze", Squeeze, since=13)
define("Unsqueeze", Unsqueeze, by_attribute={"axes": MISSING})
define("Unsqueeze", Unsqueeze, since=13)
