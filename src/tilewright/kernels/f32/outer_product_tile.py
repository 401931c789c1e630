"""Micro tiles of outer products.

The statements of a tile of the outer-product micro kernel, of one shape.

Tiles of the outer-product micro kernel for a left operand whose entries are known: the matrices of Winograd's transforms.

Entries are literals of the text: a step by 0 is left out, by 1 and -1 it is an addition or a subtraction. In 4 x 4 times 4 x 16
from L1 (Zen 3) that takes 8 cycles where broadcasts and multiply-adds take 25. Sums have the bits of those of a
multiply-add for every step, but for the sign of zeros, and for products of 0 with infinities and NaN, which are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewright.block.statements import Matrix
from tilewright.kernels.contract import LINE_BYTES, Epilogue
from tilewright.kernels.tile_ending import TileEnding
from tilewright.records import record

UNROLL = 4
ROWS_PER_POINTER = 4
"""Rows are addressed as pointer + {0, 1, 2, 3} * a_row, as addressing modes can: a pointer per row takes too many registers."""
LEFT_LONG, LEFT_AHEAD = 512, 64
"""Rows of at least so many steps are prefetched so many floats ahead, shorter ones in the next tile: 32 to 128 floats gained the
same (28x16 and 14x32, k of 2048 and 4096, A in memory, Zen 5), where the next tile's rows would leave L1 before they are used."""
LINE_FLOATS = LINE_BYTES // 4
"""Steps of K between prefetches of a row of A, which moves on by a cache line meanwhile if A is row-major."""
FULL_VECTORS, RIGHT_FLOATS_AHEAD, NARROW_FLOATS_AHEAD = 4, 2048, 3072
"""How far ahead B is prefetched in panels, of so many vectors and of fewer. Shares of a plain read of constants in memory
(Zen 5): 4 rows of 4 vectors 0.89 to 0.97 8 KiB ahead, 0.84 to 0.91 10 and 12 KiB ahead; 8 rows of 3 vectors 0.79 to 0.82
and 0.90 to 0.95."""
FEW_PANELS, RIGHT_ROWS_AHEAD = 4, 16
"""Rows of B in place of so few panels are prefetched so many rows ahead (4 x 4096 x 128 from memory, Zen 5: 6% less time)."""
WIDE_VECTORS, WIDE_VECTORS_AHEAD = 8, 64
"""Tiles so wide are for few rows: rows of B are prefetched so many vectors ahead (32 x 4096 rows of 8 vectors from memory, Zen 5:
32 and 128 vectors took 2% longer), of a B in place with many panels one panel."""
PREFETCH_STEPS, PREFETCH_UNROLL, MOST_PREFETCHED = 4, 2, 16
"""A tile asks for lines before every so many steps, of which so many are unrolled (4 make GCC 12 spill sums). Loops over so many
lines are unrolled."""
RIGHT_PANELS_AHEAD = 2
"""How far ahead B is prefetched in place: one panel comes too late, four gained less (12x32 and 6x64 in memory, same source)."""


class Accumulators:
    """Rows by vectors of sums, and the pointers to the rows of A."""

    __slots__ = ()
    rows: int
    vectors: int

    def _places(self) -> Iterator[tuple[int, int]]:
        """(row, vector) of every accumulator."""
        return product(range(self.rows), range(self.vectors))

    def _pointer_rows(self) -> range:
        return range(0, self.rows, ROWS_PER_POINTER)

    def _row(self, row: int) -> tuple[str, str]:
        """The pointer to a row of A, and the row's place behind it."""
        offset = row % ROWS_PER_POINTER
        return f"a_{row - offset}", ("0", "a_row", "2 * a_row", "a_row_3")[offset]


@record
class Tile(Accumulators):
    """The statements of one shape."""

    rows: int
    vectors: int
    edge: bool
    prefetch: tuple[str, ...] = ()
    unroll: int = UNROLL
    wide: bool = False
    epilogue: Epilogue | None = None
    lanes: int = 1
    prefetching: bool = False
    reduction_loops: int = 1

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.rows}x{self.vectors}" + ("_edge" if self.edge else "")

    def declarations(self) -> Iterator[str]:
        """Pointers into A, the accumulators, and what is prefetched before the first step."""
        if self.rows >= ROWS_PER_POINTER:
            yield "  const long a_row_3 = 3 * a_row;"
        for i in self._pointer_rows():
            yield f"  const float *a_{i} = a + {i} * a_row;"
        for i in range(self.rows):
            zeros = ", ".join(f"sum_{i}_{j} = {{0}}" for j in range(self.vectors))
            yield f"  tw_vec {zeros};"
        if "right" in self.prefetch:
            yield f"  const long ahead = {self._next_right()};"
        yield from self.ending().fetched(self.rows)
        if "target" in self.prefetch:
            for i, j in self._places():
                yield f"  __builtin_prefetch(c + {i} * c_row + {j} * TW_LANES, 1);"

    def loop(self) -> Iterator[str]:
        """All steps of all reduction loops, outermost first."""
        around = range(1, self.reduction_loops)
        yield from (f"  for (long q_{i} = 0; q_{i} < k_{i}; q_{i}++) {{" for i in reversed(around))
        yield from self.innermost_loop()
        for i in around:
            count, of_a, of_b = (f"k_{i - 1}", f"a_step_{i - 1}", f"b_step_{i - 1}") if i > 1 else ("k", "a_column", "b_row")
            yield from (f"  a_{row} += a_step_{i} - {count} * {of_a};" for row in self._pointer_rows())
            yield f"  b += b_step_{i} - {count} * {of_b};"
            yield "  }"

    def innermost_loop(self) -> Iterator[str]:
        """All steps of K; where A of the next rows is prefetched, in groups of the steps that use up one line of a row."""
        unroll = [] if self.edge else [f"#pragma GCC unroll {self.unroll}"]
        if "left" not in self.prefetch:
            yield from self.prefetching_loop() if self.prefetching else self.plain_loop()
            return
        yield f"  for (long group = 0; group < k; group += {LINE_FLOATS}) {{"
        yield f"    const long end = group + {LINE_FLOATS} < k ? group + {LINE_FLOATS} : k;"
        yield f"    const float *next = a_0 + {self._next_left()};"
        for _ in range(self.rows):
            yield "    __builtin_prefetch(next);"
            yield "    next += a_row;"
            yield "    TW_OPAQUE(next);"
        yield from (*unroll, "  for (long p = group; p < end; p++) {", *self.step(), "  }", "  }")

    def plain_loop(self) -> Iterator[str]:
        """All steps of K. The last ones stand apart: Clang leaves unrolled steps in their midst, and spills, where k is known."""
        if self.edge or self.unroll == 1:
            yield from ("  for (long p = 0; p < k; p++) {", *self.step(), "  }")
            return
        yield f"  const long whole = k - k % {self.unroll};"
        yield from (f"#pragma GCC unroll {self.unroll}", "  for (long p = 0; p < whole; p++) {", *self.step(), "  }")
        yield from ("#pragma GCC unroll 1", "  for (long p = whole; p < k; p++) {", *self.step(), "  }")

    def prefetching_loop(self) -> Iterator[str]:
        """As the plain loop, asking for some lines before every group of steps."""
        unroll = 1 if self.edge else PREFETCH_UNROLL
        yield f"  const long whole = k - k % {PREFETCH_STEPS}, asked = ({PREFETCH_STEPS} * lines + k - 1) / k;"
        yield f"  for (long group = 0; group < whole; group += {PREFETCH_STEPS}) {{"
        yield from (f"#pragma GCC unroll {MOST_PREFETCHED}", "    for (long line = 0; line < asked; line++)")
        yield f"      __builtin_prefetch(next + line * {LINE_FLOATS});"
        yield f"    next += asked * {LINE_FLOATS};"
        yield from (
            f"#pragma GCC unroll {unroll}",
            f"    for (long p = 0; p < {PREFETCH_STEPS}; p++) {{",
            *self.step(),
            "    }",
            "  }",
        )
        yield from ("#pragma GCC unroll 1", "  for (long p = whole; p < k; p++) {", *self.step(), "  }")

    def step(self) -> Iterator[str]:
        """One step of K. TW_KEEP stops GCC 12 from loading a vector again for each row; one row's FMAs load best themselves."""
        for j in range(self.vectors):
            yield f"    tw_vec b_{j} = {self._load('b', j)};"
            if self.rows > 1:
                yield f"    TW_KEEP(b_{j});"
        yield from self.products()
        for i in self._pointer_rows():
            yield f"    a_{i} += a_column;"
            yield f"    TW_OPAQUE(a_{i});"
        if "right" in self.prefetch:
            for j in range(self.vectors):
                yield f"    __builtin_prefetch(b + ahead + {j} * TW_LANES);"
        yield "    b += b_row;"

    def products(self) -> Iterator[str]:
        """Broadcasts of A and multiply-adds of a step, row by row."""
        for i in range(self.rows):
            yield f"    tw_vec a_{i}_p = tw_splat({'{}[{}]'.format(*self._row(i))});"
            yield self.row_products(i)

    def row_products(self, row: int) -> str:
        """The multiply-adds of a row with all vectors of B."""
        sums = ((f"sum_{row}_{j}", f"b_{j}") for j in range(self.vectors))
        return "    " + " ".join(f"{total} = tw_multiply_add(a_{row}_p, {right}, {total});" for total, right in sums)

    def finish(self) -> Iterator[str]:
        """Add C where asked to, and store."""
        yield "  if (accumulate) {"
        for i, j in self._places():
            yield f"    sum_{i}_{j} = {self._load(f'c + {i} * c_row', j)} + sum_{i}_{j};"
        yield "  }"
        yield from self.ending().columns()
        yield from self.ending().stores(range(self.rows), "sum_{row}_{vector}")

    def ending(self) -> TileEnding:
        """How the tile ends."""
        return TileEnding(self.epilogue, self.vectors, self.lanes, self.edge)

    def _next_left(self) -> str:
        """The next tile of rows, or further on in long rows: with C prefetched as well no register is left to choose."""
        rows = f"{self.rows} * a_row"
        return rows if "target" in self.prefetch else f"(k < {LEFT_LONG} ? {rows} : {LEFT_AHEAD} * a_column)"

    def _next_right(self) -> str:
        """Later rows of a panel; of a B in place with many of them, the same rows of a later panel."""
        width = f"{self.vectors} * TW_LANES"
        if self.wide:
            return f"b_row > {FEW_PANELS} * {width} ? {width} : {WIDE_VECTORS_AHEAD // self.vectors} * b_row"
        ahead = RIGHT_FLOATS_AHEAD if self.vectors >= FULL_VECTORS else NARROW_FLOATS_AHEAD
        rows = f"(b_row > {width} ? {RIGHT_ROWS_AHEAD} : {ahead // (self.vectors * self.lanes)}) * b_row"
        return f"b_row > {FEW_PANELS} * {width} ? {RIGHT_PANELS_AHEAD} * {width} : {rows}"

    def _load(self, pointer: str, vector: int) -> str:
        address = f"{pointer} + {vector} * TW_LANES"
        return f"tw_load_part({address}, last)" if self.edge and vector == self.vectors - 1 else f"tw_load({address})"


@record
class KnownLeftTile(Tile):
    """A tile that has as many rows, and takes as many steps, as the matrix."""

    matrix: Matrix = ()

    def __post_init__(self) -> None:
        assert self.rows == len(self.matrix), f"{self.rows} rows for a matrix of {len(self.matrix)}"

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
