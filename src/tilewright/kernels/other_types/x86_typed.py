"""Matrix kernels of doubles, of integers of 32 and 64 bits, and of float16, for AVX2 and AVX-512."""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.other_types.typed import F16, F64, S32, S64, U32, U64
from tilewright.kernels.typed_product import typed_product_kernel

F16C = replace(F16, features=frozenset({"f16c"}))
F16_512 = replace(F16, features=frozenset({"avx512bw", "avx512vl"}))

KERNELS = (
    *(typed_product_kernel(AVX512, F64, rows, vectors, peak_share=0.97) for rows, vectors in ((6, 4), (8, 3), (14, 2), (2, 8))),
    *(typed_product_kernel(AVX2, F64, rows, vectors, peak_share=0.95) for rows, vectors in ((6, 2), (4, 3), (12, 1))),
    *(
        typed_product_kernel(AVX512, one, rows, vectors, peak_share=0.5)
        for one in (S32, U32)
        for rows, vectors in ((6, 4), (14, 2))
    ),
    *(
        typed_product_kernel(AVX2, one, rows, vectors, peak_share=0.5)
        for one in (S32, U32)
        for rows, vectors in ((5, 2), (10, 1))
    ),
    *(typed_product_kernel(AVX512, one, 6, 4, peak_share=0.3) for one in (S64, U64)),
    *(typed_product_kernel(AVX2, one, 4, 2, peak_share=0.12) for one in (S64, U64)),
    typed_product_kernel(AVX512, F16_512, 6, 4, peak_share=0.9),
    typed_product_kernel(AVX512, F16_512, 14, 2, peak_share=0.9),
    typed_product_kernel(AVX2, F16C, 5, 2, peak_share=0.8),
)
