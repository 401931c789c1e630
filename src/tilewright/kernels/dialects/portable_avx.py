"""The same for x86 with AVX, without AVX2 or FMA."""

from __future__ import annotations

from tilewright.kernels.dialects.description import VectorDialect

DIALECT = VectorDialect("portable_avx", 256, 16, frozenset({"avx"}))
