"""Copies of operands as tile programs: into panels of columns, and rows one after the other.

Elements keep their bits. Rows that lie side by side are copied in vectors; where the depth lies along the rows of the source,
tiles are transposed in registers; neighbouring steps of the depth that panels hold side by side are put together in words. All
else is copied element by element. Columns that the last panel lacks, and steps that the last group lacks, are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tilewright.block.statements import Transfer
from tilewright.leaves.declaration import LoweredTile
from tilewright.leaves.tile_programs.arguments import Arguments
from tilewright.leaves.tile_programs.copies.transposition import transposed
from tilewright.leaves.tile_programs.integers import choose, larger, less, quotient, smaller, whole
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value
from tilewright.tile.types import BITS, Type, element_type, vector

ROWS_AHEAD = 8
"""Of a panel that are copied, while the next are asked for: rows of one panel alone are too short, and too far apart, for the
hardware to foresee."""
GROUPS_TOGETHER = 4
"""Groups of steps of all panels that are filled before the next ones: rows of the source are read in long runs."""
COLUMNS_TOGETHER = 4
"""Elements that are stored by one instruction where they are loaded one by one."""
WORD_BITS = 32
"""Of groups that are put together in vectors, and the least of elements that these load in part."""


def lowered(copy: Transfer, vector_bits: int) -> LoweredTile:
    """The program of a copy, in vectors of so many bits."""
    return _Copying(copy, vector_bits).lowered()


@record(eq=False)
class _Area:
    """Columns of all rows: those that are there, and the `width` of those that are filled. `pitch` is from group to group."""

    source: IndexLike
    target: IndexLike
    columns: IndexLike
    width: IndexLike
    pitch: IndexLike


class _Copying:
    def __init__(self, copy: Transfer, vector_bits: int) -> None:
        self.copy, self.vector_bits, self.builder = copy, vector_bits, Builder()
        self.arguments = Arguments(self.builder, (copy.source, copy.target), {copy.target.buffer})
        index = self.arguments.index
        self.target, self.to = self.arguments.buffer(copy.target)
        self.source, self.start = self.arguments.buffer(copy.source)
        self.row, self.column = index(copy.source.stride(copy.depth_axis)), index(copy.source.stride(copy.column_axis))
        self.rows, self.columns = index(copy.depth), index(copy.columns)
        self.element = vector(element_type(copy.target.dtype))
        self.steps = copy.interleave
        self.bits = BITS[self.element.dtype]

    def lowered(self) -> LoweredTile:
        """Loops over the outer axes around all rows and columns."""
        index, source = self.arguments.index, self.copy.source
        with ExitStack() as loops:
            for number, (axis, size, stride) in enumerate(self.copy.outer):
                at = loops.enter_context(self.counted(f"o{number}", index(size)))
                self.start = self.start + at * index(source.stride(axis))
                self.to = self.to + at * index(stride)
            self.by_strides((("column", 1), *((("column", 2),) if self.makes_words else ()), ("row", 1)))
        return self.arguments.lowered()

    def by_strides(self, ways: tuple[tuple[str, int], ...]) -> None:
        """All rows and columns; strides that are given when the program runs are told apart then."""
        known = self.row, self.column
        if not ways or self.column == 1 or self.row == 1:
            self.all()
            return
        (name, value), *others = ways
        stride = self.column if name == "column" else self.row
        if isinstance(stride, int):
            self.by_strides(tuple(others))
            return
        with self.builder.when(self.builder.define(IntegerOperation.EQUAL, stride, value)):
            self.row, self.column = (self.row, value) if name == "column" else (value, self.column)
            self.all()
            self.row, self.column = known
        with self.builder.otherwise():
            self.by_strides(tuple(others))

    def all(self) -> None:
        """All rows and columns, whose strides are known, or none of those that have a way of their own."""
        if not self.copy.panel_columns:
            self.area(_Area(self.start, self.to, self.columns, self.columns, self.arguments.index(self.copy.target_row)))
        elif self.steps == 1 and self.column == 1:
            self.panels_of_rows()
        elif self.makes_words and self.column in (1, 2):
            self.groups()
        elif self.is_of_vectors:
            self.whole_panels(self.area)
            self.rest_panel(self.area)
        else:
            self.panels(self.area)

    def area(self, area: _Area) -> None:
        """One panel, or all rows."""
        if self.is_turned:
            self.turned(area)
        elif self.is_of_vectors:
            self.vectors(area)
        else:
            self.elements(area, 0, self.whole_groups, self.steps, 0, area.width)
            self.last_group(area, 0, area.width)

    @property
    def is_of_vectors(self) -> bool:
        """Whether columns are loaded in vectors: side by side, or apart by a known stride."""
        is_known = isinstance(self.column, int) and self.bits >= WORD_BITS
        return self.steps == 1 and (self.column == 1 or is_known) and not self.is_turned

    # Panels and groups of steps.

    @property
    def is_turned(self) -> bool:
        """Whether the depth lies along the rows of the source, in words that vectors load."""
        is_apart = self.copy.source.buffer != self.copy.target.buffer
        return is_apart and self.row == 1 and self.column != 1 and self.word_bits in (32, 64)

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return self.copy.panel_columns

    @property
    def word_bits(self) -> int:
        """Of all steps of a group."""
        return self.steps * self.bits

    @property
    def makes_words(self) -> bool:
        """Whether the steps of a group are put together."""
        return self.steps > 1 and self.word_bits == WORD_BITS

    @property
    def whole_groups(self) -> IndexLike:
        """Groups of which the source has all steps."""
        return quotient(self.builder, self.rows, self.steps)

    def panel(self, number: IndexLike, columns: IndexLike) -> _Area:
        """A panel by number, and so many columns of it."""
        target = self.to + number * self.arguments.index(self.copy.panel_stride)
        return _Area(self.start + number * self.column * self.width, target, columns, self.width, self.width * self.steps)

    def panels(self, body: Callable[[_Area], None]) -> None:
        """All panels, of which the last may lack columns: the same text is for both."""
        if self.columns == 0 or (isinstance(self.columns, int) and self.columns % self.width == 0):
            self.whole_panels(body)
            return
        count = quotient(self.builder, self.columns + (self.width - 1), self.width)
        with self.counted("panel", count) as number:
            body(self.panel(number, smaller(self.builder, self.width, self.columns - number * self.width)))

    def whole_panels(self, body: Callable[[_Area], None]) -> None:
        """Those of which the source has all columns."""
        count = quotient(self.builder, self.columns, self.width)
        if count != 0:
            with self.counted("panel", count) as number:
                body(self.panel(number, self.width))

    def rest_panel(self, body: Callable[[_Area], None]) -> None:
        """The last panel, if it lacks columns."""
        count = quotient(self.builder, self.columns, self.width)
        rest = self.columns - count * self.width
        if rest != 0:
            with self.provided(rest):
                body(self.panel(count, rest))

    def last_group(self, area: _Area, first: IndexLike, last: IndexLike) -> None:
        """The group that lacks steps, if there is one: columns from one to before another."""
        steps = self.rows - self.whole_groups * self.steps
        if steps != 0:
            with self.provided(steps):
                self.elements(area, self.whole_groups, self.whole_groups + 1, steps, first, last)

    @contextmanager
    def counted(self, name: str, count: IndexLike) -> Iterator[IndexLike]:
        """A loop from 0; none of one trip."""
        if count == 1:
            yield 0
        else:
            with self.builder.loop(name, 0, count) as index:
                yield index

    @contextmanager
    def provided(self, condition: IndexLike) -> Iterator[None]:
        """What runs if an integer is not 0, which is known or not."""
        if isinstance(condition, int):
            yield
        else:
            with self.builder.when(condition):
                yield

    # Rows.

    def panels_of_rows(self) -> None:
        """Whole panels a few rows at a time, then the panel that is left."""
        b = self.builder
        if quotient(b, self.columns, self.width) != 0:
            with b.loop("start", 0, self.rows, ROWS_AHEAD) as start:
                count = smaller(b, ROWS_AHEAD, self.rows - start)
                self.whole_panels(lambda area: self.some_rows(area, start, count))
        self.rest_panel(self.vectors)

    def some_rows(self, area: _Area, start: IndexLike, count: IndexLike) -> None:
        """So many rows of a whole panel, while the next ones are asked for."""
        with self.builder.loop("p", 0, count) as p:
            lanes = self.lanes_of(self.width)
            for i in range(0, self.width, lanes):
                self.builder.prefetch(self.source, area.source + (start + p + ROWS_AHEAD) * self.row + i)
                self.vector(area, start + p, i, lanes, self.width - i)

    def lanes_of(self, width: IndexLike) -> int:
        """Of a vector: of short rows no more than these have, where that is a vector."""
        lanes = self.vector_bits // self.bits
        is_short = isinstance(width, int) and width < lanes and not width & (width - 1)
        return width if is_short and isinstance(width, int) else lanes

    def vectors(self, area: _Area) -> None:
        """All rows, vector by vector."""
        width, lanes = area.width, self.lanes_of(area.width)
        with self.builder.loop("p", 0, self.rows) as p:
            if isinstance(width, int) and width <= 4 * lanes:
                for i in range(0, width, lanes):
                    self.vector(area, p, i, lanes, width - i)
                return
            stop = whole(self.builder, width, lanes)
            if stop != 0:
                with self.builder.loop("i", 0, stop, lanes) as at:
                    self.vector(area, p, at, lanes, lanes)
            if width - stop != 0:
                with self.provided(width - stop):
                    self.vector(area, p, stop, lanes, width - stop)

    def vector(self, area: _Area, p: IndexLike, i: IndexLike, lanes: int, filled: IndexLike) -> None:
        """Some columns of a row, of which so many are filled."""
        b, of = self.builder, vector(self.element.dtype, lanes)
        there = area.columns - i if area.columns is not area.width else filled
        value = self.loaded(area.source + p * self.row + i * self.column, of, there)
        b.store(self.target, area.target + p * area.pitch + i, value, self.prefix(filled, of))

    def loaded(self, place: IndexLike, of: Type, count: IndexLike) -> Value:
        """Columns from a place on, so many of them; others are zero."""
        if isinstance(count, int) and count <= 0:
            return self.builder.constant(0, of)
        return self.builder.load(self.source, place, of, self.prefix(count, of), self.column)

    def prefix(self, count: IndexLike, of: Type) -> Value | None:
        """The mask of the first lanes; None of all."""
        return None if isinstance(count, int) and count >= of.lanes else self.builder.prefix(count, of)

    # Transposition.

    def turned(self, area: _Area) -> None:
        """Tiles of as many columns as groups of steps, each of which is a word; then rows and columns that are left."""
        b, lanes = self.builder, self.vector_bits // self.word_bits
        groups = whole(b, self.whole_groups, lanes)
        with b.loop("i", 0, area.width, lanes) as i:
            is_full = isinstance(area.width, int) and area.columns == area.width and area.width % lanes == 0
            stop = groups if is_full else choose(b, less(b, lanes - 1, area.columns - i), groups, 0)
            with b.loop("p", 0, stop, lanes) as p:
                self.tile(area, p, i)
            if self.steps == 1:
                with b.loop("p", stop, self.rows, lanes) as p:
                    self.part_of_tile(area, p, i, lanes)
            else:
                last = smaller(b, area.width, i + lanes)
                self.elements(area, stop, self.whole_groups, self.steps, i, last)
                self.last_group(area, i, last)

    def tile(self, area: _Area, p: IndexLike, i: IndexLike) -> None:
        """A whole tile, while the next columns are asked for."""
        b, word = self.builder, vector(self.word, self.vector_bits // self.word_bits)
        columns = []
        for place in self.places(area.source + p * self.steps + i * self.column, self.column, word.lanes):
            b.prefetch(self.source, place + self.column * word.lanes)
            columns.append(b.load(self.source, place, word))
        elements = vector(self.element.dtype, word.lanes * self.steps)
        places = self.places(area.target + p * area.pitch + i * self.steps, area.pitch, word.lanes)
        for place, value in zip(places, transposed(b, columns), strict=True):
            b.store(self.target, place, b.bitcast(value, elements))

    def places(self, first: IndexLike, step: IndexLike, count: int) -> Iterator[IndexLike]:
        """So many places apart by a step: one after the other where that is not known, as products take a compiler long."""
        place = first
        for number in range(count):
            if isinstance(step, int):
                yield first + step * number
            else:
                place = self.builder.define(IntegerOperation.OPAQUE, place)
                yield place
                place = place + step

    @property
    def word(self) -> str:
        """The type of a group of steps."""
        return self.element.dtype if self.steps == 1 else f"uint{self.word_bits}"

    def part_of_tile(self, area: _Area, p: IndexLike, i: IndexLike, lanes: int) -> None:
        """A tile of which rows or columns may be missing."""
        b, of = self.builder, vector(self.element.dtype, lanes)
        depth = self.rows - p
        columns = []
        for lane, place in enumerate(self.places(area.source + p + i * self.column, self.column, lanes)):
            count = choose(b, less(b, lane, area.columns - i), depth, 0)
            columns.append(b.load(self.source, place, of, b.prefix(count, of)))
        is_whole = isinstance(area.width, int) and area.width % lanes == 0
        mask = None if is_whole else b.prefix(area.width - i, of)
        places = self.places(area.target + p * area.pitch + i, area.pitch, lanes)
        for lane, (place, value) in enumerate(zip(places, transposed(b, columns), strict=True)):
            with b.when(less(b, lane, depth)):
                b.store(self.target, place, value, mask)

    # Groups of steps.

    def groups(self) -> None:
        """Words of columns that lie side by side, or every other one: some groups of all panels, then the next ones."""
        b, count = self.builder, self.whole_groups
        with b.loop("block", 0, count, GROUPS_TOGETHER) as block:
            stop = smaller(b, block + GROUPS_TOGETHER, count)
            self.panels(lambda area: self.some_groups(area, block, stop))
        self.panels(lambda area: self.last_group(area, 0, self.width))

    def some_groups(self, area: _Area, start: IndexLike, stop: IndexLike) -> None:
        """Groups of a panel: vectors of columns, then those that are left."""
        b, lanes = self.builder, self.vector_bits // WORD_BITS
        # Where every other column is taken, a vector ends with an element that nobody asked for, in front of one that is there.
        vectors = whole(b, area.columns if self.column == 1 else area.columns - 1, lanes)
        with b.loop("g", start, stop) as g:
            with b.loop("j", 0, vectors, lanes) as j:
                place = area.target + g * area.pitch + j * self.steps
                b.store(self.target, place, b.bitcast(self.words(area, g, j), vector(self.element.dtype, lanes * self.steps)))
            self.elements(area, g, g + 1, self.steps, vectors, self.width)

    def words(self, area: _Area, g: IndexLike, j: IndexLike) -> Value:
        """The words of a vector of columns."""
        lanes = self.vector_bits // WORD_BITS
        total: Value | None = None
        for step in range(self.steps):
            place = area.source + (g * self.steps + step) * self.row + j * self.column
            word = self.builder.cast(self.parts(place, lanes), f"uint{WORD_BITS}") << self.bits * step
            total = word if total is None else total | word
        assert total is not None
        return total

    def parts(self, place: IndexLike, lanes: int) -> Value:
        """A step of a vector of columns, as integers."""
        b = self.builder
        if self.column == 2:
            return b.load(self.source, place, vector(f"uint{2 * self.bits}", lanes)) & ((1 << self.bits) - 1)
        found = b.load(self.source, place, vector(self.element.dtype, lanes))
        return b.bitcast(found, found.type.unsigned)

    # Elements.

    def elements(
        self, area: _Area, start: IndexLike, stop: IndexLike, steps: IndexLike, first: IndexLike, last: IndexLike
    ) -> None:
        """Groups of which so many steps are there, of columns from one to before another."""
        b = self.builder
        end = smaller(b, last, area.columns)
        if start == stop or first == last:
            return
        with b.loop("g", start, stop) as g:
            place, to = area.source + g * self.steps * self.row, area.target + g * area.pitch
            begin = self.some_columns(place, to, first, end) if self.steps == 1 else first
            with b.loop("j", begin, end) as j:
                for step in range(self.steps):
                    there = less(b, step, steps)
                    mask = None if there == 1 else b.prefix(there, self.element)
                    value = b.load(self.source, place + self.row * step + j * self.column, self.element, mask)
                    b.store(self.target, to + j * self.steps + step, value)
            if area.columns is not area.width and area.columns != area.width:
                with b.loop("j", larger(b, first, end), last) as j:
                    for step in range(self.steps):
                        b.store(self.target, to + j * self.steps + step, b.constant(0, self.element))

    def some_columns(self, place: IndexLike, to: IndexLike, first: IndexLike, end: IndexLike) -> IndexLike:
        """Columns of a row, some at a time; gives where those are that are left."""
        b, of = self.builder, vector(self.element.dtype, COLUMNS_TOGETHER)
        stop = first + whole(b, end - first, of.lanes)
        with b.loop("j", first, stop, of.lanes) as j:
            b.store(self.target, to + j, b.load(self.source, place + j * self.column, of, None, self.column))
        return stop
