"""Integers of tile programs that are computed as far as they are known."""

from __future__ import annotations

from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation


def less(b: Builder, left: IndexLike, right: IndexLike) -> IndexLike:
    """1 if one is less than another, else 0."""
    ahead = right - left
    return int(ahead > 0) if isinstance(ahead, int) else b.define(IntegerOperation.LESS, left, right)


def smaller(b: Builder, left: IndexLike, right: IndexLike) -> IndexLike:
    """The smaller of two."""
    ahead = right - left
    if isinstance(ahead, int):
        return left if ahead >= 0 else right
    return b.define(IntegerOperation.MINIMUM, left, right)


def larger(b: Builder, left: IndexLike, right: IndexLike) -> IndexLike:
    """The larger of two."""
    ahead = right - left
    if isinstance(ahead, int):
        return right if ahead >= 0 else left
    return b.define(IntegerOperation.MAXIMUM, left, right)


def choose(b: Builder, condition: IndexLike, yes: IndexLike, no: IndexLike) -> IndexLike:
    """One of two, by whether a condition is not 0."""
    if isinstance(condition, int):
        return yes if condition else no
    return b.define(IntegerOperation.CHOOSE, condition, yes, no)


def quotient(b: Builder, value: IndexLike, divisor: int) -> IndexLike:
    """The quotient of what is not negative, rounded down."""
    if isinstance(value, int) or divisor == 1:
        return value // divisor if isinstance(value, int) else value
    return b.define(IntegerOperation.FLOOR_DIVIDE, value, divisor)


def whole(b: Builder, size: IndexLike, step: int) -> IndexLike:
    """The largest multiple of a step that is not above a size."""
    if isinstance(size, int):
        return size - size % step
    return size if step == 1 else size - b.define(IntegerOperation.REMAINDER, size, step)
