"""SplitToSequence and ConcatFromSequence: a tensor cut into a sequence, and a sequence put together into a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.sequence import elements_of, integer_of
from tilewright.graph.shapes import normalize_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitToSequence:
    """The parts along an axis: of one element each, of `split` elements each, or as long as the elements of `split`."""

    axis: int = 0
    keepdims: int = 1

    def reference(self, x: Any, split: Any = None) -> Any:
        along = normalize_axis(self.axis, np.ndim(x), where="SplitToSequence")
        cuts = np.cumsum(_lengths(split, x.shape[along]))[:-1]
        parts = np.split(x, cuts, axis=along)
        return parts if split is not None or self.keepdims else [np.squeeze(part, along) for part in parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcatFromSequence:
    """All elements in one tensor, along one of their axes or a new axis."""

    axis: int
    new_axis: int = 0

    def reference(self, sequence: Any) -> Any:
        elements = elements_of(sequence, "ConcatFromSequence")
        if not elements:
            raise ShapeError("no tensors to concatenate", where="ConcatFromSequence")
        along = normalize_axis(self.axis, np.ndim(elements[0]) + bool(self.new_axis), where="ConcatFromSequence")
        try:
            return (np.stack if self.new_axis else np.concatenate)(elements, axis=along)
        except ValueError as error:
            raise ShapeError("tensors that do not fit together", where="ConcatFromSequence", why=str(error)) from error


def _lengths(split: Any, extent: int) -> list[int]:
    if split is not None and np.ndim(split) == 1:
        lengths = [int(length) for length in split]
        if min(lengths, default=0) < 0 or sum(lengths) != extent:
            raise ShapeError(f"an extent of {extent} does not split into {lengths}", where="SplitToSequence")
        return lengths
    size = 1 if split is None else integer_of(split, "SplitToSequence")
    if size < 1:
        raise ShapeError(f"parts of {size} elements", where="SplitToSequence")
    return [min(size, extent - start) for start in range(0, extent, size)]


define("SplitToSequence", SplitToSequence, since=11)
define("ConcatFromSequence", ConcatFromSequence, since=11)
