"""AVX2 with FMA."""

from __future__ import annotations

from tilewright.kernels.dialects.description import VectorDialect

DIALECT = VectorDialect("avx2", 256, 16, frozenset({"avx2", "fma"}))
