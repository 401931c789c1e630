"""The portable dialect: 128 bits in C's operators alone, for SSE2, NEON, VSX and whatever else compilers know.

It does not fuse, but where it is compiled for aarch64 or POWER, which have no other dialect.
"""

from __future__ import annotations

from tilewright.tile.dialects import operators
from tilewright.tile.dialects.description import Dialect, Entry
from tilewright.tile.operations import Operation

TABLE = {
    **operators.table(),
    (Operation.MULTIPLY_ADD, "float32"): Entry("{fma}({0}, {1}, {2})", ""),
    (Operation.MULTIPLY_ADD, "float64"): Entry("{fma}({0}, {1}, {2})", ""),
    ("pair sums", "int16"): Entry("pair_sums", ""),
}
DIALECT = Dialect("portable", "any", frozenset(), 128, 16, fuses=False, table=TABLE)
