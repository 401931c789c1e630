"""s8 x s8 -> s32 matrix kernels by `vpmaddubsw`, whose first factor is unsigned: |a| times b with the sign of a.

Two products of at most 128 * 127 fit into its 16 bits whatever the activations are. Weights of -128 have no opposite in 8 bits:
they have to be at least -127, as those of symmetric quantisation are.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.saturation import Saturation

LARGEST = 127
TEXT = """\
typedef unsigned tw_s8s8signs_sums __attribute__((vector_size(4 * TW_LANES)));
typedef struct {
  tw_int value, size;
} s8s8signs_part;
TW_INLINE s8s8signs_part s8s8signs_left_0(tw_int a) {
  s8s8signs_part part = {a, a};
  __asm__("vpabsb %1, %0" : "=x"(part.size) : "x"(a));
  return part;
}
TW_INLINE s8s8signs_part s8s8signs_right_0(tw_int b) { return (s8s8signs_part){b, b}; }
TW_INLINE tw_s8s8signs_sums s8s8signs_add(tw_s8s8signs_sums sum, s8s8signs_part a, s8s8signs_part b) {
  const tw_int ones = tw_splat_int(0x00010001);
  tw_int signed_b, pairs;
  tw_s8s8signs_sums fours;
  __asm__("vpsignb %2, %1, %0" : "=x"(signed_b) : "x"(b.value), "x"(a.value));
  __asm__("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(a.size), "x"(signed_b));
  __asm__("vpmaddwd %2, %1, %0" : "=x"(fours) : "x"(pairs), "x"(ones));
  return sum + fours;
}
"""
SIGNS = Arithmetic(
    "s8s8signs",
    ("int8", "int8", "int32"),
    1,
    "tw_s8s8signs_sums",
    TEXT,
    saturation=Saturation("right", largest=LARGEST),
    chain_cycles=1,
)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
KERNELS = (
    interleaved_product_kernel(AVX2, SIGNS, 4, 2, peak_share=1.21),
    interleaved_product_kernel(AVX2, SIGNS, 1, 8, peak_share=1.25),
)
