"""bf16 x bf16 -> f32 matrix kernels for x86: those of `bf16.py`, and by AVX-512 BF16.

The instruction of AVX-512 BF16 multiplies and adds both steps of a lane (`amx.py` has one for tiles). It adds the second step
before the first, rounds to the nearest after each, and takes denormal operands, products and sums for zeros, whatever the
floating-point environment says. Source: VDPBF16PS in the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
GCC's builtin function has another type of operands from version to version.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.other_types.bf16 import BF16, TYPES
from tilewright.tile.products.arithmetic import Arithmetic as TileArithmetic
from tilewright.tile.products.arithmetic import of_dots


def _dots(left: str, right: str) -> TileArithmetic:
    return of_dots(left, right, "float32")


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
DOTS = Arithmetic("bf16dots", TYPES, 1, "tw_vec", DOTS_TEXT, frozenset({"avx512_bf16"}), flushes=True, tile=_dots)


# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md. That of dots is not: Intel's cores have one unit for
# it, whose peak is that of their two for float32; AMD's have twice that peak.
KERNELS = (
    interleaved_product_kernel(AVX512, BF16, 12, 2, peak_share=0.98),
    interleaved_product_kernel(AVX2, BF16, 4, 2, peak_share=0.77),
    interleaved_product_kernel(AVX512, DOTS, 12, 2, peak_share=1.0),
)
