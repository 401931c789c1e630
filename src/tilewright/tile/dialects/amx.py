"""AVX-512 with AMX: register tiles of 16 rows of 64 bytes, and their products. Leaves know better dialects of such machines.

Instructions: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and volume 2. Ports and
latencies: Sapphire Rapids (uops.info).
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.tile.dialects import avx512
from tilewright.tile.dialects.description import Entry

TABLE = {
    **avx512.TABLE,
    ("tile configure",): Entry("", "ldtilecfg"),
    ("tile release",): Entry("", "tilerelease"),
    ("tile zero",): Entry("", "tilezero", "05", 1),
    ("tile load",): Entry("", "tileloadd", "23", 45),
    ("tile store",): Entry("", "tilestored", "4978", 20),
    ("tile product", "int8", "int8", "int32"): Entry("", "tdpbssd", "05", 52),
    ("tile product", "int8", "uint8", "int32"): Entry("", "tdpbsud", "05", 52),
    ("tile product", "uint8", "int8", "int32"): Entry("", "tdpbusd", "05", 52),
    ("tile product", "uint8", "uint8", "int32"): Entry("", "tdpbuud", "05", 52),
    ("tile product", "bfloat16", "bfloat16", "float32"): Entry("", "tdpbf16ps", "05", 52),
}
DIALECT = replace(avx512.DIALECT, name="amx", features=avx512.FEATURES | {"amx_tile"}, register_tiles=8, table=TABLE)
