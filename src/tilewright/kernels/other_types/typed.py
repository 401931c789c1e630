"""Matrix kernels of doubles, of integers of 32 and 64 bits, and of float16, for any target.

Integers of 64 bits and float16 have kernels of longer vectors alone: compilers take shorter ones of the former apart, and to
widen the latter takes more than products of float32 do.

Products and sums of float16 are those of float32 kernels on widened operands, bit for bit.
"""

from __future__ import annotations

from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.products import Product, product_kernel
from tilewright.tile.products.arithmetic import of_converted, of_elements


def of_one_type(prefix: str, dtype: str) -> Product:
    """Operands and sums of one type."""
    return Product(prefix, (dtype, dtype, dtype), of_elements(dtype))


F64 = of_one_type("f64", "float64")
S32, U32 = of_one_type("s32", "int32"), of_one_type("u32", "uint32")
S64, U64 = of_one_type("s64", "int64"), of_one_type("u64", "uint64")
F16 = Product("f16", ("float16", "float16", "float32"), of_converted("float16", "float32"))

# Where an instruction multiplies only every other lane, a product takes two of them, on halves in registers of their own:
# 16 registers hold eight sums besides.
KERNELS = (
    product_kernel(DIALECT, F64, 6, 2, peak_share=0.69),
    product_kernel(DIALECT, S32, 4, 2, peak_share=0.25),
    product_kernel(DIALECT, U32, 4, 2, peak_share=0.25),
)
