"""Matrix kernels of doubles, of integers of 32 and 64 bits, and of float16, for AVX2 and AVX-512."""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.f32.inner_product import dot_product_kernel
from tilewright.kernels.other_types.typed import F16, F64, S32, S64, U32, U64
from tilewright.kernels.products import product_kernel
from tilewright.tile.products.tile import PLAIN, Options

F16C = replace(F16, features=frozenset({"f16c"}))
F16_512 = replace(F16, features=frozenset({"avx512bw", "avx512vl"}))

# Measured on one core of an AMD EPYC (Zen 4), GCC 12, in whole products: alone all tiles of doubles reach 0.97 to 0.99.
TILES_512 = {(6, 4): 0.97, (8, 3): 0.965, (14, 2): 0.93, (2, 8): 0.93}
TILES_256 = {(6, 2): 0.96, (12, 1): 0.87}
TILES_S32_512 = {(6, 4): 0.72, (14, 2): 0.7}
TILES_S32_256 = {(5, 2): 0.77, (10, 1): 0.74}
KERNELS = (
    *(
        product_kernel(AVX512, product, *tile, peak_share=share, options=options)
        for product, tiles in ((F64, TILES_512), (S32, TILES_S32_512), (U32, TILES_S32_512))
        for tile, share in tiles.items()
        for options in (PLAIN, Options(prefetch=("right",)))
    ),
    *(product_kernel(AVX2, F64, *tile, peak_share=share) for tile, share in TILES_256.items()),
    *(product_kernel(AVX2, one, *tile, peak_share=share) for one in (S32, U32) for tile, share in TILES_S32_256.items()),
    *(product_kernel(AVX512, one, 6, 4, peak_share=0.71) for one in (S64, U64)),
    # Upper halves of B lie in registers of their own: of eight sums GCC keeps one on the stack.
    *(product_kernel(AVX2, one, 3, 2, peak_share=0.22) for one in (S64, U64)),
    product_kernel(AVX512, F16_512, 6, 4, peak_share=0.9),
    product_kernel(AVX512, F16_512, 14, 2, peak_share=0.87),
    product_kernel(AVX2, F16C, 5, 2, peak_share=0.8),
    dot_product_kernel(AVX512, peak_share=0.9, dtype="float64"),
    dot_product_kernel(AVX512, peak_share=0.7, dtype="int32"),
)
