"""Types of values: vectors of `dtype x lanes`, masks, and register tiles of several rows."""

from __future__ import annotations

from functools import cache

from tilewright.records import record

BITS = {
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "float16": 16,
    "bfloat16": 16,
    "int32": 32,
    "uint32": 32,
    "float32": 32,
    "int64": 64,
    "uint64": 64,
    "float64": 64,
    "mask8": 8,
    "mask16": 16,
    "mask32": 32,
    "mask64": 64,
}
"""Bits of a lane, by NumPy name; masks know the lanes that they are for."""
FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))


@record
class Type:
    """A vector of so many lanes, a scalar (one lane), or a register tile (several rows).

    Vectors may be wider or narrower than a register: `passes/legalise.py` cuts them.

    >>> str(vector("float32", 16)), str(vector("float32", 16).mask), vector("int8", 64).bits
    ('float32x16', 'mask32x16', 8)
    """

    dtype: str
    lanes: int = 1
    rows: int = 1

    def __str__(self) -> str:
        """As printed programs have it."""
        return f"{self.dtype}x{self.lanes}" if self.rows == 1 else f"{self.dtype}x{self.rows}x{self.lanes}"

    @property
    def bits(self) -> int:
        """Of a lane."""
        return BITS[self.dtype]

    @property
    def size_bits(self) -> int:
        """Of a row of lanes."""
        return BITS[self.dtype] * self.lanes

    @property
    def is_float(self) -> bool:
        """Whether lanes are floats."""
        return self.dtype in FLOATS

    @property
    def is_mask(self) -> bool:
        """Whether lanes are true or false."""
        return self.dtype.startswith("mask")

    @property
    def is_signed(self) -> bool:
        """Whether lanes are integers with a sign."""
        return self.dtype.startswith("int")

    def of(self, dtype: str) -> Type:
        """As many lanes of another type."""
        return vector(dtype, self.lanes)

    @property
    def mask(self) -> Type:
        """What a comparison of such values gives."""
        return vector(f"mask{self.bits}", self.lanes)

    @property
    def integer(self) -> Type:
        """Signed integers of as many bits."""
        return vector(f"int{self.bits}", self.lanes)

    @property
    def unsigned(self) -> Type:
        """Unsigned integers of as many bits."""
        return vector(f"uint{self.bits}", self.lanes)

    @property
    def scalar(self) -> Type:
        """One lane."""
        return vector(self.dtype, 1)


@cache
def vector(dtype: str, lanes: int = 1) -> Type:
    """The type of vectors: always the same object."""
    return Type(dtype, lanes)


INDEX = vector("int64")
"""Of positions and sizes."""


def element_type(dtype: str) -> str:
    """The type of lanes that elements are loaded as: truth values and codes of fewer bits are bytes.

    >>> element_type("float16"), element_type("bool"), element_type("int4")
    ('float16', 'uint8', 'uint8')
    """
    return dtype if dtype in BITS else "uint8"
