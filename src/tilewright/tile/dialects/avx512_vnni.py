"""AVX-512 with VNNI: products of bytes and of 16-bit integers, added up in lanes of 32 bits."""

from __future__ import annotations

from dataclasses import replace

from tilewright.tile.dialects import avx512, x86

TABLE = {**avx512.TABLE, **dict(x86.dots())}
DIALECT = replace(avx512.DIALECT, name="avx512_vnni", features=avx512.FEATURES | {"avx512_vnni"}, table=TABLE)
