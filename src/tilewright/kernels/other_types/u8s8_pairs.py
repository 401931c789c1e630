"""u8 x s8 -> s32 matrix kernels by `vpmaddubsw`, for weights of which no two neighbours let its 16 bits saturate.

The instruction multiplies bytes and adds neighbouring products up in 16 bits; `vpmaddwd` by ones adds neighbouring sums up in 32.
`u8s8.py` takes two of these, and takes every byte apart before. Products fit where two neighbouring weights of one sign add up
to 128 at most: 255 * 128 = 32640.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.saturation import Saturation

PREFIX = "u8s8pairs"
TEXT = """\
typedef unsigned tw_u8s8pairs_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int u8s8pairs_part;
TW_INLINE tw_int u8s8pairs_left_0(tw_int a) { return a; }
TW_INLINE tw_int u8s8pairs_right_0(tw_int b) { return b; }
TW_INLINE tw_u8s8pairs_sums u8s8pairs_add(tw_u8s8pairs_sums sum, tw_int a, tw_int b) {
  const tw_int ones = tw_splat_int(0x00010001);
  tw_int pairs;
  tw_u8s8pairs_sums fours;
  __asm__("vpmaddubsw %2, %1, %0" : "=v"(pairs) : "v"(a), "v"(b));
  __asm__("vpmaddwd %2, %1, %0" : "=v"(fours) : "v"(pairs), "v"(ones));
  return sum + fours;
}
"""


def pair_sums(features: frozenset[str], registers: str) -> Arithmetic:
    """The arithmetic for machines with these features, whose vector registers inline assembly calls so."""
    text = TEXT.replace('"v"', f'"{registers}"').replace('"=v"', f'"={registers}"')
    return Arithmetic(
        PREFIX, ("uint8", "int8", "int32"), 1, f"tw_{PREFIX}_sums", text, features, Saturation("right"), chain_cycles=1
    )


PAIRS, PAIRS_OF_512 = pair_sums(frozenset(), "x"), pair_sums(frozenset({"avx512bw"}), "v")

# Measured on one core of an AMD EPYC (Zen 3), GCC 12, those of AVX-512 not measured but taken to be alike: see docs/kernels.md.
KERNELS = (
    interleaved_product_kernel(AVX512, PAIRS_OF_512, 8, 3, peak_share=1.75),
    interleaved_product_kernel(AVX2, PAIRS, 5, 2, peak_share=1.74),
    interleaved_product_kernel(AVX2, PAIRS, 3, 3, peak_share=1.67),
    interleaved_product_kernel(AVX2, PAIRS, 1, 8, peak_share=1.62),
)
