"""Products whose lanes run along the depth, as tile programs: rows of A, and columns of B, are contiguous.

Every lane sums its own steps; then lanes are folded by halves, those of several sums together: two vectors become one in each
stage, until one vector holds the results. A sum costs some three instructions so, instead of a reduction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as pairs_of

from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Buffer, TileProgram, Value, Variable
from tilewright.tile.types import vector

AHEAD = 1024
"""How many elements ahead columns are prefetched at least: 4 KiB (32 x 4096 keys of 128 from memory, Zen 5; 2 and 8 KiB: 2%
slower)."""
LONG_DEPTH = 16384
"""Columns of so many elements are prefetched within themselves: further columns would leave the L2 before they are used."""
Step = Callable[[IndexLike, int, Value | None], None]
"""Adds a vector of the depth from a place on, to sums of a number, under the mask of the last lanes."""


def folded(builder: Builder, sums: Sequence[Value], segment: int) -> Value:
    """Neighbours become one, stage by stage: `segment` lanes of a sum become half as many. What is left has all in order."""
    sums, lanes = list(sums), sums[0].type.lanes
    while len(sums) > 1:
        half = segment // 2
        lower = [start + i for start in range(0, 2 * lanes, segment) for i in range(half)]
        upper = [half + lane for lane in lower]
        pairs = zip(sums[::2], sums[1::2], strict=True)
        sums, segment = [builder.shuffle(pair, lower) + builder.shuffle(pair, upper) for pair in pairs], half
    return sums[0]


class _Sums:
    """The parameters that both kinds of products have, and loops along the depth."""

    def __init__(self, lanes: int, dtype: str = "float32") -> None:
        self.builder = builder = Builder()
        self.lane = vector(dtype, lanes)
        self.k = builder.integer("k")
        self.a, self.a_row = builder.buffer("a", dtype), builder.integer("a_row")
        self.b, self.b_row = builder.buffer("b", dtype), builder.integer("b_row")
        self.c, self.c_row = builder.buffer("c", dtype, is_written=True), builder.integer("c_row")
        self.accumulate = builder.integer("accumulate")

    def zeros(self, count: int) -> list[Variable]:
        """Sums that begin."""
        return [self.builder.variable(self.builder.constant(0, self.lane)) for _ in range(count)]

    def steps(self, step: Step, unroll: int = 1) -> None:
        """All of the depth: several vectors at a time, then one, then what is left of one."""
        builder, lanes = self.builder, self.lane.lanes
        begin: IndexLike = 0
        for vectors in sorted({unroll, 1}, reverse=True):
            end = self.k - builder.define(IntegerOperation.REMAINDER, self.k, vectors * lanes)
            with builder.loop("p", begin, end, vectors * lanes) as p:
                for number in range(vectors):
                    step(p + number * lanes, number, None)
            begin = end
        rest = self.k - begin
        with builder.when(rest):
            step(begin, 0, builder.prefix(rest, self.lane))


@record
class DotTile:
    """So many rows of A times one column, `unroll` vectors at a time; `is_strided` where the depth is not contiguous."""

    lanes: int
    rows: int
    unroll: int
    is_strided: bool
    dtype: str = "float32"

    @property
    def suffix(self) -> str:
        """Part of a function's name."""
        return f"{self.rows}x1" + "_strided" * self.is_strided

    @property
    def is_apart(self) -> bool:
        """It is never inlined: its rows take most registers."""
        return True

    def program(self, name: str) -> TileProgram:
        """The function: parameters as the ABI's without `m` and `n`; `a_column` is the last one, only where it is not 1.

        >>> from tilewright.tile.printer import printed
        >>> text = printed(DotTile(lanes=4, rows=4, unroll=1, is_strided=False).program("dots"))
        >>> text.count("load a["), text.count("shuffle")
        (8, 10)
        """
        return _Dots(self).program(name)


DOT_ROWS = 4
"""Rows at a time: more streams of A meet in few sets of a cache, fewer share too little of B (of 1 to 16 rows, four of four steps
read fastest from L2 to memory)."""


class _Dots(_Sums):
    """Rows are taken four at a time; sum number j of a row takes the vectors j, j + unroll, ..."""

    def __init__(self, shape: DotTile) -> None:
        super().__init__(shape.lanes, shape.dtype)
        self.shape = shape
        self.a_column: IndexLike = self.builder.integer("a_column") if shape.is_strided else 1
        self.stride: IndexLike = self.b_row if shape.is_strided else 1

    def program(self, name: str) -> TileProgram:
        """All of it."""
        lanes = self.shape.lanes
        sums = [self.group(first) for first in range(0, lanes, DOT_ROWS)]
        self.store(folded(self.builder, sums, lanes // DOT_ROWS))
        return self.builder.program(name)

    def group(self, first: int) -> Value:
        """Some neighbouring rows folded into one vector; zero for rows that are not there."""
        builder, unroll = self.builder, self.shape.unroll
        zero = builder.constant(0, self.lane)
        rows = range(first, min(first + DOT_ROWS, self.shape.rows))
        if not rows:
            return zero
        sums = {row: self.zeros(unroll) for row in rows}

        def step(p: IndexLike, number: int, mask: Value | None) -> None:
            column = self.load(self.b, p * self.stride, self.stride, mask)
            for row in rows:
                left = self.load(self.a, self.a_row * row + p * self.a_column, self.a_column, mask)
                builder.assign(sums[row][number], builder.multiply_add(left, column, sums[row][number]))

        self.steps(step, unroll)
        totals = [_in_pairs(sums[row]) if row in sums else zero for row in range(first, first + DOT_ROWS)]
        return folded(builder, totals, self.lane.lanes)

    def load(self, buffer: Buffer, index: IndexLike, stride: IndexLike, mask: Value | None) -> Value:
        """Lanes along the depth."""
        return self.builder.load(buffer, index, self.lane, mask, stride)

    def store(self, sums: Value) -> None:
        """C is added where the caller asks for that; its rows lie side by side, or at a distance."""
        builder, rows = self.builder, self.shape.rows
        of_rows = builder.prefix(rows, self.lane) if rows < self.lane.lanes else None
        with builder.when(builder.define(IntegerOperation.EQUAL, self.c_row, 1)):
            total = builder.variable(sums)
            with builder.when(self.accumulate):
                builder.assign(total, builder.load(self.c, 0, self.lane, of_rows) + total)
            builder.store(self.c, 0, total, of_rows)
        with builder.otherwise():
            for row in range(rows):
                total = builder.variable(builder.shuffle([sums], [row]))
                with builder.when(self.accumulate):
                    builder.assign(total, builder.load(self.c, self.c_row * row, total.type) + total)
                builder.store(self.c, self.c_row * row, total)


def _in_pairs(terms: Sequence[Value]) -> Value:
    while len(terms) > 1:
        terms = [left + right for left, right in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


@record
class InnerTile:
    """So many rows of A times as many columns of B as there are lanes, or fewer (`has_part`), `group` columns at a time.

    `is_strided`: rows of A are not contiguous. With `prefetches` later columns are asked for.
    """

    lanes: int
    rows: int
    group: int
    has_part: bool
    is_strided: bool
    prefetches: bool = False

    @property
    def suffix(self) -> str:
        """Part of a function's name."""
        return f"{self.rows}x1" + "_edge" * self.has_part + "_strided" * self.is_strided

    @property
    def is_apart(self) -> bool:
        """Whether it is never inlined: what gathers needs registers."""
        return self.is_strided

    def program(self, name: str) -> TileProgram:
        """The function: parameters as the ABI's without `m`; `n` and `a_column` are last, where they differ from lanes and 1.

        >>> from tilewright.tile.printer import printed
        >>> printed(InnerTile(4, 2, 4, has_part=True, is_strided=False).program("inner")).splitlines()[0]
        'inner(k, a: float32, a_row, b: float32, b_row, c: float32 written, c_row, accumulate, n)'
        """
        return _Inner(self).program(name)


class _Inner(_Sums):
    """Each vector of a column serves all rows. Fewer columns than the tile has read the last one again."""

    def __init__(self, shape: InnerTile) -> None:
        super().__init__(shape.lanes)
        builder, self.shape = self.builder, shape
        self.n = builder.integer("n") if shape.has_part else None
        self.a_column: IndexLike = builder.integer("a_column") if shape.is_strided else 1

    def program(self, name: str) -> TileProgram:
        """All groups of columns, whose sums wait in memory: loops need the registers. Then the results of every row."""
        builder, shape = self.builder, self.shape
        ahead = self.ahead() if shape.prefetches else None
        groups = range(shape.lanes // shape.group)
        waiting = builder.scratch("waiting", "float32", len(groups) * shape.rows * shape.lanes)
        unknown = builder.define(IntegerOperation.OPAQUE, 0)
        for number in groups:
            first = number * shape.group
            for row, sums in enumerate(self.group(range(first, first + shape.group), ahead)):
                builder.store(waiting, unknown + (row * len(groups) + number) * shape.lanes, sums)
        mask = builder.prefix(self.n, self.lane) if self.n is not None else None
        for row in range(shape.rows):
            places = [(row * len(groups) + number) * shape.lanes for number in groups]
            of_groups = [builder.load(waiting, place, self.lane) for place in places]
            total = builder.variable(folded(builder, of_groups, shape.lanes // shape.group))
            with builder.when(self.accumulate):
                builder.assign(total, builder.load(self.c, self.c_row * row, self.lane, mask) + total)
            builder.store(self.c, self.c_row * row, total, mask)
        return builder.program(name)

    def ahead(self) -> IndexLike:
        """Elements from a column to what is prefetched: whole groups, or of long columns a part of them."""
        builder, group = self.builder, self.shape.group
        groups = builder.define(IntegerOperation.FLOOR_DIVIDE, AHEAD, self.k * group + 1)
        is_short = builder.define(IntegerOperation.LESS, self.k, LONG_DEPTH)
        return builder.define(IntegerOperation.CHOOSE, is_short, self.b_row * (groups * group + group), AHEAD)

    def group(self, columns: range, ahead: IndexLike | None) -> list[Value]:
        """The sums of some columns, folded into one vector for each row."""
        builder, rows = self.builder, range(self.shape.rows)
        starts = [self.column(number) * self.b_row for number in columns]
        sums = dict(zip(pairs_of(rows, range(len(columns))), self.zeros(len(rows) * len(columns)), strict=True))

        def step(p: IndexLike, _: int, mask: Value | None) -> None:
            of_rows = [self.left(row, p, mask) for row in rows]
            for j, start in enumerate(starts):
                column = builder.load(self.b, start + p, self.lane, mask)
                for i, left in enumerate(of_rows):
                    builder.assign(sums[i, j], builder.multiply_add(left, column, sums[i, j]))
            if ahead is not None and mask is None:
                for start in starts:
                    builder.prefetch(self.b, start + p + ahead)

        self.steps(step)
        return [folded(builder, [sums[i, j] for j in range(len(columns))], self.lane.lanes) for i in rows]

    def left(self, row: int, p: IndexLike, mask: Value | None) -> Value:
        """A vector of a row of A."""
        return self.builder.load(self.a, self.a_row * row + p * self.a_column, self.lane, mask, self.a_column)

    def column(self, number: int) -> IndexLike:
        """The number of a column that there is."""
        if self.n is None:
            return number
        return self.builder.define(IntegerOperation.MINIMUM, number, self.n - 1)
