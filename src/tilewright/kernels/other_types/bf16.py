"""bf16 x bf16 -> f32 matrix kernels for any target: two steps of the depth in a lane, widened by shifts.

Products and sums are those of float32 kernels on widened operands, bit for bit: in increasing steps, fused where the ISA can.
"""

from __future__ import annotations

from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.products import Product, product_kernel
from tilewright.tile.products.arithmetic import of_widened

TYPES = ("bfloat16", "bfloat16", "float32")
BF16 = Product("bf16", TYPES, of_widened("bfloat16", "bfloat16"))

# Measured on one core of an AMD EPYC (Zen 5), GCC 12: see docs/kernels.md.
KERNELS = (product_kernel(DIALECT, BF16, 3, 2, peak_share=0.56),)
