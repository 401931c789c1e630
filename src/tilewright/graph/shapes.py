"""Shapes with symbolic extents: broadcasting, products, and how they are written in messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from math import isqrt

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.expressions.extents import cuts_between
from tilewright.graph.types import Extent, SymbolicExtent

Shape = tuple[Extent, ...]


def shape_text(shape: Sequence[Extent]) -> str:
    """A shape as Python writes tuples, symbols by name.

    >>> shape_text((12, SymbolicExtent("s", 1, 64, 32)))
    '(12, s)'
    """
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@lru_cache(maxsize=64)
def divisors_of(number: int) -> tuple[int, ...]:
    """The divisors of a positive number, smallest first.

    >>> divisors_of(12)
    (1, 2, 3, 4, 6, 12)
    """
    small = [count for count in range(1, isqrt(number) + 1) if number % count == 0]
    return (*small, *(number // count for count in reversed(small) if count * count < number))


def broadcast_extents(extents: Sequence[Extent]) -> Extent | None:
    """The common extent under broadcasting (1 gives way to any other), None if there is none."""
    distinct = set(extents) - {1}
    if len(distinct) > 1:
        return None
    return distinct.pop() if distinct else 1


def broadcast_shapes(shapes: Sequence[Shape], where: str = "") -> Shape:
    """The shape that all shapes broadcast to, aligned at the last dimension; `ShapeError` if there is none.

    >>> broadcast_shapes([(4, 1), (3,)])
    (4, 3)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Extent] = []
    for dimension in range(-rank, 0):
        extents = [shape[dimension] for shape in shapes if -dimension <= len(shape)]
        extent = broadcast_extents(extents)
        if extent is None:
            raise unequal(extents)(
                f"shapes {' and '.join(map(shape_text, shapes))} do not broadcast",
                where=where,
                why=f"dimension {dimension} has extents {', '.join(map(str, extents))}",
                hint="extents must be equal or 1; insert or expand dimensions with reshape",
            )
        result.append(extent)
    return tuple(result)


def unequal(*kept: Sequence[Extent]) -> Callable[..., ShapeError]:
    """The error of dimensions whose extents are not equal: of another kind where they are for some values."""
    pairs = tuple(pair for extents in kept for pair in combinations(dict.fromkeys(extents), 2))
    if any(not symbols_of(pair) for pair in pairs):
        return ShapeError
    cuts = tuple(cut for pair in pairs for cut in cuts_between(*pair))
    return lambda message, **details: Undecided(message, **details).with_cuts(cuts).with_equal(pairs)


def normalize_axis(axis: int, rank: int, where: str = "") -> int:
    """A dimension number in 0..rank-1; negative ones count from the end; `ShapeError` if there is no such dimension."""
    if not -rank <= axis < rank:
        raise ShapeError(
            f"axis {axis} does not exist in an array with {rank} dimension{'s' if rank != 1 else ''}",
            where=where,
            hint=f"choose from {-rank}..{rank - 1}" if rank else "a 0-d array has no axes",
        )
    return axis % rank


def normalize_axes(axes: int | Sequence[int] | None, rank: int, where: str = "") -> tuple[int, ...]:
    """Dimension numbers in increasing order; None means all of them."""
    if axes is None:
        return tuple(range(rank))
    chosen = [normalize_axis(axis, rank, where) for axis in ([axes] if isinstance(axes, int) else axes)]
    if len(set(chosen)) != len(chosen):
        raise ShapeError(f"axis {axes} names a dimension twice", where=where)
    return tuple(sorted(chosen))


def symbols_of(shape: Sequence[Extent]) -> tuple[SymbolicExtent, ...]:
    """The symbolic extents of a shape, in order."""
    return tuple(extent for extent in shape if isinstance(extent, SymbolicExtent))


def are_known(extents: Sequence[Extent]) -> bool:
    """Whether no extent is symbolic."""
    return not symbols_of(tuple(extents))
