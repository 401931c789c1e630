"""The float32 matrix kernel for any GCC or Clang target, in 16-byte vectors: plain SSE2, NEON, VSX."""

from __future__ import annotations

from tilewright.kernels.dialect_portable import DIALECT
from tilewright.kernels.outer_product import outer_product_kernel

KERNELS = (outer_product_kernel(DIALECT, 6, 2, peak_share=0.68),)
