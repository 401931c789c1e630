"""Padding by a constant: a dimension continued, or cut, at its ends.

No index map says where elements lie behind a begin that is known at run time only, so that they are looked up; outside of the
dimension that is its first or its last element, and what is found there is not used.
"""

from __future__ import annotations

from functools import reduce

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.arange import held_positions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.extents import cuts_between, largest_extent, least_extent, plus
from tilewright.graph.index import Index, constant, of_extent
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Load, Scalar, apply, scalar_of
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Access, Extent, Guard, Operator, Tensor

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
        for length in (extent, plus(extent, before, behind)):
            if least_extent(length) < 1:
                raise Undecided(f"padding of {extent} elements").with_cuts(cuts_between(length, 0, "<="))
    elif extent + before + behind < 0:
        raise ShapeError(f"padding ({before}, {behind}) of a dimension of {extent}", where=f"pad of {shape_text(x.shape)}")
    return plus(extent, before, behind)


RunTimePads = tuple[tuple[Extent, Extent], ...]
"""Per dimension: elements before and behind; negative ones are cut off."""


def pad_lengths(builder: Builder, x: Tensor, pads: RunTimePads, value: float) -> Tensor:
    """`x` with `value` around it. Raises `Undecided` for an extent that may be 0, and where nothing may be left.

    >>> from tilewright.graph.extents import SymbolicExtent
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
        for extent in (x.shape[d], plus(x.shape[d], *pads[d])):
            if least_extent(extent) < 1:
                raise Undecided(f"padding of {x.shape[d]} elements").with_cuts(cuts_between(extent, 0, "<="))
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
        inside = reduce(lambda left, right: apply("logical_and", left, right), limits)
        body = apply("where", inside, body, Literal(value))
    return map_of("pad", shape, reads, body, x.dtype, name, result)
