"""float32 matrix kernels for AVX-512. Tiles leave at least one of the 32 registers spare besides accumulators, B and one of A."""

from __future__ import annotations

from tilewright.kernels.dialect_avx512 import DIALECT
from tilewright.kernels.outer_product import outer_product_kernel

KERNELS = (
    outer_product_kernel(DIALECT, 6, 4, peak_share=0.85),
    outer_product_kernel(DIALECT, 8, 3, peak_share=0.85),
    outer_product_kernel(DIALECT, 14, 2, peak_share=0.85),
    outer_product_kernel(DIALECT, 12, 2, peak_share=0.85),
    outer_product_kernel(DIALECT, 28, 1, peak_share=0.76),
)
