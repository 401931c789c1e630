"""float32 matrix kernels for any GCC or Clang target, in 16-byte vectors.

Products that are not fused with sums need a register: Clang spills in 6x8 when it is unrolled.
"""

from __future__ import annotations

from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.f32.inner_product import inner_product_kernel
from tilewright.kernels.f32.outer_product import outer_product_kernel

# Measured on one core of an AMD EPYC (Zen 5), GCC 12 and Clang 21: see docs/kernels.md.
KERNELS = (
    outer_product_kernel(DIALECT, 6, 2, peak_share=0.69),
    inner_product_kernel(DIALECT, 2, peak_share=0.5),
)
