"""Reads at positions that follow from axes and run-time extents: what an index map, whose factors are integers, cannot say.

Merging (s, t) into one dimension reads at p // t and p % t, splitting it at i * t + j, the last row lies at s - 1. Such positions
are computed as integers of 64 bits, stored, and looked up; those that are affine stay in the index map.

That they lie inside of their dimension is for whoever asks to prove; generated code checks lookups once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.extents import Extent, times
from tilewright.graph.index import Index, axis, constant
from tilewright.graph.scalar import AxisValue, Load, Scalar, apply, scalar_of
from tilewright.graph.types import Access, Axis, Operator, Tensor

POSITIONS = "computed_positions"
"""The kind of operators that compute positions: exactly, since who reads them needs them stored."""


@dataclass(frozen=True, slots=True)
class Position:
    """A whole number at every point of some dimensions of the result, as a scalar of `AxisValue("d0")`, ..., by their numbers."""

    value: Scalar
    dimensions: tuple[int, ...]


Place: TypeAlias = Index | Position
"""Where a dimension is read, by the dimensions d0, d1, ... of the result."""


def read_at(record: Callable[..., Tensor], x: Tensor, shape: Sequence[Extent], places: Sequence[Place], kind: str) -> Tensor:
    """The elements of `x` at one place per dimension, for every point of a result of this shape; `record` is a builder's."""
    computed = {d: place for d, place in enumerate(places) if isinstance(place, Position)}
    found = {d: record(positions, shape, place, kind="positions") for d, place in computed.items()}
    return record(_copy, x, tuple(shape), tuple(places), found, kind=kind)


def positions(shape: Sequence[Extent], place: Position, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The positions of a place, of the extents of its dimensions.

    >>> place = Position(apply("mod", AxisValue("d1"), scalar_of(3)), (1,))
    >>> operator, tensor = positions((4, 6), place, name="positions", result="p")
    >>> tensor.shape, [axis.name for axis in operator.axes]
    ((6,), ['d1'])
    """
    axes = tuple(Axis(f"d{d}", shape[d]) for d in place.dimensions)
    write = Access(result, tuple(axis(a.name) for a in axes))
    tensor = Tensor(result, tuple(a.extent for a in axes), "int64")
    return Operator(name, POSITIONS, axes, (), write, place.value, accumulator="int64"), tensor


def _copy(
    x: Tensor, shape: tuple[Extent, ...], places: tuple[Place, ...], found: dict[int, Tensor], *, name: str, result: str
) -> tuple[Operator, Tensor]:
    reads = [
        Access(found[d].name, tuple(axis(f"d{n}") for n in p.dimensions)) for d, p in enumerate(places) if isinstance(p, Position)
    ]
    indices = tuple(place if isinstance(place, Index) else constant(0) for place in places)
    reads.append(Access(x.name, indices, lookups=tuple((d, number) for number, d in enumerate(found))))
    return map_of("copy", shape, reads, Load(len(reads) - 1), x.dtype, name, result)


def linear(dimensions: Sequence[tuple[int, Extent]]) -> Place:
    """The number of a point, counted row by row over dimensions of the result with these extents.

    >>> from tilewright.graph.extents import SymbolicExtent
    >>> s = SymbolicExtent("s", 1, 9, 9)
    >>> str(linear([(0, s), (1, 4)])), linear([(0, 4), (1, s)]).dimensions
    ('4*d0 + d1', (0, 1))
    """
    strides: list[Extent] = [1]
    for _, extent in reversed(dimensions[1:]):
        strides.insert(0, times(strides[0], extent))
    if all(isinstance(stride, int) for stride in strides):
        total = constant(0)
        for (d, extent), stride in zip(dimensions, strides, strict=False):
            total = total + (axis(f"d{d}") * stride if extent != 1 and isinstance(stride, int) else constant(0))
        return total
    value: Scalar | None = None
    for (d, _), stride in zip(dimensions, strides, strict=True):
        term: Scalar = AxisValue(f"d{d}") if stride == 1 else apply("multiply", AxisValue(f"d{d}"), scalar_of(stride))
        value = term if value is None else apply("add", value, term)
    assert value is not None, "a stride is no integer"
    return Position(value, tuple(d for d, _ in dimensions))


def as_position(place: Place) -> Position:
    """A place as a scalar: of an index map without divisions.

    >>> as_position(axis("d2") * 4 + 1).dimensions
    (2,)
    """
    if isinstance(place, Position):
        return place
    value: Scalar = scalar_of(place.constant)
    for atom, coefficient in place.terms:
        assert isinstance(atom, str), f"{place} divides"
        value = apply("add", value, apply("multiply", AxisValue(atom), scalar_of(coefficient)))
    return Position(value, tuple(sorted(int(name[1:]) for name in place.axes())))
