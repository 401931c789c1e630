"""u8 x s8 -> s32 matrix kernels for any GCC or Clang target: four steps of the depth in a lane, nothing saturates.

Even and odd bytes become lanes of 16 bits. A product of two of them fits into 16 bits, and two products into 32: x86 adds such
pairs up in one instruction (pmaddwd); elsewhere the 16 bits of each product are widened. Sums are unsigned in C, where they may
wrap.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel

TEXT = """\
typedef unsigned tw_u8s8_sums __attribute__((vector_size(4 * TW_LANES)));
typedef short u8s8_part __attribute__((vector_size(4 * TW_LANES)));
typedef unsigned short tw_u8s8_bits __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE u8s8_part u8s8_left_0(tw_int a) { return (u8s8_part)(a & 0x00ff00ff); }
TW_INLINE u8s8_part u8s8_left_1(tw_int a) { return (u8s8_part)((tw_u8s8_bits)a >> 8); }
TW_INLINE u8s8_part u8s8_right_0(tw_int b) { return (u8s8_part)((tw_u8s8_bits)b << 8) >> 8; }
TW_INLINE u8s8_part u8s8_right_1(tw_int b) { return (u8s8_part)b >> 8; }
TW_INLINE tw_u8s8_sums u8s8_add(tw_u8s8_sums sum, u8s8_part a, u8s8_part b) {
#if defined(__AVX512BW__) && TW_LANES == 16
  tw_u8s8_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(pairs) : "v"(a), "v"(b));
  return sum + pairs;
#elif (defined(__AVX2__) && TW_LANES == 8) || (defined(__AVX__) && TW_LANES == 4)
  tw_u8s8_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(pairs) : "x"(a), "x"(b));
  return sum + pairs;
#elif defined(__SSE2__) && TW_LANES == 4
  __asm__("pmaddwd %1, %0" : "+x"(a) : "x"(b));
  return sum + (tw_u8s8_sums)a;
#else
  const u8s8_part products = a * b;
  const tw_int even = (tw_int)((tw_u8s8_sums)products << 16) >> 16, odd = (tw_int)products >> 16;
  return sum + (tw_u8s8_sums)even + (tw_u8s8_sums)odd;
#endif
}
"""
U8S8 = Arithmetic("u8s8", ("uint8", "int8", "int32"), 2, "tw_u8s8_sums", TEXT, chain_cycles=1)

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = (
    interleaved_product_kernel(AVX512, replace(U8S8, features=frozenset({"avx512bw"})), 10, 2, peak_share=1.14),
    interleaved_product_kernel(AVX2, U8S8, 3, 2, peak_share=0.80),
    interleaved_product_kernel(AVX2, U8S8, 1, 8, peak_share=0.82),
    interleaved_product_kernel(DIALECT, U8S8, 3, 2, peak_share=0.98),
)
