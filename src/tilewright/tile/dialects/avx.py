"""AVX without AVX2 or FMA: 256 bits of floats; compilers cut vectors of integers in halves. It does not fuse."""

from __future__ import annotations

from tilewright.tile.dialects import operators, x86
from tilewright.tile.dialects.description import Dialect

TABLE = {
    **operators.table(),
    **dict(x86.float_arithmetic()),
    **dict(x86.roundings()),
    **{key: entry for key, entry in x86.blends() if "pb" not in entry.mnemonic},
    **dict(x86.memory(("float32", "float64"))),
    **dict(x86.conversions(x86.FLOAT_CONVERSIONS)),
    **dict(x86.masked_moves()),
}
DIALECT = Dialect("avx", "x86_64", frozenset({"avx"}), 256, 16, fuses=False, table=TABLE)
