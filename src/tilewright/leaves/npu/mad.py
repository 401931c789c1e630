"""`mad`: the lowering of the replaceable product to the cube unit of an NPU, as a function of packed operands.

Chimera, Section V-B: the pragma `mad` takes six nested loops, C[m1, n1, m2, n2] += A[m1, k1, m2, k2] B[k1, n1, n2, k2], over
operands that DMA has packed. Its arithmetic intensity M1 M2 N1 N2 / (M1 M2 + N1 N2) is maximal where M2 = N2 is the cube's 16
lanes, and M1 = N1 is the most that L0C holds.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from tilewright.kernels.contract import OperandRole
from tilewright.kernels.replaceable import COLUMN, DEPTH, PRODUCT_16X16, ROW, Array, Edges, Lowering, Operand, Resources

LANES = 16
"""M2, N2 and K2: rows, columns and steps of one cube instruction."""
LEFT = Operand(OperandRole.LEFT, "float16", (ROW, DEPTH), ((ROW, LANES), (DEPTH, LANES)))
RIGHT = Operand(OperandRole.RIGHT, "float16", (DEPTH, COLUMN), ((COLUMN, LANES), (DEPTH, LANES)))
TARGET = Operand(OperandRole.TARGET, "float32", (ROW, COLUMN), ((ROW, LANES), (COLUMN, LANES)))
"""A as [m1, k1, m2, k2], B as [k1, n1, n2, k2], C as [m1, n1, m2, n2]: `Operand.pack` and `unpack` are what DMA does."""


def mad(c: Array, a: Array, b: Array) -> int:
    """Add A B to C in place, and return the cube instructions that takes: M1 N1 K1.

    a[m1, k1, m2, k2] and b[k1, n1, n2, k2] are float16, c[m1, n1, m2, n2] is float32 (blocks of 16 x 16); products and sums are
    float32, the order of the sums is open. Raises `DTypeError` and `ShapeError` for other operands.

    >>> c = np.zeros((1, 2, 16, 16), np.float32)
    >>> mad(c, np.ones((1, 3, 16, 16), np.float16), np.ones((3, 2, 16, 16), np.float16)), c.max()
    (6, np.float32(48.0))
    """
    m, n, k = MAD.operand_extents(a, b, c)
    left = a.transpose(0, 2, 1, 3).reshape(m, k).astype(np.float32)
    right = b.transpose(0, 3, 1, 2).reshape(k, n).astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        c += (left @ right).reshape(m // LANES, LANES, n // LANES, LANES).transpose(0, 2, 1, 3)
    return cube_instructions(m, n, k)


def cube_instructions(m: int, n: int, k: int) -> int:
    """Of a product of so many rows, columns and steps: one for every 16 x 16 x 16, begun ones included.

    >>> cube_instructions(16, 17, 1)
    2
    """
    return -(-m // LANES) * -(-n // LANES) * -(-k // LANES)


def arithmetic_intensity(m1: int, n1: int, m2: int = LANES, n2: int = LANES) -> float:
    """Multiply-adds per element of A and B that is read, for blocks of m1 m2 x n1 n2 (Section V-B).

    >>> arithmetic_intensity(8, 8), arithmetic_intensity(16, 4)
    (64.0, 51.2)
    """
    return m1 * m2 * n1 * n2 / (m1 * m2 + n1 * n2)


def most_blocks(capacity_bytes: int, accumulators: int = 1) -> int:
    """The rule M1 = N1: the largest count for which L0C holds so many float32 accumulators of (M1 16) x (N1 16).

    >>> most_blocks(256 << 10), most_blocks(256 << 10, accumulators=2)
    (16, 11)
    """
    return isqrt(capacity_bytes // (accumulators * TARGET.bytes(LANES, LANES)))


MAD = Lowering(
    "mad_16x16x16",
    PRODUCT_16X16,
    "npu",
    (LANES, LANES, LANES),
    LEFT,
    RIGHT,
    TARGET,
    Edges.PADDED,
    Resources(
        "cube",
        spaces=(
            ("L0A", LEFT.bytes(LANES, LANES)),
            ("L0B", RIGHT.bytes(LANES, LANES)),
            ("L0C", TARGET.bytes(LANES, LANES)),
        ),
    ),
    code=mad,
)
LOWERINGS = (MAD,)
