"""Tiles of the outer-product micro kernel for a left operand whose entries are known: the matrices of Winograd's transforms.

Entries are literals of the text: a step by 0 is left out, by 1 and -1 it is an addition or a subtraction. In 4 x 4 times 4 x 16
from L1 (Zen 3, AVX2) that takes 8 cycles where broadcasts and multiply-adds take 25. Sums have the bits of those of a
multiply-add for every step, but for the sign of zeros, and for products of 0 with infinities and NaN, which are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.kernels.contract import Matrix
from tilewright.kernels.f32.outer_product_tile import Tile


class KnownLeftTile(Tile):
    """A tile that has as many rows, and takes as many steps, as the matrix."""

    def __init__(self, matrix: Matrix, *arguments: Any) -> None:
        super().__init__(*arguments)
        assert self.rows == len(matrix), f"{self.rows} rows for a matrix of {len(matrix)}"
        self.matrix = matrix

    def declarations(self) -> Iterator[str]:
        """What is prefetched before the first step: no sum begins at 0."""
        yield "  (void)k, (void)a, (void)a_row, (void)a_column;"
        yield from self.ending().fetched(self.rows)

    def loop(self) -> Iterator[str]:
        """All steps, one after the other."""
        begun: set[int] = set()
        for step, entries in enumerate(zip(*self.matrix, strict=True)):
            for j in range(self.vectors):
                yield f"  const tw_vec b_{step}_{j} = {self._load(f'b + {step} * b_row', j)};"
            for row, entry in enumerate(entries):
                if entry:
                    yield from self._added(row, step, entry, begun=row in begun)
                    begun.add(row)
        for row in set(range(self.rows)) - begun:
            yield from (f"  tw_vec sum_{row}_{j} = {{0}};" for j in range(self.vectors))

    def _added(self, row: int, step: int, entry: float, *, begun: bool) -> Iterator[str]:
        for j in range(self.vectors):
            right, total = f"b_{step}_{j}", f"sum_{row}_{j}"
            yield f"  {total} = {_plus(total, entry, right)};" if begun else f"  tw_vec {total} = {_times(entry, right)};"


def _times(entry: float, vector: str) -> str:
    if abs(entry) == 1:
        return vector if entry > 0 else f"-{vector}"
    return f"tw_splat({_literal(entry)}) * {vector}"


def _plus(total: str, entry: float, vector: str) -> str:
    if abs(entry) == 1:
        return f"{total} {'+' if entry > 0 else '-'} {vector}"
    return f"tw_multiply_add(tw_splat({_literal(entry)}), {vector}, {total})"


def _literal(entry: float) -> str:
    """An entry in C, exactly.

    >>> _literal(-2.25)
    '-0x1.2000000000000p+1f'
    """
    return f"{entry.hex()}f"
