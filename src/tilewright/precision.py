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
    """Sums may also be products of sums over a tile of 2 x 2 results, with errors relative to the largest element of the tile.
    NaN and infinities are where sums of single products have them: calls that meet one are computed again as with "strict"."""
    FAST = "fast"
    """Tiles may be larger; NaN and infinities may spread over them."""
    BF16 = "bf16"
    """As "float32", and both operands of matrix products with constant weights are rounded to bfloat16; sums stay float32.
    Denormal numbers in products of bfloat16 may count as zeros, where the machine's instructions for these take them so."""
    TF32 = "tf32"
    """As "float32", and operands of float32 products are rounded to tf32, 10 bits behind the point; sums stay float32.
    Devices with units for such products have it."""

    @property
    def flushes(self) -> bool:
        """Whether denormal numbers may count as zeros, where instructions take them so."""
        return self is Precision.BF16

    def allows(self, needed: Precision) -> bool:
        """Whether something may be used that needs at least this freedom."""
        order = (Precision.STRICT, Precision.FLOAT32, Precision.FAST)
        own = Precision.FLOAT32 if self in (Precision.BF16, Precision.TF32) else self
        return order.index(needed) <= order.index(own)


def checked(precision: object, where: str) -> Precision:
    """The precision of that name. Raises `DTypeError` where there is none.

    >>> checked("fast", "tw.jit")
    <Precision.FAST: 'fast'>
    """
    if not isinstance(precision, str) or precision not in tuple(Precision):
        hint = f"use {', '.join(map(repr, map(str, Precision)))}"
        raise DTypeError(f"precision={precision!r} is not available", where=where, hint=hint)
    return Precision(precision)
