"""Direct convolution with row streaming: rows of the image pass once, in order, past the sums that wait in registers.

At step t the rows of the image are read with which the newest row of sums, t, begins: `stride` of them. Row of sums t - q takes
them in with the taps that look at them then; its values are the sums of age q. After the step the oldest row, which has waited
longest, is finished and stored, and every other row is a step older. Before the first row is the oldest, and after the last was
the newest, rows of sums outside of the block are left out. So every sum takes its products in the order of the taps.

Columns run along the lanes, in blocks of several vectors. Where the image has no columns, or no row, vectors are filled with
what its guard says. Every other column is told apart from two vectors in the order that one instruction gives; sums keep it until
the end.

Where rows are no longer than half a vector, the halves belong to two neighbours along an axis outside of the windows: channels,
mostly. The last of an odd number is computed in both halves, and stored from the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.index import Index
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.declaration import Leaf, LoweredTile
from tilewright.leaves.row_streaming_form import NAME, ROWS_AHEAD, RowStreaming, form_of, match, seconds
from tilewright.leaves.tile_programs.integers import larger, less, smaller
from tilewright.leaves.windows_program import IMAGES, WindowProgram, strides_of
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value, Variable

MOST_BLOCKS = 4
"""Blocks of columns whose text is written out, each with what it lacks of the image: more take a compiler long."""
Sums: TypeAlias = list[list[Variable]]
"""By age and vector."""


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box; that of any reduction unless all is known of windows, and lanes lie side by side."""
    form, lanes = form_of(binding), loops.lanes
    if loops.block_steps or not streams(loops, form):
        return rowwise_reductions.lower(loops, binding)
    size = dict(loops.box)[form.columns.output].size
    width = size if isinstance(size, int) else None
    around = [axis for axis, block in loops.box if axis not in form.axes and block.size != 1]
    paired = around[-1] if around and form.pairs(width, lanes) else ""
    return Program(loops, form, paired, form.vectors(width, lanes)).lowered()


def streams(loops: VectorLoops, form: RowStreaming) -> bool:
    """Whether all is known of rows and columns, and lanes lie side by side."""
    image, weights = loops.reads[0], loops.reads[1]
    taps = {window.tap for window in form.windows}
    is_known = all(isinstance(block.size, int) for axis, block in loops.box if axis in taps)
    is_float = image.dtype in IMAGES and isinstance(weights, View)
    is_affine = all(isinstance(read, View) for read in loops.reads[1:])
    in_lanes = loops.vector_axis == form.columns.output
    return in_lanes and is_known and is_float and is_affine and strides_of(loops)[form.columns.output] == form.columns.stride


@record(eq=False)
class Columns:
    """A block of columns: where it begins, how many vectors it has, and how many columns are left from its beginning on."""

    start: IndexLike
    vectors: int
    left: IndexLike
    is_inside: bool = False
    """Whether everything that its vectors load is inside of the image, rows apart."""


@record
class Taps:
    """A row of the image, and the rows of sums that take it in: (how old they are, the row of the window)."""

    row: int
    """From the first that the newest sums begin with."""
    sums: tuple[tuple[int, IndexLike], ...]


@record(eq=False)
class Row:
    """What a block of columns sees of a row of the image; `place` is None of a row that the image does not have."""

    block: Columns
    taps: Taps
    place: IndexLike | None
    sums: Sums


@record(eq=False)
class _Vector:
    """Lanes that see a row so many columns behind the first window: those of all steps but `more` columns behind the last."""

    row: Row
    number: int
    offset: IndexLike
    more: int


class Program(WindowProgram):
    """Rows of sums wait in registers until their windows have passed."""

    def __init__(self, loops: VectorLoops, form: RowStreaming, paired: str, vectors: int) -> None:
        """`paired` is the axis along which two neighbours share vectors, or "". Sums of `vectors` side by side are in
        registers."""
        super().__init__(loops, form.otherwise)
        self.form, self.paired, self.vectors_of_block = form, paired, vectors
        self.next: IndexLike = 0
        self.weights: dict[tuple[IndexLike, IndexLike], Value] = {}

    def lowered(self) -> LoweredTile:
        """All rows and columns, inside loops over all else."""
        around = [axis for axis in self.ranges if axis not in self.form.axes and axis != self.paired]
        with self.over(around), self.over_pairs():
            if self.keeps_weights:
                rows = self.form.rows.taps if self.form.rows is not None else 1
                places = [(row, column) for row in range(rows) for column in range(self.form.columns.taps)]
                self.weights = {place: self.weight(*place) for place in places}
            self.blocks()
        return self.arguments.lowered()

    @contextmanager
    def over_pairs(self) -> Iterator[None]:
        """The loop over every other neighbour, if two share vectors; `next` says whether there is another behind."""
        if not self.paired:
            yield
            return
        size = self.size(self.paired)
        with self.along(self.paired, 0, size, 2) as index:
            self.next = less(self.builder, index + 1, size)
            yield

    # Weights.

    @property
    def keeps_weights(self) -> bool:
        """Whether weights are made before the first row: if they are few enough for registers, or put together of two."""
        return self.form.keeps_weights or bool(self.paired)

    def weight(self, row: IndexLike, column: IndexLike) -> Value:
        """A weight in all lanes, or two: in the lanes that their columns have."""
        if (row, column) in self.weights:
            return self.weights[row, column]
        first = self.weight_of(row, column, 0)
        if not self.paired:
            return first
        second = self.weight_of(row, column, self.next)
        return self.halves(first, second) if self.form.columns.stride == 1 else self.apart(first, second, 0)

    def weight_of(self, row: IndexLike, column: IndexLike, ahead: IndexLike) -> Value:
        """A weight in all lanes, so many neighbours `ahead`.

        Weights that do not wait in registers are loaded at every step: GCC 12 would else keep their scalars in registers, and
        spread them by shuffles, which wait for the unit of multiply-adds; a load spreads them for nothing.
        """
        view = self.loops.view(1)
        place = self.place(view) + self.stride(view.stride(self.form.columns.tap)) * column
        place = place if self.keeps_weights else place + self.builder.define(IntegerOperation.OPAQUE, 0)
        if self.form.rows is not None:
            place = place + self.stride(view.stride(self.form.rows.tap)) * row
        if self.paired:
            place = place + self.stride(view.stride(self.paired)) * ahead
        return self.elements(view, place, 0)

    # Blocks of columns.

    def blocks(self) -> None:
        """All blocks of columns: few known ones in a row, others in a loop."""
        size, vectors, lanes = self.size(self.form.columns.output), self.vectors_of_block, self.lanes
        wide = vectors * lanes
        if isinstance(size, int) and size <= MOST_BLOCKS * wide:
            for start in range(0, size, wide):
                self.block(Columns(start, min(vectors, -(-(size - start) // lanes)), size - start))
        elif isinstance(size, int):
            for piece in self.pieces(size, wide):
                self.piece(piece, size)
        else:
            self.unknown_blocks(size, wide)

    def unknown_blocks(self, size: IndexLike, wide: int) -> None:
        """Whole blocks, if they are wide, then narrow ones."""
        few, start = self.form.few_vectors(self.vectors_of_block), self.whole(size, wide)
        if self.vectors_of_block == few:
            start = 0
        else:
            with self.builder.loop("column", 0, start, wide) as column:
                self.block(Columns(column, self.vectors_of_block, wide))
        with self.builder.loop("column", start, size, few * self.lanes) as column:
            self.block(Columns(column, few, size - column))

    def pieces(self, size: int, wide: int) -> list[range]:
        """The starts of blocks of columns: those that look at columns before the image, those inside, and those behind."""
        starts = range(0, size, wide)
        inside = [number for number, start in enumerate(starts) if self.is_block_inside(start, wide)]
        first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
        return [piece for piece in (starts[:first], starts[first:end], starts[end:]) if piece]

    def piece(self, starts: range, size: int) -> None:
        """Neighbouring blocks of columns, all of them inside of the image or none."""
        wide, start = starts.step, starts[0]
        is_inside = self.is_block_inside(start, wide)
        if len(starts) == 1:
            vectors = min(self.vectors_of_block, -(-(size - start) // self.lanes))
            self.block(Columns(start, vectors, size - start, is_inside))
            return
        with self.builder.loop("column", start, starts.stop, wide) as column:
            self.block(Columns(column, self.vectors_of_block, wide if starts.stop <= size else size - column, is_inside))

    def is_block_inside(self, start: int, wide: int) -> bool:
        """Whether all that the vectors of a block of known columns load is inside of the image."""
        slide, block = self.form.columns, self.ranges[self.form.columns.output]
        if not isinstance(block.start, int) or not isinstance(block.size, int) or isinstance(slide.last, Index):
            return False
        reach = (slide.taps - 1) * slide.dilation
        seen = slide.stride * (block.start + block.size - 1) + reach
        last = seen if slide.last is None else min(seen, slide.last)
        begin = slide.stride * (block.start + start)
        lowest = begin - (self.odd_start if slide.stride == 2 else 0)
        return lowest >= (slide.first or 0) and begin + reach + slide.stride * wide - 1 <= last

    # Steps.

    def block(self, block: Columns) -> None:
        """All rows of a block of columns."""
        waiting = self.form.waiting
        rows = self.size(self.form.rows.output) if self.form.rows is not None else 1
        sums = [[self.builder.variable(self.nothing()) for _ in range(block.vectors)] for _ in range(waiting + 1)]
        if not isinstance(rows, int):
            self.steps(0, rows + waiting, block, sums, range(waiting + 1))
            return
        for step in range(min(waiting, rows)):
            self.steps(step, step + 1, block, sums, range(step + 1))
        if rows > waiting:
            self.steps(waiting, rows, block, sums, range(waiting + 1))
        for step in range(max(waiting, rows) if rows > waiting else rows, rows + waiting):
            self.steps(step, step + 1, block, sums, range(max(0, step - rows + 1), min(step, waiting) + 1))

    def steps(self, start: int, end: IndexLike, block: Columns, sums: Sums, ages: range) -> None:
        """Some steps with the same rows of sums, of these ages. The oldest row is finished once it has waited."""
        waiting = self.form.waiting
        with self.builder.loop("step", start, end) as counted:
            step = start if end == start + 1 else counted
            for taps in self.rows_of_step(ages):
                self.row(block, taps, sums, step, self.has_row(taps.row, step, start, end))
            if start >= waiting:
                self.finished_row(block, sums, step)
            elif not isinstance(end, int):
                with self.builder.when(less(self.builder, waiting - 1, step)):
                    self.finished_row(block, sums, step)
            for age in range(waiting, -1, -1):
                for vector, total in enumerate(sums[age]):
                    self.builder.assign(total, sums[age - 1][vector] if age else self.nothing())

    def rows_of_step(self, ages: range) -> Iterator[Taps]:
        """The rows of the image that a step reads, and who takes them in; the oldest sums first: they wait for their end."""
        rows = self.form.rows
        for row in range(rows.stride if rows is not None else 1):
            found = [(age, *self.row_of_window(row, age)) for age in reversed(ages)]
            sums = tuple((age, tap) for age, tap, is_seen in found if is_seen)
            if sums:
                yield Taps(row, sums)

    def row_of_window(self, row: int, age: int) -> tuple[int, bool]:
        """The row of a window that sums of an age see in a row of the image, and whether there is one."""
        rows = self.form.rows
        if rows is None:
            return 0, True
        tap, rest = divmod(row + age * rows.stride, rows.dilation)
        return tap, not rest and tap < rows.taps

    def has_row(self, row: int, step: IndexLike, start: int, end: IndexLike) -> IndexLike:
        """Whether the image has this row at a step, of those between two; 1 or 0 if it always or never has."""
        rows = self.form.rows
        if rows is None:
            return 1
        begin = self.start(rows.output)
        if isinstance(end, int):
            known = {
                self.is_inside(rows, place, place) for place in ((begin + one) * rows.stride + row for one in (start, end - 1))
            }
            if known == {1} or (start == end - 1 and known == {0}):
                return known.pop()
        position = (begin + step) * rows.stride + row
        return self.is_inside(rows, position, position)

    # Rows.

    def row(self, block: Columns, taps: Taps, sums: Sums, step: IndexLike, inside: IndexLike) -> None:
        """The products of a row of the image; `inside` says whether the image has it."""
        if isinstance(inside, int):
            self.products_of_row(Row(block, taps, self.row_place(taps, step) if inside else None, sums))
            return
        with self.builder.when(inside):
            self.products_of_row(Row(block, taps, self.row_place(taps, step), sums))
        with self.builder.otherwise():
            self.products_of_row(Row(block, taps, None, sums))

    def row_place(self, taps: Taps, step: IndexLike) -> IndexLike:
        """Where the row of the image is, at the first tap of the block's first window."""
        rows, image = self.form.rows, self.image_place(self.form.axes)
        if rows is None:
            return image
        age, tap = taps.sums[0]
        return image + (step - age) * self.strides[rows.output] + tap * self.strides[rows.tap]

    def products_of_row(self, row: Row) -> None:
        """The products of a row: vector by vector where weights are in registers, else weight by weight."""
        vectors = list(range(row.block.vectors))
        rows = self.both_rows(row)
        for some in [[vector] for vector in vectors] if self.keeps_weights else [vectors]:
            for group in self.column_groups():
                self.products(row, some, group, rows)

    def products(self, row: Row, vectors: list[int], group: Sequence[IndexLike], rows: Value | None) -> None:
        """The products of some vectors of a row with the weights of some columns of the window."""
        seen = [self.seen_by(row, vector, group, rows) for vector in vectors]
        for number, column in enumerate(group):
            for age, tap in row.taps.sums:
                weight = self.weight(tap, column)
                for vector, columns in zip(vectors, seen, strict=True):
                    total = row.sums[age][vector]
                    self.builder.assign(total, self.builder.multiply_add(columns[number], weight, total))

    def column_groups(self) -> list[list[int]]:
        """Columns of the window that are loaded together: even and odd neighbours of the same two vectors."""
        slide, columns = self.form.columns, list(range(self.form.columns.taps))
        if slide.stride == 1:
            return [[column] for column in columns]
        if self.two_vectors_suffice:
            return [columns]
        groups: dict[int, list[int]] = {}
        for column in columns:
            groups.setdefault((column * slide.dilation - self.odd_start) // 2, []).append(column)
        return list(groups.values())

    @property
    def two_vectors_suffice(self) -> bool:
        """Whether every column of the window is taken from the same two vectors of a row."""
        size = self.ranges[self.form.columns.output].size
        return not self.paired and isinstance(size, int) and self.form.in_two_vectors(size, self.lanes)

    @property
    def odd_start(self) -> int:
        """1 where windows begin at odd columns of the image: even ones are then loaded with what is behind them, lines whole."""
        return (self.form.columns.first or 0) % 2

    def seen_by(self, row: Row, vector: int, group: Sequence[IndexLike], rows: Value | None) -> list[Value]:
        """What of a row the lanes of a vector look at, for columns of the window."""
        slide, lanes = self.form.columns, self.lanes
        if row.place is None:
            return [self.outside()] * len(group)
        first = group[0]
        if rows is not None and isinstance(first, int):
            return [self.moved_lanes(rows, first)]
        offset = first * slide.dilation
        if slide.stride == 1 or not isinstance(offset, int):
            at = _Vector(row, vector, offset, 0)
            return [self.halves(self.window(at), self.window(at, -(lanes // 2), self.next)) if self.paired else self.window(at)]
        known = [column for column in group if isinstance(column, int)]
        if self.two_vectors_suffice:
            at = _Vector(row, vector, offset, (slide.taps - 1) * slide.dilation - 1)
            both = self.window(at), self.window(at, lanes)
            taken = [[(slide.stride * lane + slide.dilation * one) % (2 * lanes) for lane in range(lanes)] for one in known]
            return [self.builder.shuffle(both, some) for some in taken]
        offset -= (offset - self.odd_start) % 2
        is_odd = [int(column * slide.dilation != offset) for column in group]
        at = _Vector(row, vector, offset, max(is_odd) - 1)
        low, high = self.window(at), self.window(at, 0, self.next) if self.paired else self.window(at, lanes)
        return [self.apart(low, high, odd) for odd in is_odd]

    def window(self, at: _Vector, skipped: int = 0, ahead: IndexLike = 0) -> Value:
        """A vector of a row of the image, of so many columns less, so many neighbours ahead."""
        slide, block = self.form.columns, at.row.block
        first_column = block.start + at.number * self.lanes
        assert at.row.place is not None
        place = at.row.place + first_column * slide.stride + (at.offset + skipped)
        place = place + ahead * self.strides[self.paired] if self.paired else place
        if block.is_inside:
            return self.points_of(self.elements(self.image, place, 1))
        position = (self.start(slide.output) + first_column) * slide.stride + at.offset
        end = (block.left - at.number * self.lanes) * slide.stride + at.more
        end = smaller(self.builder, end, self.limit(slide.last) + 1 - position) if slide.last is not None else end
        start = larger(self.builder, 0, slide.first - position) if slide.first is not None else 0
        return self.seen(place, start - skipped, end - skipped)

    # Halves of vectors, and every other lane.

    def halves(self, low: Value, high: Value) -> Value:
        """The lower lanes of one vector, and the upper ones of another."""
        half = self.lanes // 2
        return self.builder.shuffle((low, high), [lane if lane < half else self.lanes + lane for lane in range(self.lanes)])

    def apart(self, low: Value, high: Value, odd: int) -> Value:
        """Every other lane of two vectors, from the first or the second on: four at a time of either vector."""
        lanes, size = self.lanes, min(4, self.lanes)
        pairs = range(0, size, 2)
        blocks = range(0, lanes, size)
        return self.builder.shuffle(
            (low, high), [block + pair + half * lanes + odd for block in blocks for half in (0, 1) for pair in pairs]
        )

    def in_order(self, total: Value) -> Value:
        """Sums of columns that were told apart."""
        places = [4 * (lane % (self.lanes // 2) // 2) + lane % 2 + 2 * (lane // (self.lanes // 2)) for lane in range(self.lanes)]
        return self.builder.shuffle((total,), places)

    def both_rows(self, row: Row) -> Value | None:
        """The row of the image, and that of the neighbour, as far as windows look at them, where a vector holds both."""
        columns, half = self.seen_columns(), self.lanes // 2
        if columns is None or row.place is None:
            return None
        first, size, neighbour = columns.start, len(columns), self.next * self.strides[self.paired]
        low = self.seen(row.place + first, 0, size)
        return self.halves(low, self.seen(row.place + neighbour + (first - half), half, half + size))

    def seen_columns(self) -> range | None:
        """Columns of the image that all windows of a row look at, counted from the first column that the image would have at a
        window's first tap, where two such rows are known to fit a vector.
        """
        slide, block = self.form.columns, self.ranges[self.form.columns.output]
        if not self.paired or slide.stride != 1 or not isinstance(block.start, int) or not isinstance(block.size, int):
            return None
        if isinstance(slide.last, Index):
            return None
        first = 0 if slide.first is None else max(0, slide.first - block.start)
        end = block.size + (slide.taps - 1) * slide.dilation
        end = end if slide.last is None else min(end, slide.last + 1 - block.start)
        return range(first, end) if 0 < end - first <= self.lanes // 2 else None

    def moved_lanes(self, rows: Value, column: int) -> Value:
        """What of both rows the lanes look at with a column of the window."""
        columns, half = self.seen_columns(), self.lanes // 2
        assert columns is not None
        seen = [lane % half + column * self.form.columns.dilation for lane in range(self.lanes)]
        places = [lane // half * half + columns.index(one) if one in columns else self.lanes for lane, one in enumerate(seen)]
        return self.builder.shuffle((rows, self.outside()), places)

    # Ends.

    def finished_row(self, block: Columns, sums: Sums, step: IndexLike) -> None:
        """Finish and store the oldest row of sums."""
        for vector, total in enumerate(sums[self.form.waiting]):
            is_in_order = self.form.columns.stride == 1 or self.two_vectors_suffice
            value = total if is_in_order else self.in_order(total)
            self.stored(block, vector, value, step)
            if self.paired:
                half = self.lanes // 2
                with self.builder.when(self.next), self.moved(self.paired, self.at[self.paired] + 1):
                    upper = self.builder.shuffle((value,), [(lane + half) % self.lanes for lane in range(self.lanes)])
                    self.stored(block, vector, upper, step)

    def stored(self, block: Columns, vector: int, total: Value, step: IndexLike) -> None:
        """Finish and store a vector of sums."""
        columns, rows = self.form.columns, self.form.rows
        left = block.left - vector * self.lanes
        with ExitStack() as there:
            if not isinstance(left, int):
                there.enter_context(self.builder.when(less(self.builder, 0, left)))
            there.enter_context(self.moved(columns.output, block.start + vector * self.lanes))
            if rows is not None and self.ranges[rows.output].size != 1:
                there.enter_context(self.moved(rows.output, step - self.form.waiting))
            if not isinstance(left, int) or left < self.lanes:
                there.enter_context(self.of_part(left))
            self.finish(total)
            self.prefetch()

    def prefetch(self) -> None:
        """Prefetch the place of a later row, where columns are in several blocks: stores of large results wait for lines."""
        rows, size = self.form.rows, self.ranges[self.form.columns.output].size
        if rows is None or (isinstance(size, int) and size <= self.vectors_of_block * self.lanes):
            return
        write = self.loops.write
        buffer, _ = self.arguments.buffer(write)
        self.builder.prefetch(buffer, self.place(write) + self.stride(write.stride(rows.output)) * ROWS_AHEAD)


LEAF = Leaf(NAME, order=1, match=match, seconds=seconds, lower=lower)
