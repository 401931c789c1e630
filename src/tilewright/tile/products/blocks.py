"""The register tile of a product of float32 in accumulators of 4 x 4 sums, as POWER10's matrix unit has them.

An instruction adds the outer product of four elements of A and four of B. Then the sums go through scratch memory into vectors.
"""

from __future__ import annotations

from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.products.arithmetic import Arithmetic
from tilewright.tile.products.tile import Options, ProductTile, Shape
from tilewright.tile.program import Value, Variable
from tilewright.tile.types import Type, vector

BLOCK = 4
"""Rows and columns of an accumulator."""


class BlockTile(ProductTile):
    """A tile of blocks of BLOCK x BLOCK accumulators. Its rows may be no multiple of BLOCK: those that the last block has beyond
    them are multiplied as zeros, and not stored."""

    def __init__(self, arithmetic: Arithmetic, shape: Shape, options: Options) -> None:
        super().__init__(arithmetic, shape, options)
        self.block_rows = range(0, shape.rows, BLOCK)

    def steps(self, left: IndexLike, right: IndexLike) -> None:
        """All of k, once for a stride of 1 between rows of A and once for others; then the accumulators become vectors."""
        builder, width = self.builder, self.shape.vectors * BLOCK
        places = [(i, j) for i in self.block_rows for j in range(self.shape.vectors)]
        made = builder.tiles(*((Type(self.arithmetic.total, BLOCK, BLOCK), BLOCK, BLOCK) for _ in places))
        tiles = dict(zip(places, made, strict=True))
        with builder.when(builder.define(IntegerOperation.EQUAL, self.a_row, 1)):
            self.block_steps(tiles, left, right, 1)
        with builder.otherwise():
            self.block_steps(tiles, left, right, self.a_row)
        sums = builder.scratch("sums", self.arithmetic.total, len(self.block_rows) * BLOCK * width)
        for (i, j), tile in tiles.items():
            builder.store_tile(sums, i * width + j * BLOCK, width, tile)
        builder.release()
        for (i, j), total in self.sums.items():
            builder.assign(total, builder.load(sums, i * width + j * BLOCK, total.type))

    def block_steps(self, tiles: dict[tuple[int, int], Variable], left: IndexLike, right: IndexLike, stride: IndexLike) -> None:
        """One step after the other."""
        with self.builder.loop("p", 0, self.depths[0]) as p:
            columns = [self.load_right(right + p * self.b_row, j) for j in range(self.shape.vectors)]
            for i in self.block_rows:
                rows = self.load_left(left + i * self.a_row + p * self.a_column, i, stride)
                for j, column in enumerate(columns):
                    self.builder.add_product(tiles[i, j], rows, column)

    def load_left(self, place: IndexLike, first: int, stride: IndexLike) -> Value:
        """Elements of up to four rows of A."""
        lane = vector(self.arithmetic.left, BLOCK)
        count = self.shape.rows - first
        mask = self.builder.prefix(count, lane) if count < BLOCK else None
        return self.builder.load(self.a, place, lane, mask, stride)
