"""bf16 x bf16 -> f32 matrix kernels for AVX-512 BF16: one instruction multiplies and adds both steps of a lane.

It adds the second step of a lane before the first, rounds to the nearest after each, and takes denormal operands, products and
sums for zeros, whatever the floating-point environment says. Source: VDPBF16PS in the Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 2. GCC's builtin function has another type of operands from version to version.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel

INSTRUCTION = '__asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));'
TEXT = f"""\
typedef tw_int bf16dots_part;
TW_INLINE tw_int bf16dots_left_0(tw_int a) {{ return a; }}
TW_INLINE tw_int bf16dots_right_0(tw_int b) {{ return b; }}
TW_INLINE tw_vec bf16dots_add(tw_vec sum, tw_int a, tw_int b) {{
  {INSTRUCTION}
  return sum;
}}
"""
TYPES = ("bfloat16", "bfloat16", "float32")
DOTS = Arithmetic("bf16dots", TYPES, 1, "tw_vec", TEXT, frozenset({"avx512_bf16"}), flushes=True)

# Not measured. Intel's cores have one unit for it, whose peak is that of their two for float32; AMD's have twice that peak.
KERNELS = (interleaved_product_kernel(DIALECT, DOTS, 12, 2, peak_share=1.0),)
