"""float32 matrix kernels for AVX2 with FMA. Of its 16 registers 6x16 uses 15 and 12x8 uses 14.

4x24 would use all 16: Clang spills there, in 12x8 when it is unrolled, and in 6x16 unrolled by 4 where it is inlined.
Tiles ask for their lines of C: sums end too close together for the stores of one tile to wait for memory behind the next.
"""

from __future__ import annotations

from tilewright.kernels.dialects.avx2 import DIALECT
from tilewright.kernels.f32.inner_product import inner_product_kernel
from tilewright.kernels.f32.outer_product import outer_product_kernel

# Measured on one core of an AMD EPYC (Zen 5), GCC 12 and Clang 21: see docs/kernels.md.
KERNELS = (
    outer_product_kernel(DIALECT, 6, 2, peak_share=0.95, fetches_target=True),
    outer_product_kernel(DIALECT, 12, 1, peak_share=0.87, fetches_target=True),
    *(inner_product_kernel(DIALECT, 2, peak_share=0.6, prefetch=prefetch) for prefetch in ((), ("right",))),
)
