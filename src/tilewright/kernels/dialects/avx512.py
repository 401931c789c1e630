"""AVX-512."""

from __future__ import annotations

from tilewright.kernels.dialects.description import VectorDialect

DIALECT = VectorDialect("avx512", 512, 32, frozenset({"avx512f", "avx512dq"}))
