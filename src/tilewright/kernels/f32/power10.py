"""float32 matrix kernels for POWER10's matrix unit (MMA): outer products of four rows and four columns in one instruction.

`xvf32gerpp` adds the products of four elements of A and four of B to an accumulator of 4x4 floats, each rounded once. There are
eight accumulators: tiles of 8 filters by 16 windows (V. Ferrari et al., "Advancing Direct Convolution Using Convolution Slicing
Optimization and ISA Extensions", ACM TACO 20(4), 2023, section 4), and of 16 by 8. Instructions: Power ISA 3.1, section 7.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.kernels.dialects.power10 import DIALECT
from tilewright.kernels.f32.outer_product_tile import Tile, block_kernel

BLOCK = 4
"""Rows and columns of an accumulator."""


class BlockTile(Tile):
    """The statements of one shape in accumulators of 4x4. Rows that are missing in the last block repeat its first row."""

    def declarations(self) -> Iterator[str]:
        """Pointers to the blocks of rows of A, and accumulators of zeros."""
        for i in self._pointer_rows():
            yield f"  const float *a_{i} = a + {i} * a_row;"
        for block in self._blocks():
            yield f"  __vector_quad {block};"
            yield f"  __builtin_mma_xxsetaccz(&{block});"

    def loop(self) -> Iterator[str]:
        """All steps, where rows of A lie side by side and where they do not; then the accumulators as vectors."""
        yield "  if (a_row == 1) {"
        yield from self._steps(side_by_side=True)
        yield "  } else {"
        yield from self._steps(side_by_side=False)
        yield "  }"
        for i in self._pointer_rows():
            for j in range(self.vectors):
                yield f"  tw_vec rows_{i}_{j}[{BLOCK}];"
                yield f"  __builtin_mma_disassemble_acc(rows_{i}_{j}, &block_{i}_{j});"
        for i, j in self._places():
            yield f"  tw_vec sum_{i}_{j} = rows_{i - i % BLOCK}_{j}[{i % BLOCK}];"

    def _steps(self, *, side_by_side: bool) -> Iterator[str]:
        yield "  for (long p = 0; p < k; p++) {"
        for j in range(self.vectors):
            yield f"    const tw_bytes b_{j} = (tw_bytes){self._load('b', j)};"
        for i in self._pointer_rows():
            count = min(BLOCK, self.rows - i)
            whole = f"tw_load(a_{i})" if count == BLOCK else f"tw_load_part(a_{i}, {count})"
            yield f"    const tw_bytes a_{i}_p = (tw_bytes){whole if side_by_side else f'tw_rows(a_{i}, a_row, {count})'};"
            for j in range(self.vectors):
                yield f"    __builtin_mma_xvf32gerpp(&block_{i}_{j}, a_{i}_p, b_{j});"
        yield from (f"    a_{i} += a_column;" for i in self._pointer_rows())
        yield "    b += b_row;"
        yield "  }"

    def _blocks(self) -> Iterator[str]:
        return (f"block_{i}_{j}" for i in self._pointer_rows() for j in range(self.vectors))


# Not measured, for want of a machine: the matrix unit's gain of 2, and the share that tiles reach on CPUs at hand.
KERNELS = tuple(
    block_kernel(DIALECT, rows, vectors, BlockTile, peak_share=2 * 0.9, rows_per_instruction=BLOCK)
    for rows, vectors in ((8, 4), (16, 2))
)
