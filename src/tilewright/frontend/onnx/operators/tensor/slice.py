"""Slice: ranges with any steps along some axes, with ends that are held to the dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.extents import largest_extent, least_extent, minus
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Extent, Tensor


class Slice:
    """Ranges that operands give."""

    def reference(self, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
        return x[_key(x.shape, _list(starts) or [], _list(ends) or [], _list(axes), _list(steps))]

    def lower(
        self, builder: Builder, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
    ) -> Tensor:
        """An index change."""
        chosen, walked = (
            None if operand is None else [_whole(v) for v in builder.integers(operand)] for operand in (axes, steps)
        )
        key = _key(x.shape, builder.integers(starts), builder.integers(ends), chosen, walked)
        return x if all(part == slice(None) for part in key) else builder.slice(x, key)


def _key(
    shape: Sequence[Extent], starts: Sequence[Any], ends: Sequence[Any], axes: Sequence[int] | None, steps: Sequence[int] | None
) -> tuple[slice, ...]:
    chosen = range(len(starts)) if axes is None else [normalize_axis(axis, len(shape), "Slice") for axis in axes]
    walked = [1] * len(starts) if steps is None else steps
    if len({len(starts), len(ends), len(chosen), len(walked)}) > 1 or len(set(chosen)) < len(chosen):
        raise ShapeError("starts, ends, axes and steps do not belong together", where="Slice")
    key = [slice(None)] * len(shape)
    for axis, start, end, step in zip(chosen, starts, ends, walked, strict=True):
        if axis >= len(shape):
            raise ShapeError(f"axis {axis} of {len(shape)} dimensions", where="Slice")
        key[axis] = _part(shape[axis], start, end, step)
    return tuple(key)


def _part(extent: Extent, start: Any, end: Any, step: int) -> slice:
    """The slice of a dimension: run-time extents in it are left to the slice, whose rules are Python's."""
    if step == 0:
        raise ShapeError("a slice with steps of 0", where="Slice")
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        return slice(start, end, step)
    if (start, step) == (0, 1) and least_extent(minus(end, extent)) >= 0:
        return slice(None)
    if step < 0 and isinstance(end, int) and end <= -largest_extent(extent) - 1:
        return slice(start, None, step)
    return slice(start, end, step)


def _list(values: Any) -> list[Any] | None:
    return None if values is None else np.asarray(values).reshape(-1).tolist()


def _whole(value: Extent) -> int:
    if not isinstance(value, int):
        raise UnsupportedOperation(f"Slice along axis, or with steps, of {value}")
    return value


define("Slice", Slice, by_attribute={"starts": MISSING, "ends": MISSING, "axes": None})
define("Slice", Slice, since=10)
