"""Matrix kernels of integers of 8 and 16 bits by instructions of x86.

u8 x s8 -> s32 and s8 x u8 -> s32, four steps of the depth in a lane:

- AVX-512 VNNI multiplies and adds the four bytes of a lane in one instruction, unsaturated.
- AVX-VNNI is the same instruction in vectors of 256 bits, encoded without AVX-512: for cores without that (Intel's from Alder
  Lake on). Its encoding knows 16 registers: a tile of 4 x 24 would leave none for the mask of a last vector in part.
- `vpmaddubsw` multiplies bytes and adds neighbouring products up in 16 bits; `vpmaddwd` by ones adds neighbouring sums up in 32:
  for weights of which no two neighbours let the 16 bits saturate. Products fit where two neighbouring weights of one sign add up
  to 128 at most: 255 * 128 = 32640. Without that, two of these instructions take every byte apart before (`integers.py`).

s16 x s16 -> s32, two steps of the depth in a lane: `vpmaddwd` multiplies pairs of 16-bit numbers and adds both products up in 32
bits. It is exact for all operands: its one sum that 32 bits do not hold, of four times -32768, wraps as sums of integers do. VNNI
adds to the sums in the same instruction.

s8 x s8 -> s32 by `vpmaddubsw`, whose first factor is unsigned: |a| times b with the sign of a. Two products of at most 128 * 127
fit into its 16 bits whatever the activations are. Weights of -128 have no opposite in 8 bits: they have to be at least -127, as
those of symmetric quantisation are.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import ElementTypes
from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.helpers import filled
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.other_types.integers import TYPES, U8S8, of_both_signs
from tilewright.kernels.saturation import Saturation
from tilewright.tile.products.arithmetic import of_dots, of_pairs

TEXTS = CTexts(__file__)
LARGEST = 127
WORD_TYPES = ("int16", "int16", "int32")


def dots(element_types: ElementTypes, name: str, instruction: str, *, has_512: bool) -> Arithmetic:
    """The arithmetic of an instruction that adds the products of a lane, four or two, as AVX-512 VNNI and AVX-VNNI encode it."""
    vector, encoding, register = ("v16si", "", "v") if has_512 else ("v8si", "%{vex%} ", "x")
    feature, macro = ("avx512_vnni", "__AVX512VNNI__") if has_512 else ("avx_vnni", "__AVXVNNI__")
    places = {"PREFIX": name, "INSTRUCTION": instruction, "MACRO": macro}
    places |= {"VECTOR": vector, "ENCODING": encoding, "REGISTER": register}
    text = filled(TEXTS["dots"], places)
    return Arithmetic(name, element_types, 1, f"tw_{name}_sums", text, frozenset({feature}), tile=of_dots)


def words(name: str, features: frozenset[str], register: str) -> Arithmetic:
    """The arithmetic of sums of two products of 16 bits, by the letter of their registers in assembly."""
    text = filled(TEXTS["s16s16"], {"PREFIX": name, "REGISTER": register})
    return Arithmetic(name, WORD_TYPES, 1, f"tw_{name}_sums", text, features, chain_cycles=1, tile=of_dots)


def pairs(features: frozenset[str], register: str) -> Arithmetic:
    """The arithmetic of sums of pairs for machines with these features, by the letter of their registers in assembly."""
    text = filled(TEXTS["pairs"], {"REGISTER": register})
    bound = Saturation("right")
    return Arithmetic("u8s8pairs", TYPES, 1, "tw_u8s8pairs_sums", text, features, bound, chain_cycles=1, tile=of_pairs)


BW = frozenset({"avx512bw"})
U8S8_512 = replace(U8S8, features=BW)
VNNI, AVX_VNNI = (dots(TYPES, f"u8s8{kind}", "vpdpbusd", has_512=kind == "vnni") for kind in ("vnni", "avxvnni"))
PAIRS, PAIRS_OF_512 = pairs(frozenset(), "x"), pairs(BW, "v")
S16S16, S16S16_512 = words("s16s16", frozenset(), "x"), words("s16s16", BW, "v")
WORD_VNNI, WORD_AVX_VNNI = (dots(WORD_TYPES, f"s16s16{kind}", "vpdpwssd", has_512=kind == "vnni") for kind in ("vnni", "avxvnni"))
SIGNS = Arithmetic(
    *("s8s8signs", ("int8", "int8", "int32"), 1, "tw_s8s8signs_sums", TEXTS["signs"]),
    saturation=Saturation("right", largest=LARGEST),
    chain_cycles=1,
)

# Measured on one core, GCC 12: those of VNNI and of bytes taken apart on an AMD EPYC (Zen 5), AVX-VNNI on an Intel Xeon (Sapphire
# Rapids), all others on an AMD EPYC (Zen 3), but pairs of AVX-512, which are taken to be alike: see docs/kernels.md.
KERNELS = (
    *of_both_signs(
        (
            (AVX512, U8S8_512, 10, 2, 1.14),
            (AVX2, U8S8, 3, 2, 0.80),
            (AVX2, U8S8, 1, 8, 0.82),
            (AVX512, PAIRS_OF_512, 8, 3, 1.75),
            (AVX2, PAIRS, 5, 2, 1.74),
            (AVX2, PAIRS, 3, 3, 1.67),
            (AVX2, PAIRS, 1, 8, 1.62),
            (AVX2, AVX_VNNI, 6, 2, 3.1),
            (AVX512, VNNI, 6, 4, 3.6),
            (AVX512, VNNI, 12, 2, 3.45),
        )
    ),
    interleaved_product_kernel(AVX512, WORD_VNNI, 6, 4, peak_share=1.93),
    interleaved_product_kernel(AVX512, WORD_VNNI, 12, 2, peak_share=1.87),
    interleaved_product_kernel(AVX512, S16S16_512, 6, 4, peak_share=1.41),
    interleaved_product_kernel(AVX512, S16S16_512, 12, 2, peak_share=1.4),
    interleaved_product_kernel(AVX2, WORD_AVX_VNNI, 6, 2, peak_share=1.6),
    interleaved_product_kernel(AVX2, S16S16, 5, 2, peak_share=1.41),
    interleaved_product_kernel(AVX2, S16S16, 1, 8, peak_share=1.33),
    interleaved_product_kernel(AVX2, SIGNS, 4, 2, peak_share=1.21),
    interleaved_product_kernel(AVX2, SIGNS, 1, 8, peak_share=1.25),
)
