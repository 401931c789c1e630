"""Tensor-core lowerings of the replaceable product: 2 x 2 fragments of 16 x 16 x 16 in one warp.

Chimera, Section V-B: of one fragment a load of A and of B serves one product; the outer product of two fragments of A and two of
B updates 2 x 2 fragments of C, so that each is used twice. In Triton that is a `tl.dot` of 32 x 16 and 16 x 32 by one warp, which
is too few rows for `wgmma` (64, of four warps): on sm_80 and on sm_90 it becomes eight `mma.sync` m16n8k16 a step.
"""

from __future__ import annotations

from tilewright.kernels.contract import OperandRole
from tilewright.kernels.replaceable import (
    COLUMN,
    DEPTH,
    PRODUCT_16X16,
    ROW,
    Edges,
    Extents,
    KernelText,
    Lowering,
    Operand,
    Resources,
)

FRAGMENT, FRAGMENTS = 16, 2
TILE: Extents = (FRAGMENTS * FRAGMENT, FRAGMENTS * FRAGMENT, FRAGMENT)
STAGES = 3
WARP_THREADS = 32
MOST_REGISTERS = 96
"""With addresses, masks and the next loads (compiled for 512 x 512 x 512: 88 on sm_80, 78 on sm_90)."""

TEXT = '''
"""C += A B by 2 x 2 fragments of 16 x 16 x 16; rows of every matrix are contiguous."""
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            A_ROW: tl.constexpr, B_ROW: tl.constexpr, C_ROW: tl.constexpr):
    m = tl.program_id(0) * 32 + tl.arange(0, 32)[:, None]
    n = tl.program_id(1) * 32 + tl.arange(0, 32)[None, :]
    sums = tl.zeros((32, 32), tl.float32)
    for first in range(0, K, 16):
        k = first + tl.arange(0, 16)
        left = tl.load(a + m * A_ROW + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * B_ROW + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        sums = tl.dot(left, right, sums)
    here = (m < M) & (n < N)
    place = c + m * C_ROW + n
    tl.store(place, tl.load(place, mask=here, other=0.0) + sums, mask=here)
'''


def fragment_registers(element_bytes: int) -> int:
    """32-bit registers of a thread for the sums of a tile and the fragments of A and B of a step.

    >>> fragment_registers(2)
    48
    """
    rows, columns, depth = TILE
    sums = rows * columns * 4
    return (sums + (rows + columns) * depth * element_bytes) // (4 * WARP_THREADS)


def shared_bytes(element_bytes: int) -> int:
    """Bytes of a block: `STAGES - 1` tiles of A and of B, as Triton 3.9.0 keeps for `mma.sync` (devices.md, section 2)."""
    rows, columns, depth = TILE
    return (STAGES - 1) * (rows + columns) * depth * element_bytes


def _lowering(name: str, element_type: str) -> Lowering:
    return Lowering(
        name,
        PRODUCT_16X16,
        "gpu",
        TILE,
        Operand(OperandRole.LEFT, element_type, (ROW, DEPTH)),
        Operand(OperandRole.RIGHT, element_type, (DEPTH, COLUMN)),
        Operand(OperandRole.TARGET, "float32", (ROW, COLUMN)),
        Edges.MASKED,
        Resources("mma.sync", fragment_registers(2), MOST_REGISTERS, (("shared", shared_bytes(2)),)),
        KernelText(TEXT, "product", warps=1, stages=STAGES),
    )


LOWERINGS = (_lowering("fragments_2x2_float16", "float16"), _lowering("fragments_2x2_bfloat16", "bfloat16"))
