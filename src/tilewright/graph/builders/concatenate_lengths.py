"""Concatenation of parts whose extents are known at run time: a cache and its new rows.

Where a part begins is no constant then, so that every part is looked up at the position behind its begin; outside of a part that
is its first or its last position, and what is found there is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.errors import Undecided
from tilewright.graph.builders.arange import arange
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import check_alike, in_few_parts
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.dimensions import cuts_above
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.extents import largest_extent, plus
from tilewright.graph.index import constant
from tilewright.graph.scalar import AxisValue, Literal, Load, Scalar, apply, scalar_of
from tilewright.graph.types import Access, Extent, Operator, Tensor


def concatenate_lengths(builder: Builder, parts: Sequence[Tensor], axis: int) -> Tensor:
    """The parts behind each other along `axis`. Raises `Undecided` where they may be more than bodies can compare."""
    check_alike(parts, axis)
    present = [part for part in parts if part.shape[axis] != 0]
    return in_few_parts(present, lambda some: _joined_in_one(builder, some, axis))


def _joined_in_one(builder: Builder, parts: Sequence[Tensor], axis: int) -> Tensor:
    ends = list(accumulate((part.shape[axis] for part in parts), plus))
    if largest_extent(ends[-1]) > LARGEST_WHOLE:
        raise Undecided(f"a concatenation of {ends[-1]} positions").with_cuts(cuts_above(ends[-1], LARGEST_WHOLE))
    begins = zip((0, *ends[:-1]), parts, strict=True)
    positions = [builder.record(_positions, ends[-1], begin, part.shape[axis], kind="positions") for begin, part in begins]
    return builder.record(_joined, parts, positions, ends, axis, kind="concat")


def _positions(extent: Extent, begin: Extent, length: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where the positions of the result lie in a part of `length` positions that begins there."""
    operator, tensor = arange(extent, 0, 1, "int64", name=name, result=result)
    ahead = apply("subtract", operator.body, scalar_of(begin)) if begin != 0 else operator.body
    last = apply("subtract", scalar_of(length), Literal(1.0))
    body = apply("maximum", apply("minimum", ahead, last), Literal(0.0))
    return Operator(name, "positions", operator.axes, (), operator.write, body, accumulator="int64"), tensor


def _joined(
    parts: Sequence[Tensor], positions: Sequence[Tensor], ends: Sequence[Extent], axis: int, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    shape = tuple(ends[-1] if d == axis else extent for d, extent in enumerate(parts[0].shape))
    axis_indices = points(len(shape))
    found = tuple(constant(0) if d == axis else index for d, index in enumerate(axis_indices))
    reads = [Access(position.name, (axis_indices[axis],)) for position in positions]
    reads += [Access(part.name, found, lookups=((axis, number),)) for number, part in enumerate(parts)]
    body: Scalar = Load(len(reads) - 1)
    for number in reversed(range(len(parts) - 1)):
        within = apply("less", AxisValue(f"d{axis}"), scalar_of(ends[number]))
        body = apply("where", within, Load(len(parts) + number), body)
    return map_of("concat", shape, reads, body, parts[0].dtype, name, result)
