"""Products on matrix units with register tiles of 16 rows of 64 bytes, as tile programs.

Two tiles of A and two of B are multiplied to four of C at a time, or fewer. A is read in place where its rows are contiguous and
steps fill groups; B's panels of interleaved steps are tiles as they lie. What the last steps of a depth lack is filled up with
zeros in scratch memory. Tiles cannot be computed with: an epilogue takes the sums of all rows from scratch memory.
"""

from __future__ import annotations

from itertools import product as pairs_of

from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.products.tile import Ending
from tilewright.tile.program import TileProgram, Value, Variable
from tilewright.tile.types import BITS, Type, vector

BLOCK = 16
"""Rows, and columns of 32 bits, of a tile."""
MOST_BLOCKS = 2
"""Of rows, and of columns."""
SUM_BITS = 32


@record
class UnitTile:
    """So many blocks of rows and of columns, the last ones of which may be smaller: element types of A, B and the sums.

    With an `ending` C may have another type, `stored`: it holds no sums then.
    """

    row_blocks: int
    column_blocks: int
    left: str
    right: str
    total: str
    ending: Ending | None = None
    stored: str = ""

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.row_blocks}x{self.column_blocks}"

    @property
    def is_apart(self) -> bool:
        """It is never inlined: it is long, and configures the unit."""
        return True

    @property
    def group(self) -> int:
        """Neighbouring steps in a lane."""
        return SUM_BITS // BITS[self.left]

    def program(self, name: str) -> TileProgram:
        """The function: parameters as the ABI's without `m`, then `rows` of a pass and the number of `passes`.

        >>> from tilewright.tile.printer import printed
        >>> text = printed(UnitTile(1, 2, "uint8", "int8", "int32").program("tiles"))
        >>> text.count("product s"), text.count("store s"), text.count("release")
        (2, 2, 1)
        """
        return _Unit(self).program(name)


class _Unit:
    """One function while it is built."""

    def __init__(self, tile: UnitTile) -> None:
        self.builder = builder = Builder()
        self.tile, self.group = tile, tile.group
        self.k = builder.integer("k")
        self.a = builder.buffer("a", tile.left)
        self.a_row, self.a_column = builder.integer("a_row"), builder.integer("a_column")
        self.b, self.b_row = builder.buffer("b", tile.right), builder.integer("b_row")
        self.c = builder.buffer("c", tile.stored or tile.total, is_written=True)
        self.c_row, self.n, self.accumulate = builder.integer("c_row"), builder.integer("n"), builder.integer("accumulate")
        self.finish = tile.ending.declared(builder, BLOCK) if tile.ending is not None else None
        self.rows, self.passes = builder.integer("rows"), builder.integer("passes")
        self.steps = BLOCK * self.group
        """Of the depth, in a tile."""
        self.width = tile.column_blocks * BLOCK

    def program(self, name: str) -> TileProgram:
        """All passes over rows of A, within one configuration."""
        builder = self.builder
        self.configure()
        with builder.loop("turn", 0, self.passes) as turn:
            first = turn * self.rows
            self.begin(first)
            with builder.loop("p", 0, self.k, self.steps) as p:
                self.load_left(first, p)
                self.load_right(p)
                for i, j in self.places():
                    builder.add_product(self.sums[i, j], self.left[i], self.right[j])
            self.end(first)
        builder.release()
        return builder.program(name)

    def places(self) -> list[tuple[int, int]]:
        """(block of rows, block of columns) of every tile of sums."""
        return [*pairs_of(range(self.tile.row_blocks), range(self.tile.column_blocks))]

    def configure(self) -> None:
        """Sums, then tiles of A, then those of B: in whole blocks, the last one of what is left; of few steps in their groups."""
        builder, of = self.builder, self.tile
        rows, columns = (
            [*[BLOCK] * (blocks - 1), extent - BLOCK * (blocks - 1)]
            for blocks, extent in ((self.tile.row_blocks, self.rows), (self.tile.column_blocks, self.n))
        )
        self.groups = self.groups_of(builder.define(IntegerOperation.MINIMUM, self.k, self.steps))
        sums = [(Type(of.total, BLOCK, BLOCK), rows[i], columns[j]) for i, j in self.places()]
        left = [(Type(of.left, self.steps, BLOCK), one, self.groups * self.group) for one in rows]
        right = [(Type(of.right, self.steps, BLOCK), self.groups, one * self.group) for one in columns]
        tiles = builder.tiles(*sums, *left, *right)
        self.sums = dict(zip(self.places(), tiles, strict=False))
        self.left: list[Variable] = tiles[len(sums) : len(sums) + len(left)]
        self.right: list[Variable] = tiles[len(sums) + len(left) :]

    def groups_of(self, steps: IndexLike) -> IndexLike:
        """How many groups some steps begin."""
        return self.builder.define(IntegerOperation.FLOOR_DIVIDE, steps + (self.group - 1), self.group)

    def target(self, first: IndexLike, i: int, j: int) -> IndexLike:
        """Where a tile of C lies."""
        return (first + BLOCK * i) * self.c_row + BLOCK * j

    def begin(self, first: IndexLike) -> None:
        """Sums begin at zero, or with C where that holds sums and the caller asks for it."""
        builder = self.builder
        if self.tile.stored:
            self.clear()
            return
        with builder.when(self.accumulate):
            for (i, j), tile in self.sums.items():
                builder.load_tile(tile, self.c, self.target(first, i, j), self.c_row)
        with builder.otherwise():
            self.clear()

    def clear(self) -> None:
        """All sums are zero."""
        for tile in self.sums.values():
            self.builder.zero(tile)

    # Operands.

    def load_left(self, first: IndexLike, p: IndexLike) -> None:
        """Tiles of A: in place, or of a copy where its rows are not contiguous or steps do not fill the groups."""
        builder, steps = self.builder, self.builder.define(IntegerOperation.MINIMUM, self.k - p, self.steps)
        is_contiguous = builder.define(IntegerOperation.EQUAL, self.a_column, 1)
        is_whole = builder.define(IntegerOperation.EQUAL, steps, self.groups * self.group)
        copy = builder.scratch("left", self.tile.left, MOST_BLOCKS * BLOCK * self.steps)
        start = first * self.a_row + p * self.a_column
        with builder.when(builder.define(IntegerOperation.BOTH, is_contiguous, is_whole)):
            for number, tile in enumerate(self.left):
                builder.load_tile(tile, self.a, start + self.a_row * (BLOCK * number), self.a_row)
        with builder.otherwise():
            lane = vector(self.tile.left, self.steps)
            with builder.loop("i", 0, self.rows) as i:
                with builder.when(is_contiguous):
                    row = builder.load(self.a, start + i * self.a_row, lane, builder.prefix(steps, lane))
                    builder.store(copy, i * self.steps, row)
                with builder.otherwise():
                    builder.store(copy, i * self.steps, builder.constant(0, lane))
                    with builder.loop("q", 0, steps) as q:
                        element = builder.load(self.a, start + i * self.a_row + q * self.a_column, lane.scalar)
                        builder.store(copy, i * self.steps + q, element)
            for number, tile in enumerate(self.left):
                builder.load_tile(tile, copy, BLOCK * number * self.steps, self.steps)

    def load_right(self, p: IndexLike) -> None:
        """Tiles of B: in place, or of a copy where the last steps have fewer groups than tiles are configured for."""
        builder, left = self.builder, self.k - p
        groups = self.groups_of(builder.define(IntegerOperation.MINIMUM, left, self.steps))
        copy = builder.scratch("right", self.tile.right, self.steps * MOST_BLOCKS * BLOCK)
        start = builder.define(IntegerOperation.FLOOR_DIVIDE, p, self.group) * self.b_row
        with builder.when(builder.define(IntegerOperation.EQUAL, groups, self.groups)):
            for j, tile in enumerate(self.right):
                builder.load_tile(tile, self.b, start + BLOCK * j * self.group, self.b_row)
        with builder.otherwise():
            lane, row = vector(self.tile.right, self.steps), self.width * self.group
            with builder.loop("g", 0, self.groups) as g:
                is_there = builder.define(IntegerOperation.LESS, g, groups)
                for j in range(self.tile.column_blocks):
                    place = BLOCK * j * self.group
                    count = builder.define(IntegerOperation.CHOOSE, is_there, self.n * self.group - place, 0)
                    found = builder.load(self.b, start + g * self.b_row + place, lane, builder.prefix(count, lane))
                    builder.store(copy, g * row + place, found)
            for j, tile in enumerate(self.right):
                builder.load_tile(tile, copy, BLOCK * j * self.group, row)

    # Results.

    def end(self, first: IndexLike) -> None:
        """Sums are stored, or finished row by row."""
        builder = self.builder
        if self.finish is None:
            for (i, j), tile in self.sums.items():
                builder.store_tile(self.c, self.target(first, i, j), self.c_row, tile)
            return
        sums = builder.scratch("sums", self.tile.total, MOST_BLOCKS * BLOCK * self.width)
        for (i, j), tile in self.sums.items():
            builder.store_tile(sums, BLOCK * i * self.width + BLOCK * j, self.width, tile)
        with builder.loop("row", 0, self.rows) as row:
            for j in range(self.tile.column_blocks):
                is_last = j == self.tile.column_blocks - 1
                count = self.n - BLOCK * j if is_last else None
                total = builder.load(sums, row * self.width + BLOCK * j, vector(self.tile.total, BLOCK))
                finished = self.finish.value(builder, total, (first + row, j), count)
                mask: Value | None = builder.prefix(count, finished.type) if count is not None else None
                builder.store(self.c, (first + row) * self.c_row + BLOCK * j, finished, mask)
