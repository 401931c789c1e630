"""u8 x s8 -> s32 matrix kernels for AVX-512 VNNI: one instruction multiplies and adds the four bytes of a lane, unsaturated.

GCC gets its builtin function: with assembly in its place, GCC 12 keeps all sums of an inlined tile in memory (6 x 64: 245 of 561
GOP/s). Its types are those of GCC up to 15.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel

TEXT = """\
typedef tw_int u8s8vnni_part;
typedef unsigned tw_u8s8vnni_sums __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE tw_int u8s8vnni_left_0(tw_int a) { return a; }
TW_INLINE tw_int u8s8vnni_right_0(tw_int b) { return b; }
TW_INLINE tw_u8s8vnni_sums u8s8vnni_add(tw_u8s8vnni_sums sum, tw_int a, tw_int b) {
#if defined(__AVX512VNNI__) && !defined(__clang__) && __GNUC__ <= 15
  return (tw_u8s8vnni_sums)__builtin_ia32_vpdpbusd_v16si((tw_int)sum, a, b);
#else
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
#endif
}
"""
VNNI = Arithmetic("u8s8vnni", ("uint8", "int8", "int32"), 1, "tw_u8s8vnni_sums", TEXT, frozenset({"avx512_vnni"}))

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = (
    interleaved_product_kernel(DIALECT, VNNI, 6, 4, peak_share=3.6),
    interleaved_product_kernel(DIALECT, VNNI, 12, 2, peak_share=3.45),
)
