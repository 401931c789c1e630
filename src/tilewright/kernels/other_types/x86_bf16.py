"""bf16 x bf16 -> f32 matrix kernels for x86: those of `bf16.py`, and by AVX-512 BF16.

The instruction of AVX-512 BF16 multiplies and adds both steps of a lane (`amx.py` has one for tiles). It adds the second step
before the first, rounds to the nearest after each, and takes denormal operands, products and sums for zeros, whatever the
floating-point environment says. Source: VDPBF16PS in the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.other_types.bf16 import BF16, TYPES
from tilewright.kernels.products import Product, product_kernel
from tilewright.tile.products.arithmetic import of_dots

DOTS = Product("bf16dots", TYPES, of_dots(*TYPES), frozenset({"avx512_bf16"}), flushes=True)

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md. That of dots is not: Intel's cores have one unit for
# it, whose peak is that of their two for float32; AMD's have twice that peak.
KERNELS = (
    product_kernel(AVX512, BF16, 12, 2, peak_share=0.98),
    product_kernel(AVX2, BF16, 4, 2, peak_share=0.77),
    product_kernel(AVX512, DOTS, 12, 2, peak_share=1.0),
)
