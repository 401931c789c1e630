"""CenterCropPad: the middle of a tensor along some axes, or the tensor in the middle of zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.windows import inside
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.index import constant
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Guard, Operator, Tensor, planned_extent


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterCropPad:
    """Elements behind the middle go where the difference of extents is odd."""

    axes: Sequence[int] | None = None

    def reference(self, x: Any, shape: Any) -> Any:
        wanted = _wanted(x.shape, [int(extent) for extent in np.reshape(shape, -1)], self.axes)
        y = np.zeros(wanted, x.dtype)
        starts = _starts(x.shape, wanted)
        source = tuple(slice(max(s, 0), max(s, 0) + min(e, w)) for s, e, w in zip(starts, x.shape, wanted, strict=True))
        target = tuple(slice(max(-s, 0), max(-s, 0) + min(e, w)) for s, e, w in zip(starts, x.shape, wanted, strict=True))
        y[target] = x[source]
        return y

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """A guarded index change."""
        wanted = builder.integers(shape)
        extents = tuple(extent for extent in x.shape if isinstance(extent, int))
        if len(extents) < len(x.shape) or not all(isinstance(extent, int) for extent in wanted):
            raise UnsupportedOperation("CenterCropPad of extents that are known at run time only", where="CenterCropPad")
        target = _wanted(extents, list(map(planned_extent, wanted)), self.axes)
        return builder.record(_moved, x, target, _starts(extents, target), kind="crop")


def _wanted(shape: Sequence[int], extents: Sequence[int], axes: Sequence[int] | None) -> tuple[int, ...]:
    """The whole shape of the result."""
    along = range(len(shape)) if axes is None else [normalize_axis(axis, len(shape), where="CenterCropPad") for axis in axes]
    if len(set(along)) != len(extents) or min(extents, default=0) < 0:
        raise ShapeError(f"CenterCropPad of {shape_text(shape)} to {shape_text(extents)}", where="CenterCropPad")
    wanted = dict(zip(along, extents, strict=True))
    result = tuple(wanted.get(d, extent) for d, extent in enumerate(shape))
    if prod(result) > MOST_ELEMENTS:
        raise UnsupportedOperation(f"CenterCropPad to {shape_text(result)}", where="CenterCropPad", why="it is absurdly large")
    return result


def _starts(shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Where in the source the first element of the result lies; negative in padding. What is odd goes behind."""
    return tuple((e - w) // 2 if e >= w else -((w - e) // 2) for e, w in zip(shape, wanted, strict=True))


def _moved(x: Tensor, wanted: tuple[int, ...], starts: tuple[int, ...], *, name: str, result: str) -> tuple[Operator, Tensor]:
    indices = tuple(index + constant(start) for index, start in zip(points(len(starts)), starts, strict=True))
    constraints = [
        constraint
        for d, (index, extent) in enumerate(zip(indices, x.shape, strict=True))
        for constraint in inside(index, planned_extent(extent), {f"d{d}": wanted[d]})
    ]
    read = Access(x.name, indices, Guard(tuple(constraints), 0.0) if constraints else None)
    return map_of("crop", wanted, [read], Load(0), x.dtype, name, result)


define("CenterCropPad", CenterCropPad, since=18)
