"""AVX2 with FMA and F16C, as x86-64-v3 has them: 256 bits, 16 registers, masks as vectors."""

from __future__ import annotations

from tilewright.tile.dialects import avx, x86
from tilewright.tile.dialects.description import Dialect

TABLE = {
    **avx.TABLE,
    **dict(x86.fused()),
    **dict(x86.integer_arithmetic()),
    **dict(x86.signs()),
    **dict(x86.bitwise()),
    **dict(x86.shifts_by_number()),
    **dict(x86.shifts(("int32", "uint32", "uint64"))),
    **dict(x86.blends()),
    **dict(x86.vector_comparisons()),
    **dict(x86.widenings()),
    **dict(x86.conversions(x86.HALF_CONVERSIONS)),
    **dict(x86.memory(x86.BYTES)),
    **dict(x86.gathers()),
}
DIALECT = Dialect("avx2", "x86_64", frozenset({"avx2", "fma", "f16c"}), 256, 16, table=TABLE)
