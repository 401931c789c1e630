"""AVX2 with VNNI under the VEX prefix."""

from __future__ import annotations

from dataclasses import replace

from tilewright.tile.dialects import avx2, x86

TABLE = {**avx2.TABLE, **dict(x86.dots("{vex} "))}
DIALECT = replace(avx2.DIALECT, name="avx_vnni", features=avx2.DIALECT.features | {"avx_vnni"}, table=TABLE)
