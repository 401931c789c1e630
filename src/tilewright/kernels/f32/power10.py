"""float32 matrix kernels for POWER10's matrix unit (MMA): outer products of four rows and four columns in one instruction.

`xvf32gerpp` adds the products of four elements of A and four of B to an accumulator of 4x4 floats, each rounded once. There are
eight accumulators: tiles of 8 filters by 16 windows (V. Ferrari et al., "Advancing Direct Convolution Using Convolution Slicing
Optimization and ISA Extensions", ACM TACO 20(4), 2023, section 4), and of 16 by 8. Instructions: Power ISA 3.1, section 7.2.1.
"""

from __future__ import annotations

from tilewright.kernels.dialects.power10 import DIALECT
from tilewright.kernels.products import F32_PRODUCT, product_kernel
from tilewright.tile.products.blocks import BLOCK
from tilewright.tile.products.tile import Options

# Not measured, for want of a machine: the matrix unit's gain of 2, and the share that tiles reach on CPUs at hand.
KERNELS = tuple(
    product_kernel(
        DIALECT, F32_PRODUCT, rows, vectors, peak_share=2 * 0.9, options=Options(in_blocks=True), rows_per_instruction=BLOCK
    )
    for rows, vectors in ((8, 4), (16, 2))
)
