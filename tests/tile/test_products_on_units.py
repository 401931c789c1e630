"""Products on matrix units as tile programs, by the interpreter: exact sums, extremes, and rows that are finished."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from tests.tile.test_register_tiles import drawn
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.interpreter import Interpreted
from tilewright.tile.products.tile import Finish, Shape
from tilewright.tile.products.units import BLOCK, UnitTile
from tilewright.tile.program import Buffer, Value
from tilewright.tile.rounding import Array
from tilewright.tile.verifier import verify

BYTES = [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"), ("uint8", "uint8")]


@dataclass(frozen=True, slots=True)
class PlusRows:
    """A number for every row is added, and the sum becomes a byte."""

    def declared(self, builder: Builder, lanes: int) -> Finish:
        return _Finish(builder.buffer("e0", "int32"), builder.integer("e0_row"))


@dataclass(frozen=True, slots=True)
class _Finish:
    terms: Buffer
    row: IndexLike

    def fetch(self, builder: Builder, shape: Shape) -> None:
        pass

    def value(self, builder: Builder, total: Value, place: tuple[IndexLike, int], count: IndexLike | None) -> Value:
        return builder.saturate(total + builder.broadcast(self.terms, self.row * place[0], total.type), "uint8")


def operands(tile: UnitTile, rows: int, depth: int, columns: int) -> tuple[Array, Array, Array]:
    """A, B, and B in groups of steps, with zeros behind the last one."""
    a, b = drawn(tile.left, (rows, depth), 1), drawn(tile.right, (depth, columns), 2)
    padded = np.zeros((-(-depth // tile.group) * tile.group, columns), b.dtype)
    padded[:depth] = b
    return a, b, np.ascontiguousarray(padded.reshape(-1, tile.group, columns).swapaxes(1, 2))


@pytest.mark.parametrize(("types", "blocks"), list(product(BYTES, product((1, 2), repeat=2))))
def test_sums_of_bytes_are_exact(types: tuple[str, str], blocks: tuple[int, int]) -> None:
    """Two passes; fewer rows and columns than blocks have, steps that are no whole groups, and rows of A that lie apart."""
    tile = UnitTile(*blocks, *types, "int32")
    run = Interpreted(verify(tile.program("product")))
    rows, columns = blocks[0] * BLOCK - 3, blocks[1] * BLOCK - 1
    for depth, by_columns, accumulate in ((0, False, 1), (5, True, 0), (67, False, 1), (128, False, 0), (130, True, 1)):
        a, b, panel = operands(tile, 2 * rows, depth, columns)
        c = np.full((2 * rows, columns + 2), 2**31 - 5, np.int32)
        expected = c.copy()
        expected[:, :columns] = a.astype(np.int64) @ b.astype(np.int64) + accumulate * c[:, :columns].astype(np.int64)
        strides = (1, 2 * rows) if by_columns else (depth, 1)
        given = np.ascontiguousarray(a.T if by_columns else a)
        row = columns * tile.group
        run(depth, given, *strides, panel, row, c, columns + 2, columns, accumulate, rows, 2)
        np.testing.assert_array_equal(c, expected)


def test_rows_are_finished() -> None:
    tile = UnitTile(2, 2, "uint8", "int8", "int32", PlusRows(), "uint8")
    run = Interpreted(verify(tile.program("product")))
    rows, depth, columns = 20, 6, 19
    a, b, panel = operands(tile, 2 * rows, depth, columns)
    a, b, panel = a // 32, b // 32, panel // 32
    terms, c = np.arange(-40, 40, dtype=np.int32), np.zeros((2 * rows, columns), np.uint8)
    run(depth, a, depth, 1, panel, columns * 4, c, columns, columns, 0, terms, 2, rows, 2)
    sums = a.astype(np.int64) @ b.astype(np.int64) + terms[::2, None]
    assert sums.min() < 0 < sums.max()
    np.testing.assert_array_equal(c, np.clip(sums, 0, 255))
