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

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.saturation import Saturation

TEXTS = CTexts(__file__)

TYPES = ("uint8", "int8", "int32")
FOR_AVX = {
    "u8s8vnni": "u8s8avxvnni",
    "__AVX512VNNI__": "__AVXVNNI__",
    "v16si": "v8si",
    '"vpdpbusd': '"%{vex%} vpdpbusd',
    '"+v"': '"+x"',
    '"v"': '"x"',
}
"""What AVX-VNNI has in the place of parts of the text for AVX-512."""


def pair_sums(features: frozenset[str], registers: str) -> Arithmetic:
    """The arithmetic for machines with these features, whose vector registers inline assembly calls so."""
    text = TEXTS["u8s8pairs"].replace('"v"', f'"{registers}"').replace('"=v"', f'"={registers}"')
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


U8S8 = Arithmetic("u8s8", TYPES, 2, "tw_u8s8_sums", TEXTS["u8s8"], chain_cycles=1)
U8S8_512 = replace(U8S8, features=frozenset({"avx512bw"}))
VNNI = Arithmetic("u8s8vnni", TYPES, 1, "tw_u8s8vnni_sums", TEXTS["u8s8vnni"], frozenset({"avx512_vnni"}))
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


S16S16 = Arithmetic("s16s16", ("int16", "int16", "int32"), 1, "tw_s16s16_sums", TEXTS["s16s16"], chain_cycles=1)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
S16S16_KERNELS = (
    interleaved_product_kernel(AVX2, S16S16, 5, 2, peak_share=1.41),
    interleaved_product_kernel(AVX2, S16S16, 1, 8, peak_share=1.33),
)


LARGEST = 127
SIGNS = Arithmetic(
    "s8s8signs",
    ("int8", "int8", "int32"),
    1,
    "tw_s8s8signs_sums",
    TEXTS["s8s8signs"],
    saturation=Saturation("right", largest=LARGEST),
    chain_cycles=1,
)

# Measured on one core of an AMD EPYC (Zen 3), GCC 12: see docs/kernels.md.
SIGNS_KERNELS = (
    interleaved_product_kernel(AVX2, SIGNS, 4, 2, peak_share=1.21),
    interleaved_product_kernel(AVX2, SIGNS, 1, 8, peak_share=1.25),
)

KERNELS = (*U8S8_KERNELS, *S16S16_KERNELS, *SIGNS_KERNELS)
