"""The register tile of a product, of one shape, as a tile program.

Sums of rows x vectors stay in registers. A step of the depth loads vectors of B, and for each row broadcasts an element of A (or
a group of them, see `arithmetic.py`). Every sum is added up in increasing steps, from zero; C is added last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product as pairs_of
from typing import Protocol

from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.products.arithmetic import Arithmetic
from tilewright.tile.program import Buffer, Place, TileProgram, Value, Variable
from tilewright.tile.types import BITS, Type, vector

LINE_BYTES = 64
LEFT, RIGHT, TARGET = "left", "right", "target"
LEFT_LONG, LEFT_AHEAD = 512, 64
"""Rows of at least so many steps are prefetched so many elements ahead, others in the next tile: 32 to 128 floats gained the same
(28x16 and 14x32, k of 2048 and 4096, A in memory, Zen 5), where the next tile's rows would leave L1 before they are used."""
FULL_VECTORS, RIGHT_BYTES_AHEAD, NARROW_BYTES_AHEAD = 4, 8192, 12288
"""How far ahead B is prefetched in panels, of so many vectors and of fewer. Shares of a plain read of constants in memory
(Zen 5): 4 rows of 4 vectors 0.89 to 0.97 8 KiB ahead, 0.84 to 0.91 10 and 12 KiB ahead; 8 rows of 3 vectors 0.79 to 0.82
and 0.90 to 0.95."""
FEW_PANELS, RIGHT_ROWS_AHEAD = 4, 16
"""Rows of B in place of so few panels are prefetched so many rows ahead (4 x 4096 x 128 from memory, Zen 5: 6% less time)."""
WIDE_VECTORS, WIDE_VECTORS_AHEAD = 8, 64
"""Tiles so wide are for few rows: rows of B are prefetched so many vectors ahead (32 x 4096 rows of 8 vectors from memory, Zen 5:
32 and 128 vectors took 2% longer), of a B in place with many panels one panel."""
RIGHT_PANELS_AHEAD = 2
"""How far ahead B is prefetched in place: one panel comes too late, four gained less (12x32 and 6x64 in memory, same source)."""
TARGET_STEPS = 64
"""From so many steps on a tile asks for C where its kernel says so. C in memory (6x16, AVX2, Zen 4): 64 steps take 0.74 to 0.79
of their time, 256 0.91; C in caches: 64 steps and more 1.00, 16 steps 1.04, 3 steps 1.07."""
PREFETCH_STEPS = 4
"""A tile that prefetches what its caller names asks for lines before every so many steps."""


class Finish(Protocol):
    """An epilogue of a tile, whose operands are parameters."""

    def fetch(self, builder: Builder, shape: Shape) -> None:
        """Prefetch operands, before the first step."""

    def value(self, builder: Builder, total: Value, place: tuple[IndexLike, int], count: IndexLike | None) -> Value:
        """What is stored of a complete sum at (row, vector); of a last vector in part only the first `count` lanes are read."""


class Ending(Protocol):
    """What ends a tile."""

    def declared(self, builder: Builder, lanes: int) -> Finish:
        """Its operands, as parameters behind those of the product."""


@record
class Shape:
    """Rows, vectors of columns, and lanes of a vector; whether only some lanes of the last vector count: the first `last`."""

    rows: int
    vectors: int
    lanes: int
    has_part: bool = False

    @property
    def suffix(self) -> str:
        """Part of a function's name."""
        return f"{self.rows}x{self.vectors}{'_edge' * self.has_part}"


@record
class Options:
    """How a tile loops, prefetches and ends.

    `prefetch` names operands: A of the next tile of rows, later rows of B, this C; `fetches_target` asks for C, too, but not
    where steps are few (`TARGET_STEPS`), nor where C goes past the caches. With `prefetches_next` the function takes what
    to prefetch instead (`next`, `next_step`, `lines`). With an `ending` C may have another type, `stored`: it holds no sums then.
    Where it `is_streamed`, whole lines of C go past the caches, where rows of C begin with them.
    """

    reduction_loops: int = 1
    prefetch: tuple[str, ...] = ()
    fetches_target: bool = False
    prefetches_next: bool = False
    is_wide: bool = False
    """Whether the kernel's whole tile has `WIDE_VECTORS`."""
    unroll: int = 1
    ending: Ending | None = None
    stored: str = ""
    is_streamed: bool = False
    in_blocks: bool = False
    """Whether sums lie in accumulators of a matrix unit (`blocks.py`)."""
    left_at_once: int = 1
    """Elements of A that a step holds in registers."""
    known: tuple[tuple[float, ...], ...] = ()
    """The rows of A, of a tile that has as many and takes as many steps: it does not read A. Entries of 0 are left out, and no
    sum begins at 0, so that zeros may have another sign."""


PLAIN = Options()


def product(name: str, arithmetic: Arithmetic, shape: Shape, options: Options = PLAIN) -> TileProgram:
    """The function of one shape, with the parameters of `kernels/contract.py` without `m` and `n`.

    >>> from tilewright.tile.printer import printed
    >>> from tilewright.tile.products.arithmetic import F32
    >>> print(printed(product("tile", F32, Shape(1, 1, 8))))
    tile(k, a: float32, a_row, a_column, b: float32, b_row, c: float32 written, c_row, accumulate)
      variable s0 = 0: float32x8
      for p from 0 to k by 1
        v0 = broadcast a[a_column*p]: float32x8
        v1 = load b[b_row*p]: float32x8
        v2 = multiply-add v0, v1, s0: float32x8
        s0 = v2
      if accumulate
        v3 = load c[0]: float32x8
        v4 = add v3, s0: float32x8
        s0 = v4
      store c[0] = s0
    """
    return ProductTile(arithmetic, shape, options).program(name)


class ProductTile:
    """One tile while it is built."""

    def __init__(self, arithmetic: Arithmetic, shape: Shape, options: Options) -> None:
        self.builder = builder = Builder()
        self.arithmetic, self.shape, self.options = arithmetic, shape, options
        self.lane = arithmetic.lane(shape.lanes)
        outer = range(1, options.reduction_loops)
        self.depths = [builder.integer("k"), *(builder.integer(f"k_{i}") for i in outer)]
        self.a = builder.buffer("a", arithmetic.left)
        self.a_row, self.a_column = builder.integer("a_row"), builder.integer("a_column")
        self.a_steps = [builder.integer(f"a_step_{i}") for i in outer]
        self.b = builder.buffer("b", arithmetic.right)
        self.b_row = builder.integer("b_row")
        self.b_steps = [builder.integer(f"b_step_{i}") for i in outer]
        self.c = builder.buffer("c", options.stored or arithmetic.total, is_written=True)
        self.c_row, self.accumulate = builder.integer("c_row"), builder.integer("accumulate")
        self.finish = options.ending.declared(builder, shape.lanes) if options.ending is not None else None
        self.next = builder.buffer("next", arithmetic.right) if options.prefetches_next else None
        self.next_step: IndexLike = builder.integer("next_step") if self.next else 0
        self.lines: IndexLike = builder.integer("lines") if self.next else 0
        self.last = builder.integer("last") if shape.has_part else shape.lanes
        total = vector(arithmetic.total, shape.lanes)
        for one in (self.lane, total):
            self.mask(shape.vectors - 1, one)  # before all loops
        self.sums = {place: builder.variable(builder.constant(0, total)) for place in self.places()}

    def places(self) -> Iterator[tuple[int, int]]:
        """(row, vector) of every sum."""
        return pairs_of(range(self.shape.rows), range(self.shape.vectors))

    def program(self, name: str) -> TileProgram:
        """All of it."""
        if TARGET in self.options.prefetch:
            for i, j in self.places():
                self.builder.prefetch(self.c, self.target(i, j))
        if self.options.fetches_target and not self.options.is_streamed:
            self.fetch_target()
        if self.finish is not None:
            self.finish.fetch(self.builder, self.shape)
        if self.arithmetic.group > 1:
            self.grouped_tile()
            return self.builder.program(name)
        if self.options.known:
            self.known_steps()
        else:
            self.outer_loops(self.options.reduction_loops - 1, 0, 0)
        self.end()
        return self.builder.program(name)

    def fetch_target(self) -> None:
        """Prefetch C where steps are many: a line for each line's width of a row, at its last element.

        Where rows begin inside of a line, the tile before has asked for the first.
        """
        line, width = LINE_BYTES * 8 // BITS[self.c.dtype], self.shape.vectors * self.shape.lanes
        last = width if not self.shape.has_part else self.last + (width - self.shape.lanes)
        with self.builder.when(self.builder.define(IntegerOperation.LESS, TARGET_STEPS - 1, self.depths[0])):
            for row in range(self.shape.rows):
                for end in (*range(line, width, line), last):
                    self.builder.prefetch(self.c, self.target(row, 0) + (end - 1))

    def end(self) -> None:
        """Add C where asked to, and store."""
        if not self.options.stored:
            self.add_target()
        if self.may_stream():
            with self.builder.when(self.begins_lines()):
                self.store(is_streamed=True)
            with self.builder.otherwise():
                self.store()
        else:
            self.store()

    def store(self, *, is_streamed: bool = False) -> None:
        """All sums, finished."""
        for i, j in self.places():
            total: Value = self.sums[i, j]
            if self.finish is not None:
                total = self.finish.value(self.builder, total, (i, j), self.last if self.is_part(j) else None)
            self.builder.store(self.c, self.target(i, j), total, self.mask(j, total.type), is_streamed=is_streamed)

    def may_stream(self) -> bool:
        """Whether rows of the tile are whole lines, to be stored past the caches."""
        shape = self.shape
        is_whole = not shape.has_part and shape.vectors * shape.lanes * BITS[self.c.dtype] % (8 * LINE_BYTES) == 0
        return self.options.is_streamed and is_whole

    def begins_lines(self) -> IndexLike:
        """Whether all rows of C begin with lines."""
        builder, row_bytes = self.builder, self.c_row * (BITS[self.c.dtype] // 8)
        places = builder.define(IntegerOperation.ADDRESS, Place(self.c.name, 0)), row_bytes
        first, others = (builder.define(IntegerOperation.REMAINDER, one, LINE_BYTES) for one in places)
        return builder.define(IntegerOperation.EQUAL, first + others, 0)

    def mask(self, vector_number: int, value_type: Type) -> Value | None:
        """Of the lanes of a vector that count, where some do not."""
        return self.builder.prefix(self.last, value_type) if self.is_part(vector_number) else None

    def target(self, row: int, vector_number: int) -> IndexLike:
        """Where a vector of C lies."""
        return self.c_row * row + vector_number * self.shape.lanes

    def is_part(self, vector_number: int) -> bool:
        """Whether only some lanes of a vector count."""
        return self.shape.has_part and vector_number == self.shape.vectors - 1

    def add_target(self) -> None:
        """C is added where the caller asks for that."""
        with self.builder.when(self.accumulate):
            for (i, j), total in self.sums.items():
                held = self.builder.load(self.c, self.target(i, j), total.type, self.mask(j, total.type))
                self.builder.assign(total, held + total)

    # Loops.

    def outer_loops(self, depth: int, left: IndexLike, right: IndexLike) -> None:
        """The reduction loops around that over k, outermost first; `left` and `right` are where A and B lie in a pass."""
        if depth == 0:
            self.steps(left, right)
            return
        with self.builder.loop(f"q_{depth}", 0, self.depths[depth]) as q:
            self.outer_loops(depth - 1, left + q * self.a_steps[depth - 1], right + q * self.b_steps[depth - 1])

    def steps(self, left: IndexLike, right: IndexLike) -> None:
        """The loop over k."""
        if LEFT in self.options.prefetch:
            self.steps_that_prefetch_left()
        elif self.next is not None:
            self.steps_that_prefetch_next(self.next)
        else:
            self.plain_steps(left, right)

    def plain_steps(self, left: IndexLike, right: IndexLike) -> None:
        """As many steps a trip as are asked for, then the others."""
        k, unroll = self.depths[0], 1 if self.shape.has_part else self.options.unroll
        ahead = self.right_ahead() if RIGHT in self.options.prefetch else None
        whole = k if unroll == 1 else k - self.builder.define(IntegerOperation.REMAINDER, k, unroll)
        with self.builder.loop("p", 0, whole, unroll) as p:
            for step in range(unroll):
                self.step(left + (p + step) * self.a_column, right + (p + step) * self.b_row, ahead)
        if unroll > 1:
            with self.builder.loop("p", whole, k) as p:
                self.step(left + p * self.a_column, right + p * self.b_row, ahead)

    def steps_that_prefetch_left(self) -> None:
        """In groups of the steps that use up a line of a row of A: the next tile of rows is asked for, or, of long rows and where
        C is not prefetched, what lies further on."""
        k, size = self.depths[0], LINE_BYTES * 8 // BITS[self.arithmetic.left]
        following: IndexLike = self.a_row * self.shape.rows
        if TARGET not in self.options.prefetch:
            is_short = self.builder.define(IntegerOperation.LESS, k, LEFT_LONG)
            following = self.builder.define(IntegerOperation.CHOOSE, is_short, following, self.a_column * LEFT_AHEAD)
        with self.builder.loop("group", 0, k, size) as group:
            for i in range(self.shape.rows):
                self.builder.prefetch(self.a, group * self.a_column + i * self.a_row + following)
            with self.builder.loop("p", group, self.builder.define(IntegerOperation.MINIMUM, group + size, k)) as p:
                self.step(p * self.a_column, p * self.b_row)

    def steps_that_prefetch_next(self, following: Buffer) -> None:
        """Some lines are asked for before every whole group of steps."""
        builder, k = self.builder, self.depths[0]
        groups = builder.define(IntegerOperation.FLOOR_DIVIDE, k, PREFETCH_STEPS)
        elements = LINE_BYTES * 8 // BITS[following.dtype]
        with builder.loop("group", 0, groups) as group:
            with builder.loop("line", 0, self.lines) as line:
                builder.prefetch(following, group * self.next_step + line * elements)
            with builder.loop("step", 0, PREFETCH_STEPS) as step:
                p = group * PREFETCH_STEPS + step
                self.step(p * self.a_column, p * self.b_row)
        with builder.loop("p", groups * PREFETCH_STEPS, k) as p:
            self.step(p * self.a_column, p * self.b_row)

    def right_ahead(self) -> IndexLike:
        """Elements from the row of B that is read to what is prefetched: later rows of a panel; of a B in place with many panels
        the same rows of a later panel."""
        builder, width = self.builder, self.shape.vectors * self.shape.lanes
        is_in_place = builder.define(IntegerOperation.LESS, FEW_PANELS * width, self.b_row)
        if self.options.is_wide:
            rows = self.b_row * (WIDE_VECTORS_AHEAD // self.shape.vectors)
            return builder.define(IntegerOperation.CHOOSE, is_in_place, width, rows)
        is_full = self.shape.vectors >= FULL_VECTORS
        of_panel = (RIGHT_BYTES_AHEAD if is_full else NARROW_BYTES_AHEAD) * 8 // (width * BITS[self.arithmetic.right])
        is_apart = builder.define(IntegerOperation.LESS, width, self.b_row)
        later = builder.define(IntegerOperation.CHOOSE, is_apart, self.b_row * RIGHT_ROWS_AHEAD, self.b_row * of_panel)
        return builder.define(IntegerOperation.CHOOSE, is_in_place, RIGHT_PANELS_AHEAD * width, later)

    # Steps.

    def step(self, left: IndexLike, right: IndexLike, ahead: IndexLike | None = None) -> None:
        """One step, or one group of steps that A holds side by side."""
        self.add_products(right, lambda row: self.builder.broadcast(self.a, left + row * self.a_row, self.lane))
        if ahead is not None:
            for j in range(self.shape.vectors):
                self.builder.prefetch(self.b, right + ahead + j * self.shape.lanes * self.arithmetic.group)

    def add_products(self, right: IndexLike, left: Callable[[int], Value]) -> None:
        """Lanes of A of every row, times vectors of B from a place on. Of one row every vector is used right behind its load."""
        builder, arithmetic = self.builder, self.arithmetic
        if self.shape.rows == 1:
            row = arithmetic.left_parts(builder, left(0))
            for j in range(self.shape.vectors):
                for part, other in zip(row, arithmetic.right_parts(builder, self.load_right(right, j)), strict=True):
                    self.add(self.sums[0, j], part, other)
            return
        columns = [arithmetic.right_parts(builder, self.load_right(right, j)) for j in range(self.shape.vectors)]
        rows, at_once = self.shape.rows, self.options.left_at_once
        for first in range(0, rows, at_once):
            held = {i: arithmetic.left_parts(builder, left(i)) for i in range(first, min(first + at_once, rows))}
            for i, parts in held.items():
                for number, part in enumerate(parts):
                    for j, column in enumerate(columns):
                        self.add(self.sums[i, j], part, column[number])

    def add(self, total: Variable, left: Value, right: Value) -> None:
        """A sum gets larger."""
        self.builder.assign(total, self.arithmetic.add(self.builder, left, right, total))

    def load_right(self, right: IndexLike, vector_number: int) -> Value:
        """A vector of B."""
        place = right + vector_number * self.shape.lanes * self.arithmetic.group
        return self.builder.load(self.b, place, self.lane, self.mask(vector_number, self.lane))

    def known_steps(self) -> None:
        """All steps, one after the other, of an A that is known."""
        begun: set[tuple[int, int]] = set()
        for step, entries in enumerate(zip(*self.options.known, strict=True)):
            columns = [self.load_right(self.b_row * step, j) for j in range(self.shape.vectors)]
            for (i, entry), (j, column) in pairs_of(enumerate(entries), enumerate(columns)):
                if entry:
                    total = self.sums[i, j]
                    self.builder.assign(total, _plus(self.builder, total if (i, j) in begun else None, entry, column))
                    begun.add((i, j))

    # Groups of steps.

    def grouped_tile(self) -> None:
        """The tile of rows of A that are contiguous, and the one of others: each ends by itself, as compilers would else have
        registers for the sums of one of both only."""
        with self.builder.when(self.builder.define(IntegerOperation.EQUAL, self.a_column, 1)):
            self.grouped_steps(1)
            self.end()
        with self.builder.otherwise():
            self.grouped_steps(self.a_column)
            self.end()

    def grouped_steps(self, column: IndexLike) -> None:
        """Whole groups, in one load where a row of A is contiguous, then the steps that are left."""
        builder, group = self.builder, self.arithmetic.group
        k, whole = self.depths[0], builder.define(IntegerOperation.FLOOR_DIVIDE, self.depths[0], self.arithmetic.group)
        with builder.loop("p", 0, whole) as p:
            if column == 1:
                self.step(p * group, p * self.b_row)
            else:
                self.gathered_step(p, range(group), column)
        for number in range(group - 1):
            with builder.when(builder.define(IntegerOperation.LESS, whole * group + number, k)):
                self.gathered_step(whole, range(number, number + 1), column)

    def gathered_step(self, group: IndexLike, steps: range, column: IndexLike) -> None:
        """Some steps of a group, whose elements of A lie apart."""
        first = group * self.arithmetic.group * column
        self.add_products(group * self.b_row, lambda row: self.gathered(first + row * self.a_row, steps, column))

    def gathered(self, first: IndexLike, steps: range, column: IndexLike) -> Value:
        """Steps of a row from a place on, each where a group has it, zeros elsewhere, in all lanes."""
        builder, dtype = self.builder, self.arithmetic.left
        word: Value | None = None
        for number in steps:
            element = builder.load(self.a, first + number * column, vector(dtype))
            bits = builder.cast(builder.bitcast(element, vector(f"uint{BITS[dtype]}")), "int32")
            shifted = bits << (number * BITS[dtype]) if number else bits
            word = shifted if word is None else word | shifted
        assert word is not None
        return builder.splat(word, self.lane.lanes)


def _plus(builder: Builder, total: Value | None, entry: float, column: Value) -> Value:
    """A sum, or none yet, plus a known number times a vector."""
    if abs(entry) == 1:
        if total is None:
            return column if entry > 0 else -column
        return total + column if entry > 0 else total - column
    return column * entry if total is None else builder.multiply_add(entry, column, total)
