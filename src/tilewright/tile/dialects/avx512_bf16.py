"""AVX-512 with VNNI and bfloat16: products of pairs, added up in float32, and casts."""

from __future__ import annotations

from dataclasses import replace

from tilewright.tile.dialects import avx512_vnni
from tilewright.tile.dialects.description import Entry
from tilewright.tile.operations import Operation

TABLE = {
    **avx512_vnni.TABLE,
    (Operation.DOT, "bfloat16", "bfloat16", "float32"): Entry("", "vdpbf16ps", "0", 6),
}
FEATURES = avx512_vnni.DIALECT.features | {"avx512_bf16"}
DIALECT = replace(avx512_vnni.DIALECT, name="avx512_bf16", features=FEATURES, table=TABLE)
