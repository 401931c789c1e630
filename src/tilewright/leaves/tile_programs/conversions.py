"""Elements in memory as lanes of the type that is computed in, and lanes as elements.

Floats become integers by cutting off their fraction. What an integer type does not hold becomes what the conversion instruction
gives: the smallest int32 or int64, of which shorter types, and uint32, keep the low bits. Halves are rounded to the nearest, ties
to even. For numbers of fewer bits see `short_types`.
"""

from __future__ import annotations

from tilewright.graph.exactness import SHORT_TYPES
from tilewright.leaves.tile_programs import short_types
from tilewright.tile.builder import Builder
from tilewright.tile.program import Value
from tilewright.tile.types import vector

BOOL_BITS = 8
LOWEST_UINT64 = 2.0**63
"""Of the numbers that int64 lacks."""


def loaded(b: Builder, elements: Value, dtype: str, computed: str) -> Value:
    """Elements of a type as lanes of another."""
    return converted(b, short_types.decoded(b, elements, dtype) if dtype in SHORT_TYPES else elements, computed)


def stored(b: Builder, value: Value, dtype: str) -> Value:
    """Lanes as elements of a type; of a mask 1 or 0."""
    if dtype == "bool":
        mask = mask_of(b, value if value.type.is_mask else value.differs(0), BOOL_BITS)
        return b.select(mask, b.constant(1, vector("uint8", mask.type.lanes)), 0)
    if value.type.is_mask:
        return stored(b, b.select(value, b.constant(1, value.type.integer), 0), dtype)
    if dtype in SHORT_TYPES:
        return short_types.encoded(b, b.cast(value, "float32"), dtype)
    return converted(b, value, dtype)


def converted(b: Builder, value: Value, dtype: str) -> Value:
    """Numbers as numbers of another type."""
    if value.type.is_float and dtype == "uint64":
        return large_integers(b, b.cast(value, "float32") if value.type.dtype in HALVES else value)
    return b.cast(value, dtype)


HALVES = ("float16", "bfloat16")


def large_integers(b: Builder, value: Value) -> Value:
    """Floats as uint64, toward zero: below 2^63 those of int64, of what is too large 0."""
    upper = b.cast(b.cast(value - LOWEST_UINT64, "int64"), "uint64") ^ (1 << 63)
    is_large, fits = value >= LOWEST_UINT64, value < 2 * LOWEST_UINT64
    low = b.cast(b.cast(value, "int64"), "uint64")
    wide = upper.type.mask
    return b.select(mask_of(b, is_large, wide.bits), b.select(mask_of(b, fits, wide.bits), upper, 0), low)


def mask_of(b: Builder, mask: Value, bits: int) -> Value:
    """A mask for lanes of other sizes."""
    return b.cast(mask, f"mask{bits}")
