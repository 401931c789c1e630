"""Matrix kernels of integers of 8 and 16 bits.

u8 x s8 -> s32 and s8 x u8 -> s32 matrix kernels: four steps of the depth in a lane, for any target and by x86's instructions.

Even and odd bytes become lanes of 16 bits. A product of two of them fits into 16 bits, and two products into 32: x86 adds such
pairs up in one instruction (pmaddwd); elsewhere the 16 bits of each product are widened. Sums are unsigned in C, where they may
wrap. Nothing saturates there.

- AVX-512 VNNI multiplies and adds the four bytes of a lane in one instruction, unsaturated.
- AVX-VNNI is the same instruction in vectors of 256 bits, encoded without AVX-512: for cores without that (Intel's from Alder
  Lake on). Its encoding knows 16 registers: a tile of 4 x 24 would leave none for the mask of a last vector in part.
- `vpmaddubsw` multiplies bytes and adds neighbouring products up in 16 bits; `vpmaddwd` by ones adds neighbouring sums up in 32:
  for weights of which no two neighbours let the 16 bits saturate. Products fit where two neighbouring weights of one sign add up
  to 128 at most: 255 * 128 = 32640. Without that, two of these instructions take every byte apart before.

A sum of products does not tell which factor is unsigned: only the instructions' operands, or how bytes become 16 bits, change
places. Filters are signed and images unsigned, so s8 x u8 computes filters times an image whose pixels lie side by side.

s16 x s16 -> s32 matrix kernels for x86: two steps of the depth in a lane, and nothing to take apart.

`vpmaddwd` multiplies pairs of 16-bit numbers and adds both products up in 32 bits. It is exact for all operands: its one sum that
32 bits do not hold, of four times -32768, wraps as sums of integers do. Sums are unsigned in C, where they may wrap.

s8 x s8 -> s32 matrix kernels by `vpmaddubsw`, whose first factor is unsigned: |a| times b with the sign of a.

Two products of at most 128 * 127 fit into its 16 bits whatever the activations are. Weights of -128 have no opposite in 8 bits:
they have to be at least -127, as those of symmetric quantisation are.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.saturation import Saturation

TYPES = ("uint8", "int8", "int32")
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
# GCC gets its builtin function: with assembly in its place, GCC 12 keeps all sums of an inlined tile in memory (6 x 64: 245 of
# 561 GOP/s). Its types are those of GCC up to 15.
VNNI_TEXT = """\
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
FOR_AVX = {
    "u8s8vnni": "u8s8avxvnni",
    "__AVX512VNNI__": "__AVXVNNI__",
    "v16si": "v8si",
    '"vpdpbusd': '"%{vex%} vpdpbusd',
    '"+v"': '"+x"',
    '"v"': '"x"',
}
"""What AVX-VNNI has in the place of parts of the text for AVX-512."""
PAIRS_TEXT = """\
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
    text = PAIRS_TEXT.replace('"v"', f'"{registers}"').replace('"=v"', f'"={registers}"')
    return Arithmetic("u8s8pairs", TYPES, 1, "tw_u8s8pairs_sums", text, features, Saturation("right"), chain_cycles=1)


def _for_avx(vnni: Arithmetic) -> Arithmetic:
    """The arithmetic of AVX-VNNI."""
    text = vnni.text
    for part, other in FOR_AVX.items():
        text = text.replace(part, other)
    return replace(vnni, prefix="u8s8avxvnni", sum_type="tw_u8s8avxvnni_sums", text=text, features=frozenset({"avx_vnni"}))


def exchanged(arithmetic: Arithmetic) -> Arithmetic:
    """The same with a signed left operand and an unsigned right one; `{prefix}_add` keeps its unsigned factor first.

    >>> exchanged(U8S8).prefix, exchanged(U8S8).element_types
    ('s8u8', ('int8', 'uint8', 'int32'))
    """
    prefix, (left, right, result) = arithmetic.prefix.replace("u8s8", "s8u8"), arithmetic.element_types
    text = arithmetic.text.replace("u8s8", "s8u8")
    text = text.replace("_left_", "_other_").replace("_right_", "_left_").replace("_other_", "_right_")
    text = text.replace(f"{prefix}_add(", f"{prefix}_add_to(")
    sums, part = arithmetic.sum_type.replace("u8s8", "s8u8"), f"{prefix}_part"
    text += f"TW_INLINE {sums} {prefix}_add({sums} sum, {part} a, {part} b) {{ return {prefix}_add_to(sum, b, a); }}\n"
    saturation = arithmetic.saturation and replace(arithmetic.saturation, bounded="left")
    return replace(
        arithmetic, prefix=prefix, element_types=(right, left, result), sum_type=sums, text=text, saturation=saturation
    )


U8S8 = Arithmetic("u8s8", TYPES, 2, "tw_u8s8_sums", TEXT, chain_cycles=1)
U8S8_512 = replace(U8S8, features=frozenset({"avx512bw"}))
VNNI = Arithmetic("u8s8vnni", TYPES, 1, "tw_u8s8vnni_sums", VNNI_TEXT, frozenset({"avx512_vnni"}))
AVX_VNNI = _for_avx(VNNI)
PAIRS, PAIRS_OF_512 = pair_sums(frozenset(), "x"), pair_sums(frozenset({"avx512bw"}), "v")

# Measured on one core, GCC 12: those of VNNI and of bytes taken apart on an AMD EPYC (Zen 5), AVX-VNNI on an Intel Xeon (Sapphire
# Rapids), pairs on an AMD EPYC (Zen 3), but those of AVX-512, which are taken to be alike: see docs/kernels.md. Kernels with the
# other signs have the same shares of the peak: the same instructions.
TILES: tuple[tuple[VectorDialect, Arithmetic, int, int, float], ...] = (
    (AVX512, U8S8_512, 10, 2, 1.14),
    (AVX2, U8S8, 3, 2, 0.80),
    (AVX2, U8S8, 1, 8, 0.82),
    (DIALECT, U8S8, 3, 2, 0.98),
    (AVX512, PAIRS_OF_512, 8, 3, 1.75),
    (AVX2, PAIRS, 5, 2, 1.74),
    (AVX2, PAIRS, 3, 3, 1.67),
    (AVX2, PAIRS, 1, 8, 1.62),
    (AVX2, AVX_VNNI, 6, 2, 3.1),
    (AVX512, VNNI, 6, 4, 3.6),
    (AVX512, VNNI, 12, 2, 3.45),
)
"""Dialect, arithmetic, rows, vectors, share of the peak."""
U8S8_KERNELS = tuple(
    interleaved_product_kernel(dialect, signed, rows, vectors, peak_share=share)
    for dialect, arithmetic, rows, vectors, share in TILES
    for signed in (arithmetic, exchanged(arithmetic))
)


S16S16_TEXT = """\
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
S16S16 = Arithmetic("s16s16", ("int16", "int16", "int32"), 1, "tw_s16s16_sums", S16S16_TEXT, chain_cycles=1)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
S16S16_KERNELS = (
    interleaved_product_kernel(AVX2, S16S16, 5, 2, peak_share=1.41),
    interleaved_product_kernel(AVX2, S16S16, 1, 8, peak_share=1.33),
)


LARGEST = 127
SIGNS_TEXT = """\
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
    SIGNS_TEXT,
    saturation=Saturation("right", largest=LARGEST),
    chain_cycles=1,
)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
SIGNS_KERNELS = (
    interleaved_product_kernel(AVX2, SIGNS, 4, 2, peak_share=1.21),
    interleaved_product_kernel(AVX2, SIGNS, 1, 8, peak_share=1.25),
)

KERNELS = (*U8S8_KERNELS, *S16S16_KERNELS, *SIGNS_KERNELS)
