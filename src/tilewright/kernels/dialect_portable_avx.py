"""The portable dialect in vectors of 8 lanes, for x86 with AVX: for CPUs without AVX2 or FMA, whose registers are as wide.

Compiled for more features than AVX, its products and sums become multiply-adds as in the AVX2 dialect.
"""

from __future__ import annotations

from tilewright.kernels.dialect_portable import portable_dialect

PARTS = """\
TW_INLINE tw_vec tw_load_part(const float *p, long n) { return __builtin_ia32_maskloadps256((const void *)p, tw_prefix(n)); }
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) { __builtin_ia32_maskstoreps256((void *)p, tw_prefix(n), v); }
"""

DIALECT = portable_dialect("portable_avx", 256, frozenset({"avx"}), "x86_64", PARTS)
