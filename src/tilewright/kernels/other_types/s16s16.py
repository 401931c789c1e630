"""s16 x s16 -> s32 matrix kernels for x86: two steps of the depth in a lane, and nothing to take apart.

`vpmaddwd` multiplies pairs of 16-bit numbers and adds both products up in 32 bits. It is exact for all operands: its one sum that
32 bits do not hold, of four times -32768, wraps as sums of integers do. Sums are unsigned in C, where they may wrap.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel

TEXT = """\
typedef unsigned tw_s16s16_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int s16s16_part;
TW_INLINE tw_int s16s16_left_0(tw_int a) { return a; }
TW_INLINE tw_int s16s16_right_0(tw_int b) { return b; }
TW_INLINE tw_s16s16_sums s16s16_add(tw_s16s16_sums sum, tw_int a, tw_int b) {
  tw_s16s16_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(pairs) : "x"(a), "x"(b));
  return sum + pairs;
}
"""
S16S16 = Arithmetic("s16s16", ("int16", "int16", "int32"), 1, "tw_s16s16_sums", TEXT, chain_cycles=1)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
KERNELS = (
    interleaved_product_kernel(AVX2, S16S16, 5, 2, peak_share=1.41),
    interleaved_product_kernel(AVX2, S16S16, 1, 8, peak_share=1.33),
)
