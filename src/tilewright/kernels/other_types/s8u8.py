"""s8 x u8 -> s32 matrix kernels: those of u8 x s8 with the operands' signs exchanged.

A sum of products does not tell which factor is unsigned: only the instructions' operands, or how bytes become 16 bits, change
places. Filters are signed and images unsigned, so these compute filters times an image whose pixels lie side by side.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.other_types.u8s8 import U8S8
from tilewright.kernels.other_types.u8s8_avx_vnni import AVX_VNNI as U8S8_AVX_VNNI
from tilewright.kernels.other_types.u8s8_pairs import PAIRS as U8S8_PAIRS
from tilewright.kernels.other_types.u8s8_pairs import PAIRS_OF_512 as U8S8_PAIRS_OF_512
from tilewright.kernels.other_types.u8s8_vnni import VNNI as U8S8_VNNI


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


S8U8, VNNI, PAIRS = exchanged(U8S8), exchanged(U8S8_VNNI), exchanged(U8S8_PAIRS)
AVX_VNNI, PAIRS_OF_512 = exchanged(U8S8_AVX_VNNI), exchanged(U8S8_PAIRS_OF_512)

# Shares of the peak are those of the kernels with the other signs: the same instructions.
KERNELS = (
    interleaved_product_kernel(AVX512, replace(S8U8, features=frozenset({"avx512bw"})), 10, 2, peak_share=1.14),
    interleaved_product_kernel(AVX2, S8U8, 3, 2, peak_share=0.80),
    interleaved_product_kernel(AVX2, S8U8, 1, 8, peak_share=0.82),
    interleaved_product_kernel(AVX512, PAIRS_OF_512, 8, 3, peak_share=1.75),
    interleaved_product_kernel(AVX2, PAIRS, 5, 2, peak_share=1.74),
    interleaved_product_kernel(AVX2, PAIRS, 3, 3, peak_share=1.67),
    interleaved_product_kernel(AVX2, PAIRS, 1, 8, peak_share=1.62),
    interleaved_product_kernel(DIALECT, S8U8, 3, 2, peak_share=0.98),
    interleaved_product_kernel(AVX2, AVX_VNNI, 6, 2, peak_share=3.1),
    interleaved_product_kernel(AVX512, VNNI, 6, 4, peak_share=3.6),
    interleaved_product_kernel(AVX512, VNNI, 12, 2, peak_share=3.45),
)
