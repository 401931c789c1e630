"""Padding and concatenation: tensors that are larger than those they read.

Padding continues a dimension by a constant, or cuts it, at its ends. No index map says where elements lie behind a begin that is
known at run time only, so that they are looked up; outside of the dimension that is its first or its last element, and what is
found there is not used.

Concatenation is one map: every operand is read where its part of the result lies, behind a guard. Generated code walks the
parts one after the other. Where parts have extents that are known at run time, as a cache and its new rows, the begin of a part
is no constant, so that every part is looked up at the position behind its begin; outside of a part that is its first or its last
position, and what is found there is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from tilewright.errors import DTypeError, ShapeError, Undecided, UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import held_positions, map_of, points
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.dimensions import cuts_above
from tilewright.graph.expressions.extents import cuts_between, largest_extent, least_extent, plus
from tilewright.graph.expressions.index import Index, constant, of_extent
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, fold, scalar_of
from tilewright.graph.shapes import are_known, normalize_axis, shape_text, symbols_of, unequal
from tilewright.graph.types import Access, Extent, Guard, Operator, Tensor, planned_extent

Pads = tuple[tuple[int, int], ...]
"""Per dimension: elements before and behind; negative ones are cut off."""


def pad(x: Tensor, pads: Pads, value: float, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x` with `value` around it; an extent known at run time is at least 1, and so is what is left of it.

    >>> operator, tensor = pad(Tensor("x", (4, 5)), ((1, 1), (0, -2)), 0.0, name="pad", result="y")
    >>> tensor.shape, [str(constraint) for constraint in operator.reads[0].guard.constraints]
    ((6, 3), ['d0 + -1', '-1*d0 + 4'])
    """
    shape = tuple(_padded(extent, *pad, x) for extent, pad in zip(x.shape, pads, strict=True))
    indices = tuple(index - before for index, (before, _) in zip(points(len(shape)), pads, strict=True))
    limits: list[Index] = []
    for index, extent, (before, behind) in zip(indices, x.shape, pads, strict=True):
        limits += [index] if before > 0 else []
        limits += [of_extent(extent) - 1 - index] if behind > 0 else []
    read = Access(x.name, indices, Guard(tuple(limits), value) if limits else None)
    return map_of("pad", shape, [read], Load(0), x.dtype, name, result)


def _padded(extent: Extent, before: int, behind: int, x: Tensor) -> Extent:
    if before == behind == 0:
        return extent
    if not isinstance(extent, int):
        _check_left(extent, before, behind)
    elif extent + before + behind < 0:
        raise ShapeError(f"padding ({before}, {behind}) of a dimension of {extent}", where=f"pad of {shape_text(x.shape)}")
    return plus(extent, before, behind)


def _check_left(extent: Extent, before: Extent, behind: Extent) -> None:
    """Raises `Undecided` for a dimension that may be 0, and where nothing may be left of it."""
    for length in (extent, plus(extent, before, behind)):
        if least_extent(length) < 1:
            raise Undecided(f"padding of {extent} elements").with_cuts(cuts_between(length, 0, "<="))


RunTimePads = tuple[tuple[Extent, Extent], ...]
"""Per dimension: elements before and behind; negative ones are cut off."""


def pad_lengths(builder: Builder, x: Tensor, pads: RunTimePads, value: float) -> Tensor:
    """`x` with `value` around it. Raises `Undecided` for an extent that may be 0, and where nothing may be left.

    >>> from tilewright.graph.expressions.extents import SymbolicExtent
    >>> s = SymbolicExtent("s", 1, 64, 32)
    >>> builder = Builder("f")
    >>> [str(extent) for extent in pad_lengths(builder, builder.input("x", (2, s), "float32"), ((1, 0), (1, 2)), 0.0).shape]
    ['3', 's + 3']
    """
    dynamic = tuple(d for d, sides in enumerate(pads) if not are_known(sides))
    fixed = tuple((0, 0) if d in dynamic else pair for d, pair in enumerate(pads))
    x = builder.record(pad, x, fixed, value, kind="pad") if any(pair != (0, 0) for pair in fixed) else x
    if not dynamic:
        return x
    for d in dynamic:
        _check_left(x.shape[d], *pads[d])
    padded = [(plus(x.shape[d], *pads[d]), pads[d][0], x.shape[d]) for d in dynamic]
    positions = [builder.record(held_positions, *along, kind="positions") for along in padded]
    return builder.record(_looked_up, x, positions, dynamic, pads, value, kind="pad")


def _looked_up(
    x: Tensor, positions: list[Tensor], dynamic: tuple[int, ...], pads: RunTimePads, value: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    shape = tuple(plus(extent, *pads[d]) if d in dynamic else extent for d, extent in enumerate(x.shape))
    reads = [Access(tensor.name, (axis_index(f"d{d}"),)) for d, tensor in zip(dynamic, positions, strict=True)]
    found = tuple(constant(0) if d in dynamic else axis_index(f"d{d}") for d in range(len(shape)))
    reads.append(Access(x.name, found, lookups=tuple((d, number) for number, d in enumerate(dynamic))))
    limits: list[Scalar] = []
    for d in dynamic:
        before, behind = pads[d]
        limits += [apply("greater_equal", AxisValue(f"d{d}"), scalar_of(before))] if largest_extent(before) > 0 else []
        limits += [apply("less", AxisValue(f"d{d}"), scalar_of(plus(x.shape[d], before)))] if largest_extent(behind) > 0 else []
    body: Scalar = Load(len(dynamic))
    if limits:
        body = apply("where", fold("logical_and", limits), body, Literal(value))
    return map_of("pad", shape, reads, body, x.dtype, name, result)


MOST_PARTS = 64
"""Of one map: each is a condition more in its body, one inside the other, and a piece more of its loops."""


def in_few_parts(parts: Sequence[Tensor], join: Callable[[Sequence[Tensor]], Tensor]) -> Tensor:
    """What `join` makes of the parts; of more than `MOST_PARTS`, of what it makes of some of them that are neighbours."""
    while len(parts) > MOST_PARTS:
        parts = [_one(parts[first : first + MOST_PARTS], join) for first in range(0, len(parts), MOST_PARTS)]
    return _one(parts, join)


def _one(parts: Sequence[Tensor], join: Callable[[Sequence[Tensor]], Tensor]) -> Tensor:
    return join(parts) if len(parts) > 1 else parts[0]


def concatenated(builder: Builder, parts: Sequence[Tensor], axis: int) -> Tensor:
    """The parts, of which there is one at least, behind each other along `axis`. Raises as `concatenate`."""
    return in_few_parts(parts, lambda some: builder.record(concatenate, some, axis, kind="concat"))


def concatenate(parts: Sequence[Tensor], axis: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The parts behind each other along `axis`, where their extents are integers; the others are equal.

    >>> operator, tensor = concatenate([Tensor("a", (2, 3)), Tensor("b", (2, 4))], 1, name="concat", result="y")
    >>> tensor.shape, str(operator.reads[1].indices[1])
    ((2, 7), 'd1 + -3')
    """
    chosen, lengths = _checked(parts, axis)
    shape = tuple(sum(lengths) if d == chosen else extent for d, extent in enumerate(parts[0].shape))
    axis_indices, along = points(len(shape)), axis_index(f"d{chosen}")
    ends = [sum(lengths[: number + 1]) for number in range(len(parts))]
    reads = []
    for part, end, length in zip(parts, ends, lengths, strict=True):
        limits = [along - (end - length)] if end > length else []
        limits += [constant(end - 1) - along] if end < ends[-1] else []
        indices = tuple(along - (end - length) if d == chosen else index for d, index in enumerate(axis_indices))
        reads.append(Access(part.name, indices, Guard(tuple(limits), 0.0) if limits else None))
    return map_of("concat", shape, reads, _first_within(f"d{chosen}", ends), parts[0].dtype, name, result)


def _first_within(axis: str, ends: Sequence[Extent], first: int = 0) -> Scalar:
    """The read of the first part that ends behind the position along an axis; `first` is the number of the first part's."""
    body: Scalar = Load(first + len(ends) - 1)
    for number in reversed(range(len(ends) - 1)):
        body = apply("where", apply("less", AxisValue(axis), scalar_of(ends[number])), Load(first + number), body)
    return body


def check_alike(parts: Sequence[Tensor], axis: int) -> int:
    """The dimension. Raises `ShapeError` or `DTypeError` where parts do not fit each other, `Undecided` where some values fit."""
    where = f"concatenation of {', '.join(shape_text(part.shape) for part in parts)}"
    if not parts or len({len(part.shape) for part in parts}) > 1:
        raise ShapeError("the ranks of the parts differ", where=where)
    chosen = normalize_axis(axis, len(parts[0].shape), where)
    kept = [tuple(dict.fromkeys(part.shape[d] for part in parts)) for d in range(len(parts[0].shape)) if d != chosen]
    if any(len(extents) > 1 for extents in kept):
        raise unequal(*kept)(f"the parts differ in other dimensions than {chosen}", where=where)
    if len({part.dtype for part in parts}) > 1:
        raise DTypeError(f"parts of types {', '.join(part.dtype for part in parts)}", where=where)
    return chosen


def _checked(parts: Sequence[Tensor], axis: int) -> tuple[int, list[int]]:
    """The dimension, and the extent of every part along it."""
    chosen = check_alike(parts, axis)
    where = f"concatenation of {', '.join(shape_text(part.shape) for part in parts)}"
    unknown = symbols_of([part.shape[chosen] for part in parts])
    if unknown:
        raise UnsupportedOperation(f"{unknown[0]}, which is known at run time, along the axis of a concatenation", where=where)
    lengths = [planned_extent(part.shape[chosen]) for part in parts]
    if sum(lengths) > LARGEST_WHOLE and len(parts) > 1:
        raise UnsupportedOperation(f"a concatenation of {sum(lengths)} positions", where=where)
    return chosen, lengths


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
    positions = [builder.record(held_positions, ends[-1], begin, part.shape[axis], kind="positions") for begin, part in begins]
    return builder.record(_joined, parts, positions, ends, axis, kind="concat")


def _joined(
    parts: Sequence[Tensor], positions: Sequence[Tensor], ends: Sequence[Extent], axis: int, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    shape = tuple(ends[-1] if d == axis else extent for d, extent in enumerate(parts[0].shape))
    axis_indices = points(len(shape))
    found = tuple(constant(0) if d == axis else index for d, index in enumerate(axis_indices))
    reads = [Access(position.name, (axis_indices[axis],)) for position in positions]
    reads += [Access(part.name, found, lookups=((axis, number),)) for number, part in enumerate(parts)]
    return map_of("concat", shape, reads, _first_within(f"d{axis}", ends, len(parts)), parts[0].dtype, name, result)
