"""The AVX-512 lowering of the replaceable product: register tiles of (MI, NI, MII) = (6, 4, 2).

Chimera, Section V-B: arithmetic intensity (MI NI KI FMAs over KI (MI + NI) + 2 MI NI loads and stores) is maximal for 32
registers at MI, NI, MII = 6, 4, 2, which take MI NI + NI + MII = 30. Algorithm 2: a step of K loads NI vectors of B, then the
rows of A two by two; each pair meets all vectors of B in MII NI multiply-adds side by side.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.contract import OperandRole
from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.f32.outer_product import outer_product_kernel
from tilewright.kernels.replaceable import COLUMN, DEPTH, PRODUCT_16X16, ROW, Edges, Lowering, Operand, Resources
from tilewright.machine.description import CPU

ROWS, VECTORS, LEFT_REGISTERS = 6, 4, 2
"""MI, NI, MII of the paper."""


KERNEL = replace(
    outer_product_kernel(DIALECT, ROWS, VECTORS, peak_share=0.9, left_at_once=LEFT_REGISTERS),
    name="product_avx512_f32_6x4x2",
)
LOWERINGS = (
    Lowering(
        "avx512_6x4x2",
        PRODUCT_16X16,
        CPU,
        (ROWS, VECTORS * DIALECT.lanes, 1),
        Operand(OperandRole.LEFT, "float32", (ROW, DEPTH)),
        Operand(OperandRole.RIGHT, "float32", (DEPTH, COLUMN)),
        Operand(OperandRole.TARGET, "float32", (ROW, COLUMN)),
        Edges.MASKED,
        Resources("vector", ROWS * VECTORS + VECTORS + LEFT_REGISTERS, DIALECT.registers),
        KERNEL,
    ),
)
