"""Basic indexing: integers, slices with any step, new dimensions and the ellipsis, as index maps."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.graph.builders.reshape import Place, Position, as_position
from tilewright.graph.expressions.extents import (
    SymbolicExtent,
    ceil_quotient,
    cuts_between,
    is_less,
    largest_extent,
    least_extent,
    maximum,
    minimum,
    minus,
    plus,
)
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import apply, scalar_of
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor

Key: TypeAlias = int | SymbolicExtent | slice | EllipsisType | None


def places(x: Tensor, key: tuple[Key, ...]) -> tuple[tuple[Extent, ...], list[Place]]:
    """The shape of `x[key]` of NumPy's basic indexing, and where every dimension of `x` is read, by the dimensions of the result.

    Raises `ShapeError` for an index out of range or too many of them, `UnsupportedOperation` for indexing by arrays, and
    `Undecided` where that depends on dimensions.

    >>> shape, found = places(Tensor("x", (10, 4)), (slice(8, 2, -2), 1))
    >>> shape, list(map(str, found))
    ((3,), ['-2*d0 + 8', '1'])
    >>> s = SymbolicExtent("s", 2, 9, 9)
    >>> shape, (rows, column) = places(Tensor("x", (s, 4)), (slice(1, None), -1))
    >>> shape_text(shape), str(rows), str(column)
    ('(s - 1,)', 'd0 + 1', '3')
    """
    found: list[Place] = []
    shape: list[Extent] = []
    for part in _complete(key, x):
        if part is None:
            shape.append(1)
        elif isinstance(part, slice):
            start, step, extent = range_of_slice(part, x.shape[len(found)])
            found.append(walked(len(shape), start, step))
            shape.append(extent)
        else:
            position = _position(part, x.shape[len(found)], x)
            found.append(constant(position) if isinstance(position, int) else Position(scalar_of(position), ()))
    return tuple(shape), found


def walked(dimension: int, start: Extent, step: int) -> Place:
    """`start + step * i` along a dimension of the result."""
    along = axis(f"d{dimension}") * step
    if isinstance(start, int):
        return along + start
    return Position(apply("add", as_position(along).value, scalar_of(start)), (dimension,))


def _complete(key: tuple[Key, ...], x: Tensor) -> tuple[Extent | slice | None, ...]:
    for part in key:
        if isinstance(part, bool) or not isinstance(part, slice | int | np.integer | SymbolicExtent | EllipsisType | None):
            raise UnsupportedOperation(
                f"indexing by a {type(part).__name__}",
                why="only integers, slices, None and ... give an index map",
                hint="use where() with a condition, or einsum with a one-hot matrix",
            )
    used = sum(part is not None and part is not Ellipsis for part in key)
    spare = len(x.shape) - used
    if spare < 0 or sum(part is Ellipsis for part in key) > 1:
        raise ShapeError(f"too many indices for shape {shape_text(x.shape)}", where="slice", why=f"{used} were given")
    position = next((i for i, part in enumerate(key) if part is Ellipsis), len(key))
    full = [*key[:position], *([slice(None)] * spare), *key[position + 1 :]]
    return tuple(int(part) if isinstance(part, np.integer) else part for part in full if part is not Ellipsis)


def range_of_slice(part: slice, extent: Extent) -> tuple[Extent, int, Extent]:
    """Start, step and number of positions, as `slice.indices` says for integers: ends are held to the dimension."""
    if isinstance(extent, int) and not any(isinstance(end, SymbolicExtent) for end in (part.start, part.stop)):
        whole = range(*part.indices(extent))
        return (whole.start, whole.step, len(whole)) if whole else (0, 1, 0)
    step = 1 if part.step is None else operator.index(part.step)
    if step == 0:
        raise ShapeError("a slice with steps of 0", where="slice")
    least, most = (0, extent) if step > 0 else (-1, plus(extent, -1))
    ends: tuple[Extent, Extent] = (least, most) if step > 0 else (most, least)
    start = ends[0] if part.start is None else _held(part.start, extent, least, most)
    stop = ends[1] if part.stop is None else _held(part.stop, extent, least, most)
    ahead = minus(stop, start) if step > 0 else minus(start, stop)
    return start, step, ceil_quotient(maximum(ahead, 0), abs(step))


def _held(end: Extent, extent: Extent, least: Extent, most: Extent) -> Extent:
    """An end of a slice inside of a dimension; a negative one counts from behind its last element."""
    return minimum(maximum(from_front(end, extent), least), most)


def from_front(position: Extent, extent: Extent) -> Extent:
    """A position that may count from the end. Raises `Undecided` where its sign depends on dimensions."""
    if least_extent(position) >= 0:
        return position
    if largest_extent(position) < 0:
        return plus(position, extent)
    raise Undecided(f"whether {position} counts from the end", where="slice").with_cuts(cuts_between(position, 0, "<"))


def _position(part: Extent, extent: Extent, x: Tensor) -> Extent:
    """The position of an element, from the front. Raises `ShapeError` or `Undecided` outside of the dimension."""
    position = from_front(part, extent)
    if least_extent(position) >= 0 and is_less(position, extent):
        return position
    text = f"index {part} is outside a dimension of extent {extent}"
    if largest_extent(position) < 0 or least_extent(minus(position, extent)) >= 0:
        raise ShapeError(text, where="slice", why=f"of shape {shape_text(x.shape)}")
    cuts = (*cuts_between(position, 0, "<"), *cuts_between(position, extent, "<"))
    why = f"{extent} is known at run time and at least {least_extent(extent)}"
    raise Undecided(f"index {part} may be outside shape {shape_text(x.shape)}", where="slice", why=why).with_cuts(cuts)
