"""AVX-512 with VNNI and arithmetic of float16, as Sapphire Rapids has it."""

from __future__ import annotations

from dataclasses import replace

from tilewright.tile.dialects import avx512_vnni, x86

TABLE = {**avx512_vnni.TABLE, **dict(x86.half_arithmetic())}
FEATURES = avx512_vnni.DIALECT.features | {"avx512_fp16"}
DIALECT = replace(avx512_vnni.DIALECT, name="avx512_fp16", features=FEATURES, table=TABLE)
