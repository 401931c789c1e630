"""Precision: how far results may be from those of the operators as they are written."""

from __future__ import annotations

from enum import StrEnum

from tilewright.errors import DTypeError


class Precision(StrEnum):
    """What errors algorithms may have, from the least to the most.

    >>> Precision.FLOAT32.allows(Precision.STRICT), Precision.FLOAT32.allows(Precision.FAST)
    (True, False)
    """

    STRICT = "strict"
    """Every sum is one of the products that the operator names, in any order."""
    FLOAT32 = "float32"
    """Other sums are allowed whose errors stay within a stated multiple of the bound above, and which put NaN and infinities in
    the same places."""
    FAST = "fast"
    """Errors may be those of an image's tile: relative to its largest element; NaN and infinities may spread over the tile."""

    def allows(self, needed: Precision) -> bool:
        """Whether something may be used that needs at least this freedom."""
        order = tuple(Precision)
        return order.index(needed) <= order.index(self)


def checked(precision: object, where: str) -> Precision:
    """The precision of that name. Raises `DTypeError` where there is none.

    >>> checked("fast", "tw.jit")
    <Precision.FAST: 'fast'>
    """
    if not isinstance(precision, str) or precision not in tuple(Precision):
        hint = f"use {', '.join(map(repr, map(str, Precision)))}"
        raise DTypeError(f"precision={precision!r} is not available", where=where, hint=hint)
    return Precision(precision)
