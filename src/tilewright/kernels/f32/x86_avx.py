"""float32 matrix kernels for x86 without AVX2 or FMA, in 16-byte vectors, and in 32-byte ones for AVX.

SSE2 has no broadcast from memory and no FMA: each row costs a shuffle, each product a copy. Two rows of four vectors need half of
the shuffles of 6x8; elsewhere their six loads for eight FMAs would cost more. Products without FMA need a register: with AVX
alone, Clang spills in 6x16 unrolled by 4.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.portable import DIALECT as PORTABLE
from tilewright.kernels.dialects.portable_avx import DIALECT as AVX
from tilewright.kernels.f32.inner_product import inner_product_kernel
from tilewright.kernels.f32.outer_product import outer_product_kernel

# Measured on one core of an AMD EPYC (Zen 5), GCC 12 and Clang 21: see docs/kernels.md.
KERNELS = (
    replace(outer_product_kernel(PORTABLE, 2, 4, peak_share=0.75), architecture="x86_64"),
    outer_product_kernel(AVX, 6, 2, peak_share=0.86),
    inner_product_kernel(AVX, 2, peak_share=0.5),
)
