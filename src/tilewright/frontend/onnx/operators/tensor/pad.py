"""Pad: dimensions continued by a constant, by their last elements, mirrored or periodically.

    constant: the elements outside are one value, which a guard gives
    edge:     x[min(max(i, 0), n - 1)]
    wrap:     x[i mod n]
    reflect:  x[n - 1 - |n - 1 - (i mod (2 n - 2))|]

All but wrapping are pieces along the axis, in which the index is affine; generated code walks them one after the other.

CenterCropPad takes the middle of a tensor along some axes, or puts the tensor into the middle of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.operators.operands import known
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import Pads, pad
from tilewright.graph.builders.continuation import continued
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Tensor

MODES = ("constant", "reflect", "edge", "wrap")


@onnx_operator("Pad", since=2, by_attribute={"pads": MISSING, "value": 0.0})
@onnx_operator("Pad", since=11)
class Pad(SchemaAttributes):
    """By numbers of elements that an operand gives; negative ones are cut off first."""

    def reference(self, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
        chosen = None if axes is None else np.asarray(axes).tolist()
        return _padded(x, _pads(np.asarray(pads).tolist(), chosen, x.ndim), value, _checked(self.mode))

    def lower(self, builder: Builder, x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None) -> Tensor:
        mode = _checked(self.mode)
        given = known(builder.integers(pads), "Pad by extents")
        amounts = _pads(given, None if axes is None else known(builder.integers(axes), "Pad along axes"), len(x.shape))
        is_needed = mode == "constant" and any(map(any, amounts))
        fill = 0 if value is None or not is_needed else builder.constant_value(value).reshape(-1)[0]
        return _lowered(builder, x, amounts, fill, mode)


def _pads(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> Pads:
    """The pads of every dimension: all those before, then all those behind, of the dimensions `axes`."""
    chosen = range(rank) if axes is None else [normalize_axis(axis, rank, "Pad") for axis in axes]
    if len(pads) != 2 * len(chosen) or len(set(chosen)) < len(chosen):
        raise ShapeError(f"{len(pads)} pads for {len(chosen)} dimensions", where="Pad")
    found = [(0, 0)] * rank
    for number, axis in enumerate(chosen):
        found[axis] = (int(pads[number]), int(pads[number + len(chosen)]))
    return tuple(found)


def _padded(x: Any, pads: Pads, value: Any, mode: str) -> Any:
    where = f"Pad of {x.shape}"
    check_size([extent + sum(ends) for extent, ends in zip(x.shape, pads, strict=True)], where)
    cut = x[tuple(slice(max(0, -a), extent - max(0, -b)) for (a, b), extent in zip(pads, x.shape, strict=True))]
    grown = [(max(0, before), max(0, behind)) for before, behind in pads]
    if mode == "constant":
        empty = np.zeros((), x.dtype) if x.dtype != object else ""
        return np.pad(cut, grown, constant_values=empty if value is None else np.asarray(value).reshape(()))
    if any(sum(ends) and not extent for ends, extent in zip(grown, cut.shape, strict=True)):
        raise ShapeError("nothing to continue", where=where)
    return np.pad(cut, grown, mode=mode)  # type: ignore[call-overload]


def _lowered(builder: Builder, x: Tensor, pads: Pads, value: Any, mode: str) -> Tensor:
    """A guarded map for a constant; else, axis by axis, a concatenation of slices."""
    if not any(before or behind for before, behind in pads):
        return x
    if mode == "constant":
        return builder.record(pad, x, pads, _fill(value, x.dtype), kind="pad")
    for axis, (before, behind) in enumerate(pads):
        x = continued(builder, x, axis, before, behind, mode)
    return x


def _fill(value: Any, dtype: str) -> float:
    """The constant around an array of a type; raises `UnsupportedOperation` where a float does not hold it."""
    if "complex" in dtype or isinstance(value, str | bytes):
        raise UnsupportedOperation(f"Pad of {dtype} by {value!r} in generated code")
    number = float(value)
    if "float" not in dtype and not (number.is_integer() and int(number) == int(value)):
        raise UnsupportedOperation(f"Pad of {dtype} by {value}", why="no float is that number")
    return number


def _checked(mode: Any) -> str:
    name = mode.decode() if isinstance(mode, bytes) else str(mode)
    if name not in MODES:
        raise UnsupportedOperation(f"Pad in mode {name!r}", hint=f"choose from {', '.join(MODES)}")
    return name


@onnx_operator("CenterCropPad", since=18)
class CenterCropPad(SchemaAttributes):
    """Elements behind the middle go where the difference of extents is odd."""

    def reference(self, x: Any, shape: Any) -> Any:
        return _padded(x, self._pads(x.shape, [int(extent) for extent in np.reshape(shape, -1)]), None, "constant")

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """A guarded index change."""
        extents, wanted = (known(each, "CenterCropPad of extents") for each in (x.shape, builder.integers(shape)))
        return _lowered(builder, x, self._pads(extents, wanted), 0, "constant")

    def _pads(self, shape: Sequence[int], extents: Sequence[int]) -> Pads:
        """The pads of every dimension, negative ones of those that are cut. Of an odd number one more is behind."""
        along = [normalize_axis(axis, len(shape), where="CenterCropPad") for axis in self.axes or range(len(shape))]
        if len(set(along)) != len(extents) or min(extents, default=0) < 0:
            raise ShapeError(f"CenterCropPad of {shape_text(shape)} to {shape_text(extents)}", where="CenterCropPad")
        wanted = dict(zip(along, extents, strict=True))
        more = [wanted.get(d, extent) - extent for d, extent in enumerate(shape)]
        before = [count // 2 if count > 0 else -(-count // 2) for count in more]
        return tuple((first, count - first) for first, count in zip(before, more, strict=True))
