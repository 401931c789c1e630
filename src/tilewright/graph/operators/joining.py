"""Concat and Split of ONNX.

A concatenation is one map: every operand is read where its part of the result lies, behind a guard; generated code walks the
parts one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.operators.joining_lengths import concatenate_lengths
from tilewright.graph.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, SymbolicExtent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

"""Positions up to here are exact in float32, in which bodies may compare them."""


def concatenate(parts: Sequence[Tensor], axis: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The parts behind each other along `axis`, where their extents are integers; the others are equal.

    >>> operator, tensor = concatenate([Tensor("a", (2, 3)), Tensor("b", (2, 4))], 1, name="concat", result="y")
    >>> tensor.shape, str(operator.reads[1].indices[1])
    ((2, 7), 'd1 + -3')
    """
    chosen, lengths = _checked(parts, axis)
    shape = tuple(sum(lengths) if d == chosen else extent for d, extent in enumerate(parts[0].shape))
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    own, along = [axis_index(a.name) for a in axes], axis_index(f"d{chosen}")
    ends = [sum(lengths[: number + 1]) for number in range(len(parts))]
    reads = []
    for part, end, length in zip(parts, ends, lengths, strict=True):
        limits = [along - (end - length)] if end > length else []
        limits += [constant(end - 1) - along] if end < ends[-1] else []
        indices = tuple(along - (end - length) if d == chosen else index for d, index in enumerate(own))
        reads.append(Access(part.name, indices, Guard(tuple(limits), 0.0) if limits else None))
    write = Access(result, tuple(own))
    body = _first_within(f"d{chosen}", ends)
    operator = Operator(name, "concat", axes, tuple(reads), write, body, accumulator=accumulator_of(parts[0].dtype))
    return operator, Tensor(result, shape, parts[0].dtype)


def _first_within(axis: str, ends: Sequence[int]) -> Scalar:
    """The read of the first part that ends behind the position along an axis."""
    body: Scalar = Load(len(ends) - 1)
    for number in reversed(range(len(ends) - 1)):
        body = apply("where", apply("less", AxisValue(axis), Literal(float(ends[number]))), Load(number), body)
    return body


def _checked(parts: Sequence[Tensor], axis: int) -> tuple[int, list[int]]:
    """The dimension, and the extent of every part along it."""
    where = f"concatenation of {', '.join(shape_text(part.shape) for part in parts)}"
    if not parts or len({len(part.shape) for part in parts}) > 1:
        raise ShapeError("the ranks of the parts differ", where=where)
    chosen = normalize_axis(axis, len(parts[0].shape), where)
    others = {tuple(extent for d, extent in enumerate(part.shape) if d != chosen) for part in parts}
    if len(others) > 1:
        raise ShapeError(f"the parts differ in other dimensions than {chosen}", where=where)
    if len({part.dtype for part in parts}) > 1:
        raise DTypeError(f"parts of types {', '.join(part.dtype for part in parts)}", where=where)
    lengths: list[int] = []
    for part in parts:
        extent: Extent = part.shape[chosen]
        if not isinstance(extent, int):
            raise UnsupportedOperation(f"{extent}, which is known at run time, along the axis of a concatenation", where=where)
        lengths.append(extent)
    if sum(lengths) > LARGEST_WHOLE and len(parts) > 1:
        raise UnsupportedOperation(f"a concatenation of {sum(lengths)} positions", where=where)
    return chosen, lengths


def concat_meaning(*parts: Any, axis: int) -> Any:
    """The same by NumPy."""
    if len({part.ndim for part in parts}) > 1:
        raise ShapeError("the ranks of the parts differ", where=f"Concat of {[part.shape for part in parts]}")
    return np.concatenate(parts, axis=normalize_axis(axis, parts[0].ndim, "Concat"))


def concat_lower(builder: Builder, *parts: Tensor, axis: int) -> Tensor:
    """One map with guarded reads of what has elements; pairs of groups where there are many parts."""
    rank = len(parts[0].shape) if parts else 0
    chosen = normalize_axis(axis, rank, "Concat")
    present = [part for part in parts if part.shape[chosen] != 0] or list(parts[:1])
    if len(present) == 1:
        return present[0]
    if any(isinstance(part.shape[chosen], SymbolicExtent) for part in present):
        return concatenate_lengths(builder, present, chosen)
    return builder.record(concatenate, present, chosen, kind="concat")


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


def split_meaning(x: Any, split: Any = None, *, axis: int = 0, num_outputs: int = 0, output_count: int = 0) -> Any:
    """Parts along an axis, of given extents, or equal ones."""
    axis = normalize_axis(axis, x.ndim, "Split")
    sizes = None if split is None else [int(size) for size in split]
    parts = split_sizes(x.shape[axis], sizes, num_outputs or output_count, f"Split of {x.shape}")
    return tuple(np.split(x, np.cumsum(parts)[:-1], axis=axis))


def split_lower(
    builder: Builder, x: Tensor, split: Any = None, *, axis: int = 0, num_outputs: int = 0, output_count: int = 0
) -> tuple[Tensor, ...]:
    """One slice for every part."""
    axis = normalize_axis(axis, len(x.shape), "Split")
    extent = x.shape[axis]
    if not isinstance(extent, int):
        raise UnsupportedOperation(f"Split along {extent}, which is known at run time")
    given = builder.integers(split) if isinstance(split, Tensor) else split
    sizes = None if given is None else [size for size in given if isinstance(size, int)]
    if given is not None and sizes is not None and len(sizes) < len(given):
        raise UnsupportedOperation("Split into parts whose extents are known at run time")
    parts = split_sizes(extent, sizes, num_outputs or output_count, f"Split of {shape_text(x.shape)}")
    ends = np.cumsum(parts).tolist()
    keys = [(slice(None),) * axis + (slice(end - size, end),) for end, size in zip(ends, parts, strict=True)]
    return tuple(builder.slice(x, key) for key in keys)


def _split_attribute_meaning(x: Any, *, axis: int = 0, split: Any = None, output_count: int = 0) -> Any:
    """Parts along an axis, of extents that an attribute gives, or equal ones."""
    return split_meaning(x, split, axis=axis, output_count=output_count)


def _split_attribute_lower(
    builder: Builder, x: Tensor, *, axis: int = 0, split: Any = None, output_count: int = 0
) -> tuple[Tensor, ...]:
    return split_lower(builder, x, split, axis=axis, output_count=output_count)


define("Concat", concat_meaning, concat_lower, since=4)
define("Split", _split_attribute_meaning, _split_attribute_lower, since=2)
define("Split", split_meaning, split_lower, since=13)
