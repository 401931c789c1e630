"""What decides whether chains of operators are fused: prices, or whoever calls."""

from __future__ import annotations

from tilewright.errors import TilewrightError


def checked_fusion(fuse: object, where: str) -> bool | None:
    """None lets the prices decide, True fuses whatever can be executed, False nothing. Raises `TilewrightError` for all else.

    >>> checked_fusion(False, "tw.jit")
    False
    """
    if fuse is not None and not isinstance(fuse, bool):
        raise TilewrightError(f"fuse={fuse!r} is no choice", where=where, hint="use True, False or None (by price)")
    return fuse
