"""Elements moved as a whole: other shapes, repetitions, tensors behind each other, and parts of a tensor.

Reshape, Flatten, Squeeze, Unsqueeze and Transpose: the same elements in another shape. Axes of Squeeze and Unsqueeze are an
attribute before opset 13. Expand and Tile: elements repeated, as a shape says, and copies of a tensor side by side. Concat and
Split: tensors behind each other along an axis, and parts of a tensor. Slice: ranges with any steps along some axes, with ends
held to the dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.operators.operands import known
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenate_lengths, concatenated
from tilewright.graph.builders.elementwise import broadcast
from tilewright.graph.builders.tiling import repeated, tile
from tilewright.graph.expressions.extents import largest_extent, least_extent, minus, times
from tilewright.graph.shapes import are_known, broadcast_shapes, normalize_axis, shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor


class IndexChange(SchemaAttributes, ABC):
    """The same elements in a shape that follows from theirs and from operands of integers."""

    @abstractmethod
    def shape(self, given: Sequence[Extent], integers: Sequence[Any] | None = None) -> tuple[Extent, ...]:
        """The shape of the result. Raises `ShapeError`."""

    def reference(self, x: Any, *operands: Any, **named: Any) -> Any:
        integers = [None if each is None else np.asarray(each).reshape(-1).tolist() for each in (*operands, *named.values())]
        wanted = self.shape(x.shape, *integers)
        try:
            return np.reshape(x, wanted)
        except ValueError as problem:
            where = type(self).__name__
            raise ShapeError(f"{x.shape} into {shape_text(wanted)}", where=where, why=str(problem)) from problem

    def lower(self, builder: Builder, x: Tensor, *operands: Any, **named: Any) -> Tensor:
        integers = [None if each is None else builder.integers(each) for each in (*operands, *named.values())]
        return builder.reshape(x, self.shape(x.shape, *integers))


@onnx_operator("Reshape", since=5)
class Reshape(IndexChange):
    """The shape that an operand gives; 0 there copies the extent, unless it means itself, -1 takes the rest."""

    def shape(self, given: Sequence[Extent], integers: Sequence[Any] | None = None) -> tuple[Extent, ...]:
        wanted = tuple(integers or ())
        if self.allowzero:
            return wanted
        if any(extent == 0 and place >= len(given) for place, extent in enumerate(wanted)):
            text = f"shape {shape_text(wanted)} copies a dimension that is not there"
            raise ShapeError(text, where=f"Reshape of {shape_text(given)}")
        return tuple(given[place] if extent == 0 else extent for place, extent in enumerate(wanted))


@onnx_operator("Flatten")
class Flatten(IndexChange):
    """A matrix: the dimensions before `axis` as rows, the others as columns."""

    def shape(self, given: Sequence[Extent], integers: Sequence[Any] | None = None) -> tuple[Extent, ...]:
        rank = len(given)
        if not -rank <= self.axis <= rank:
            raise ShapeError(f"axis {self.axis} of {rank} dimensions", where="Flatten")
        cut = self.axis + rank if self.axis < 0 else self.axis
        return times(*given[:cut]), times(*given[cut:])


@onnx_operator("Squeeze", by_attribute={"axes": None})
@onnx_operator("Squeeze", since=13)
class Squeeze(IndexChange):
    """Without the named dimensions, or without all of extent 1."""

    def shape(self, given: Sequence[Extent], integers: Sequence[Any] | None = None) -> tuple[Extent, ...]:
        where = f"Squeeze of {shape_text(given)}"
        if integers is None:
            if not are_known(given):
                text = "Squeeze of all dimensions of extent 1, where some are known at run time"
                raise UnsupportedOperation(text, where=where)
            return tuple(extent for extent in given if extent != 1)
        chosen = {normalize_axis(axis, len(given), where) for axis in integers}
        if any(given[axis] != 1 for axis in chosen):
            raise ShapeError(f"axes {sorted(chosen)} have more or less than one element", where=where)
        return tuple(extent for axis, extent in enumerate(given) if axis not in chosen)


@onnx_operator("Unsqueeze", by_attribute={"axes": MISSING})
@onnx_operator("Unsqueeze", since=13)
class Unsqueeze(IndexChange):
    """New dimensions of extent 1 at the places `axes` of the result."""

    def shape(self, given: Sequence[Extent], integers: Sequence[Any] | None = None) -> tuple[Extent, ...]:
        axes = integers or ()
        rank = len(given) + len(axes)
        chosen = {normalize_axis(axis, rank, "Unsqueeze") for axis in axes}
        if len(chosen) < len(axes):
            raise ShapeError(f"axes {tuple(axes)} name a dimension twice", where=f"Unsqueeze of {shape_text(given)}")
        extents = iter(given)
        return tuple(1 if axis in chosen else next(extents) for axis in range(rank))


@onnx_operator("Transpose")
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


@onnx_operator("Expand", since=8)
class Expand:
    """Broadcast against a shape."""

    def reference(self, x: Any, shape: Any) -> Any:
        wanted = check_size(np.asarray(shape).tolist(), "Expand")
        try:
            full = np.broadcast_shapes(x.shape, wanted)
        except ValueError as problem:
            raise ShapeError(f"{x.shape} and {wanted} do not broadcast", where="Expand") from problem
        check_size(full, "Expand")
        return np.array(np.broadcast_to(x, full))

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        """A map that reads dimensions of one element again."""
        wanted = builder.integers(shape)
        full = broadcast_shapes([x.shape, wanted], where="Expand")
        check_size(list(map(least_extent, full)), "Expand")
        return x if full == x.shape else builder.record(broadcast, x, full, kind="broadcast")


@onnx_operator("Tile", since=6)
class Tile:
    """As many along every dimension as an operand says."""

    def reference(self, x: Any, repeats: Any) -> Any:
        counts = np.asarray(repeats).tolist()
        if len(counts) != x.ndim:
            raise ShapeError(f"{len(counts)} repeats of {x.ndim} dimensions", where=f"Tile of {x.shape}")
        check_size([extent * count for extent, count in zip(x.shape, counts, strict=True)], "Tile")
        return np.tile(x, counts)

    def lower(self, builder: Builder, x: Tensor, repeats: Tensor) -> Tensor:
        """A copy whose repetitions are loops."""
        counts = builder.integers(repeats)
        if len(counts) != len(x.shape):
            raise ShapeError(f"{len(counts)} repeats of {len(x.shape)} dimensions", where=f"Tile of {shape_text(x.shape)}")
        whole = known(counts, "Tile by counts")
        shape = [repeated(extent, count, x) for extent, count in zip(x.shape, whole, strict=True)]
        check_size(list(map(least_extent, shape)), "Tile")
        return x if all(count == 1 for count in whole) else builder.record(tile, x, whole, kind="tile")


@onnx_operator("Concat", since=4)
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


@onnx_operator("Split", since=2, by_attribute={"split": None})
@onnx_operator("Split", since=13)
class Split(SchemaAttributes):
    """Parts of extents that an operand gives, or equal ones."""

    num_outputs = None
    """Before opset 18."""

    def reference(self, x: Any, split: Any = None) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "Split")
        sizes = None if split is None else [int(size) for size in split]
        parts = split_sizes(x.shape[axis], sizes, self.num_outputs or self.output_count, f"Split of {x.shape}")
        return tuple(np.split(x, np.cumsum(parts)[:-1], axis=axis))

    def lower(self, builder: Builder, x: Tensor, split: Tensor | None = None) -> tuple[Tensor, ...]:
        """One slice for every part."""
        axis = normalize_axis(self.axis, len(x.shape), "Split")
        (extent,) = known((x.shape[axis],), "Split along extents")
        sizes = None if split is None else known(builder.integers(split), "Split into parts of extents")
        parts = split_sizes(extent, sizes, self.num_outputs or self.output_count, f"Split of {shape_text(x.shape)}")
        ends = np.cumsum(parts).tolist()
        keys = [(slice(None),) * axis + (slice(end - size, end),) for end, size in zip(ends, parts, strict=True)]
        return tuple(builder.slice(x, key) for key in keys)


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


@onnx_operator("Slice", by_attribute={"starts": MISSING, "ends": MISSING, "axes": None})
@onnx_operator("Slice", since=10)
class Slice:
    """Ranges that operands give."""

    def reference(self, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
        return x[_key(x.shape, _list(starts) or [], _list(ends) or [], _list(axes), _list(steps))]

    def lower(
        self, builder: Builder, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
    ) -> Tensor:
        """An index change."""
        given = (None if operand is None else builder.integers(operand) for operand in (axes, steps))
        chosen, walked = (None if each is None else known(each, "Slice along axes, or with steps,") for each in given)
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
