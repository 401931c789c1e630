"""NEON: 128 bits in C's operators, with multiply-adds."""

from __future__ import annotations

from tilewright.tile.dialects import operators
from tilewright.tile.dialects.description import Dialect, Entry
from tilewright.tile.operations import Operation

TABLE = {
    **operators.table(),
    (Operation.FMA, "float32"): Entry("{fma}({0}, {1}, {2})", "fmla", "", 4),
    (Operation.FMA, "float64"): Entry("{fma}({0}, {1}, {2})", "fmla", "", 4),
}
DIALECT = Dialect("neon", "aarch64", frozenset({"asimd"}), 128, 32, table=TABLE)
