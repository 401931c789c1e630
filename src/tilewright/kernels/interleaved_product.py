"""Vectors of 32-bit lanes in C, whatever they hold."""

from __future__ import annotations

from functools import cache

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import with_instructions

TEXTS = CTexts(__file__)


@cache
def words() -> str:
    """Vectors of 32-bit lanes, whatever they hold and wherever they lie."""
    return with_instructions(TEXTS["words"])
