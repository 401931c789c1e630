"""bf16 x bf16 -> f32 matrix kernels: two steps of the depth in a lane, widened by shifts for any target, and by AVX-512 BF16.

Products and sums of the former are those of float32 kernels on widened operands, bit for bit: in increasing steps, fused where
the ISA can. The instruction of AVX-512 BF16 multiplies and adds both steps of a lane (`amx.py` has one for tiles). It adds the
second step before the first, rounds to the nearest after each, and takes denormal operands, products and sums for zeros, whatever
the floating-point environment says. Source: VDPBF16PS in the Intel 64 and IA-32 Architectures Software Developer's Manual, volume
2. GCC's builtin function has another type of operands from version to version.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel

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
INSTRUCTION = '__asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));'
DOTS_TEXT = f"""\
typedef tw_int bf16dots_part;
TW_INLINE tw_int bf16dots_left_0(tw_int a) {{ return a; }}
TW_INLINE tw_int bf16dots_right_0(tw_int b) {{ return b; }}
TW_INLINE tw_vec bf16dots_add(tw_vec sum, tw_int a, tw_int b) {{
  {INSTRUCTION}
  return sum;
}}
"""
BF16 = Arithmetic("bf16", TYPES, 2, "tw_vec", TEXT)
DOTS = Arithmetic("bf16dots", TYPES, 1, "tw_vec", DOTS_TEXT, frozenset({"avx512_bf16"}), flushes=True)

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md. That of dots is not: Intel's cores have one unit for
# it, whose peak is that of their two for float32; AMD's have twice that peak.
KERNELS = (
    interleaved_product_kernel(AVX512, BF16, 12, 2, peak_share=0.98),
    interleaved_product_kernel(AVX2, BF16, 4, 2, peak_share=0.77),
    interleaved_product_kernel(DIALECT, BF16, 3, 2, peak_share=0.56),
    interleaved_product_kernel(AVX512, DOTS, 12, 2, peak_share=1.0),
)
