"""u8 x s8 -> s32 and s8 x u8 -> s32 matrix kernels for any target: four steps of the depth in a lane.

Even and odd bytes become lanes of 16 bits. A product of two of them fits into 16 bits, and two products into 32: an ISA may add
such pairs up in one instruction; elsewhere the 16 bits of each product are widened. Sums are unsigned in C, where they may wrap.
Nothing saturates.

A sum of products does not tell which factor is unsigned: only the instructions' operands, or how bytes become 16 bits, change
places. Filters are signed and images unsigned, so s8 x u8 computes filters times an image whose pixels lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.tile.products.arithmetic import of_bytes_apart

TEXTS = CTexts(__file__)
TYPES = ("uint8", "int8", "int32")
U8S8 = Arithmetic("u8s8", TYPES, 2, "tw_u8s8_sums", with_instructions(TEXTS["u8s8"]), chain_cycles=1, tile=of_bytes_apart)


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


def of_both_signs(tiles: Iterable[tuple[VectorDialect, Arithmetic, int, int, float]]) -> tuple[MicroKernel, ...]:
    """The kernels of tiles (dialect, arithmetic, rows, vectors, share of the peak), with the left or the right operand unsigned.

    Both have the same share of the peak: the same instructions.
    """
    return tuple(
        interleaved_product_kernel(dialect, signed, rows, vectors, peak_share=share)
        for dialect, arithmetic, rows, vectors, share in tiles
        for signed in (arithmetic, exchanged(arithmetic))
    )


# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = of_both_signs([(DIALECT, U8S8, 3, 2, 0.98)])
