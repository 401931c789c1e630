"""float32 matrix kernels for AVX-512. Tiles leave at least one of the 32 registers spare besides accumulators, B and one of A.

Each tile also comes with prefetches, for rows of A, and of C, that stream through, and for B that does.
"""

from __future__ import annotations

from tilewright.kernels.contract import NESTED_LOOPS
from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.f32.inner_product import dot_product_kernel, inner_product_kernel
from tilewright.kernels.f32.outer_product import outer_product_kernel

# Measured on one core of an AMD EPYC (Zen 5), GCC 12 and Clang 21: see docs/kernels.md.
SHARES = {(6, 4): 0.97, (8, 3): 0.955, (14, 2): 0.935, (12, 2): 0.94, (28, 1): 0.94}
PREFETCHED: tuple[tuple[str, ...], ...] = ((), ("left",), ("left", "target"), ("right",))
"""Operands that a kernel of each tile prefetches."""

KERNELS = (
    *(
        outer_product_kernel(DIALECT, rows, vectors, peak_share=share, prefetch=prefetch, has_nested=not prefetch)
        for (rows, vectors), share in SHARES.items()
        for prefetch in PREFETCHED
    ),
    *(
        outer_product_kernel(DIALECT, rows, vectors, peak_share=share, reduction_loops=NESTED_LOOPS)
        for (rows, vectors), share in SHARES.items()
    ),
    dot_product_kernel(DIALECT, peak_share=0.9),
    *(inner_product_kernel(DIALECT, 4, peak_share=0.72, prefetch=prefetch) for prefetch in ((), ("right",))),
    *(outer_product_kernel(DIALECT, 2, 8, peak_share=0.93, prefetch=prefetch) for prefetch in ((), ("right",))),
)
