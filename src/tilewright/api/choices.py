"""Options of which a caller chooses one value, or none."""

from __future__ import annotations

from tilewright.errors import TilewrightError


def checked_choice(name: str, choice: object, where: str, decides: str) -> bool | None:
    """An option of True, False, or None, with which something else decides. Raises `TilewrightError` for all else.

    >>> checked_choice("fuse", False, "tw.jit", "price")
    False
    """
    if choice is not None and not isinstance(choice, bool):
        raise TilewrightError(f"{name}={choice!r} is no choice", where=where, hint=f"use True, False or None (by {decides})")
    return choice
