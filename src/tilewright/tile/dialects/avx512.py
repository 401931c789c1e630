"""AVX-512 F, BW, DQ and VL, as x86-64-v4 has them: 512 bits, 32 registers, mask registers."""

from __future__ import annotations

from tilewright.tile.dialects import avx2, x86
from tilewright.tile.dialects.description import Dialect

FEATURES = avx2.DIALECT.features | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
SIGNS = dict(x86.signs())
"""That there is no instruction of 512 bits for."""
TABLE = {
    **{key: entry for key, entry in avx2.TABLE.items() if not any(name.startswith("mask") for name in key) and key not in SIGNS},
    **dict(x86.integer_arithmetic(64)),
    **dict(x86.shifts(name for name in x86.INTEGERS if not name.endswith("8"))),
    **dict(x86.shifts_by_number((16, 32, 64))),
    **dict(x86.bitwise("d")),
    **dict(x86.roundings("vrndscale")),
    **dict(x86.exponents()),
    **dict(x86.mask_comparisons()),
    **dict(x86.mask_blends()),
    **dict(x86.mask_arithmetic()),
    **dict(x86.narrowings()),
    **dict(x86.conversions(x86.AVX512_CONVERSIONS)),
    **dict(x86.masked_memory()),
    **dict(x86.mask_gathers()),
}
DIALECT = Dialect("avx512", "x86_64", FEATURES, 512, 32, has_mask_registers=True, table=TABLE)
