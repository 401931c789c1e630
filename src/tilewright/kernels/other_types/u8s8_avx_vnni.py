"""u8 x s8 -> s32 matrix kernels for AVX-VNNI: the instruction of AVX-512 VNNI in vectors of 256 bits, encoded without AVX-512.

Cores without AVX-512 have it (Intel's from Alder Lake on). Its encoding knows 16 registers:
a tile of 4 x 24 would leave none for the mask of a last vector in part.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT
from tilewright.kernels.interleaved_product import interleaved_product_kernel
from tilewright.kernels.other_types.u8s8_vnni import TEXT, VNNI

PREFIX = "u8s8avxvnni"
CHANGES = {
    "u8s8vnni": PREFIX,
    "__AVX512VNNI__": "__AVXVNNI__",
    "v16si": "v8si",
    '"vpdpbusd': '"%{vex%} vpdpbusd',
    '"+v"': '"+x"',
    '"v"': '"x"',
}
"""Of the text for AVX-512."""
AVX_TEXT = functools.reduce(lambda text, change: text.replace(*change), CHANGES.items(), TEXT)
AVX_VNNI = replace(VNNI, prefix=PREFIX, sum_type=f"tw_{PREFIX}_sums", text=AVX_TEXT, features=frozenset({"avx_vnni"}))

# Measured on one core of an Intel Xeon (Sapphire Rapids), GCC 12: see docs/kernels.md.
KERNELS = (interleaved_product_kernel(DIALECT, AVX_VNNI, 6, 2, peak_share=3.1),)
