"""Concat and Split: tensors behind each other along an axis, and parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenate_lengths, concatenated
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import SymbolicExtent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Concat:
    """All parts."""

    axis: int

    def reference(self, *parts: Any) -> Any:
        if len({part.ndim for part in parts}) > 1:
            raise ShapeError("the ranks of the parts differ", where=f"Concat of {[part.shape for part in parts]}")
        return np.concatenate(parts, axis=normalize_axis(self.axis, parts[0].ndim, "Concat"))

    def lower(self, builder: Builder, *parts: Tensor) -> Tensor:
        """One map with guarded reads of the parts that have elements."""
        rank = len(parts[0].shape) if parts else 0
        chosen = normalize_axis(self.axis, rank, "Concat")
        present = [part for part in parts if part.shape[chosen] != 0] or list(parts[:1])
        if len(present) == 1:
            return present[0]
        if any(isinstance(part.shape[chosen], SymbolicExtent) for part in present):
            return concatenate_lengths(builder, present, chosen)
        return concatenated(builder, present, chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Parts of extents that an operand gives, or equal ones."""

    axis: int = 0
    num_outputs: int = 0
    output_count: int = 1

    def reference(self, x: Any, split: Any = None) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "Split")
        sizes = None if split is None else [int(size) for size in split]
        parts = split_sizes(x.shape[axis], sizes, self._count(), f"Split of {x.shape}")
        return tuple(np.split(x, np.cumsum(parts)[:-1], axis=axis))

    def lower(self, builder: Builder, x: Tensor, split: Tensor | None = None) -> tuple[Tensor, ...]:
        """One slice for every part."""
        axis = normalize_axis(self.axis, len(x.shape), "Split")
        extent = x.shape[axis]
        if not isinstance(extent, int):
            raise UnsupportedOperation(f"Split along {extent}, which is known at run time")
        given = None if split is None else builder.integers(split)
        sizes = None if given is None else [size for size in given if isinstance(size, int)]
        if given is not None and sizes is not None and len(sizes) < len(given):
            raise UnsupportedOperation("Split into parts whose extents are known at run time")
        parts = split_sizes(extent, sizes, self._count(), f"Split of {shape_text(x.shape)}")
        ends = np.cumsum(parts).tolist()
        keys = [(slice(None),) * axis + (slice(end - size, end),) for end, size in zip(ends, parts, strict=True)]
        return tuple(builder.slice(x, key) for key in keys)

    def _count(self) -> int:
        return self.num_outputs or self.output_count


def split_sizes(extent: int, sizes: Sequence[int] | None, count: int, where: str) -> tuple[int, ...]:
    """The extents of the parts: those given, or `count` equal ones of which the last may be smaller.

    >>> split_sizes(7, None, 3, "")
    (3, 3, 1)
    """
    if sizes is not None and len(sizes):
        if sum(sizes) != extent or min(sizes) < 0 or (count and len(sizes) != count):
            raise ShapeError(f"parts of {tuple(sizes)} in {count} results", where=where, why=f"the extent is {extent}")
        return tuple(sizes)
    if count < 1:
        raise ShapeError("a split into no parts", where=where)
    part = -(-extent // count)
    return tuple(max(0, min(part, extent - number * part)) for number in range(count))


define("Concat", Concat, since=4)
define("Split", Split, since=2, by_attribute={"split": None})
define("Split", Split, since=13)
