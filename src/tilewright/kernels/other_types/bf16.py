"""bf16 x bf16 -> f32 matrix kernels for any target: two steps of the depth in a lane, widened by shifts.

Products and sums are those of float32 kernels on widened operands, bit for bit: in increasing steps, fused where the ISA can.
"""

from __future__ import annotations

from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.tile.products.arithmetic import of_widened

TYPES = ("bfloat16", "bfloat16", "float32")
TEXT = """\
typedef tw_vec bf16_part;
typedef unsigned tw_bf16_bits __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE bf16_part bf16_left_0(tw_int a) { return (bf16_part)((tw_bf16_bits)a << 16); }
TW_INLINE bf16_part bf16_left_1(tw_int a) { return (bf16_part)((tw_bf16_bits)a & 0xffff0000u); }
TW_INLINE bf16_part bf16_right_0(tw_int b) { return bf16_left_0(b); }
TW_INLINE bf16_part bf16_right_1(tw_int b) { return bf16_left_1(b); }
TW_INLINE tw_vec bf16_add(tw_vec sum, bf16_part a, bf16_part b) { return tw_multiply_add(a, b, sum); }
"""
BF16 = Arithmetic("bf16", TYPES, 2, "tw_vec", TEXT, tile=of_widened)

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = (interleaved_product_kernel(DIALECT, BF16, 3, 2, peak_share=0.56),)
