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

from functools import partial

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.other_types.integers import U8S8, bytes_by, of_both_signs
from tilewright.kernels.products import Product, product_kernel
from tilewright.kernels.saturation import Saturation
from tilewright.tile.products.arithmetic import of_bytes_apart, of_dots, of_pairs, of_signs

LARGEST = 127
BW, HAS_VNNI, HAS_AVX_VNNI = (frozenset({name}) for name in ("avx512bw", "avx512_vnni", "avx_vnni"))


def words(kind: str, features: frozenset[str], chain_cycles: int | None = None) -> Product:
    """Products of numbers of 16 bits."""
    types = "int16", "int16", "int32"
    return Product(f"s16s16{kind}", types, of_dots("int16", "int16"), features, chain_cycles=chain_cycles)


U8S8_512 = bytes_by("", of_bytes_apart, BW, chain_cycles=1)
VNNI, AVX_VNNI = bytes_by("vnni", of_dots, HAS_VNNI), bytes_by("avxvnni", of_dots, HAS_AVX_VNNI)
pairs = partial(bytes_by, "pairs", of_pairs, saturates=True, chain_cycles=1)
PAIRS, PAIRS_OF_512 = pairs(frozenset()), pairs(BW)
S16S16, S16S16_512 = words("", frozenset(), 1), words("", BW, 1)
WORD_VNNI, WORD_AVX_VNNI = words("vnni", HAS_VNNI), words("avxvnni", HAS_AVX_VNNI)
SIGNS = Product(
    "s8s8signs",
    ("int8", "int8", "int32"),
    of_signs(),
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
    product_kernel(AVX512, WORD_VNNI, 6, 4, peak_share=1.93),
    product_kernel(AVX512, WORD_VNNI, 12, 2, peak_share=1.87),
    product_kernel(AVX512, S16S16_512, 6, 4, peak_share=1.41),
    product_kernel(AVX512, S16S16_512, 12, 2, peak_share=1.4),
    product_kernel(AVX2, WORD_AVX_VNNI, 6, 2, peak_share=1.6),
    product_kernel(AVX2, S16S16, 5, 2, peak_share=1.41),
    product_kernel(AVX2, S16S16, 1, 8, peak_share=1.33),
    product_kernel(AVX2, SIGNS, 4, 2, peak_share=1.21),
    product_kernel(AVX2, SIGNS, 1, 8, peak_share=1.25),
)
