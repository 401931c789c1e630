"""Direct convolution with row streaming, as C: rows of the image pass once, in order, past the sums that wait in registers.

At step t the rows of the image are read with which the newest row of sums, t, begins: `stride` of them. Row of sums t - q takes
them in with the taps that look at them then; its values are `sum_<q>_<vector>`. After the step the oldest row, which has waited
longest, is finished and stored, and every other row is a step older. Before the first row is the oldest, and after the last was
the newest, rows of sums outside of the block are left out. So every sum takes its products in the order of the taps.

Columns run along the lanes, in blocks of several vectors. Where the image has no columns, or no row, vectors are filled with
what its guard says. Every other column is told apart from two vectors in the order that one instruction gives; sums keep it until
the end.

Where rows are no longer than half a vector, the halves belong to two neighbours along an axis outside of the windows: channels,
mostly. The last of an odd number is computed in both halves, and stored from the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.block.integers import IntegerExpression, maximum, minimum
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.guarded_windows import short_windows, windows
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.c_text.statements import Lines, indent
from tilewright.c_text.vector_statements import VectorStatements
from tilewright.graph.expressions.index import Index
from tilewright.kernels.element_access import C_TYPES, suffix
from tilewright.kernels.helpers import Helper
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.declaration import Leaf, Lowered
from tilewright.leaves.row_streaming_form import NAME, ROWS_AHEAD, RowStreaming, form_of, match, seconds
from tilewright.leaves.windows_text import IMAGES, WeightsOfWindows, first_window, limit_value, strides_of
from tilewright.records import record

COLUMN, NEXT, STEP = map(local, ("column", "next", "step"))
MOST_BLOCKS = 4
"""Blocks of columns whose text is written out, each with what it lacks of the image: more take a compiler long."""

WINDOW = """\
TW_INLINE tw_vec tw_window%(const @TYPE@ *p, long first, long last, float otherwise) {
  first = tw_max(first, 0), last = tw_min(last, TW_LANES);
  return first == 0 && last == TW_LANES ? tw_load%(p) : tw_load_between%(p, tw_min(first, TW_LANES), tw_max(last, 0), otherwise);
}
"""
APART = """\
TW_INLINE tw_vec tw_even_columns(tw_vec low, tw_vec high) { return TW_SHUFFLE_TWO(low, high, @EVEN@); }
TW_INLINE tw_vec tw_odd_columns(tw_vec low, tw_vec high) { return TW_SHUFFLE_TWO(low, high, @ODD@); }
TW_INLINE tw_vec tw_columns_in_order(tw_vec v) { return TW_SHUFFLE(v, @ORDER@); }
TW_INLINE tw_vec tw_halves(tw_vec v, tw_vec w) { return TW_SHUFFLE_TWO(v, w, @HALVES@); }
TW_INLINE tw_vec tw_upper_half(tw_vec v) { return TW_SHUFFLE(v, @UPPER@); }
"""


def _window(lanes: int) -> Helper:
    """The functions that load columns, in vectors of so many lanes: four at a time of either vector are told apart."""
    apart = [block + 2 * pair + half * lanes for block in range(0, lanes, 4) for half in (0, 1) for pair in (0, 1)]
    order = [4 * (place % (lanes // 2) // 2) + place % 2 + 2 * (place // (lanes // 2)) for place in range(lanes)]
    places = {
        "@EVEN@": apart,
        "@ODD@": [lane + 1 for lane in apart],
        "@ORDER@": order,
        "@HALVES@": [lane if 2 * lane < lanes else lanes + lane for lane in range(lanes)],
        "@UPPER@": [(lane + lanes // 2) % lanes for lane in range(lanes)],
    }
    text = _of_type(WINDOW, "float32") + APART
    for name, lanes_of in places.items():
        text = text.replace(name, ", ".join(map(str, lanes_of)))
    return Helper("tw_window", text, uses=(windows(lanes),))


def _windows_of(dtype: str, lanes: int) -> list[Helper]:
    """The function that loads columns of images of another type than float32, in vectors of so many lanes."""
    needed = tuple(short_windows([dtype], lanes))
    return [Helper(f"tw_window{suffix(dtype)}", _of_type(WINDOW, dtype), needed)] if needed else []


def _of_type(text: str, dtype: str) -> str:
    """A text about elements of this type: % is what names of functions end with."""
    return text.replace("%", suffix(dtype)).replace("@TYPE@", C_TYPES[dtype])


def lower(loops: VectorLoops, binding: LeafBinding) -> Lowered:
    """The C of a box: of any reduction unless all is known of windows, and lanes lie side by side."""
    form, lanes = form_of(binding), loops.lanes
    if loops.block_steps or not _streams(loops, form):
        return rowwise_reductions.lower(loops, binding)
    size = dict(loops.box)[form.columns.output].size
    width = size if isinstance(size, int) else None
    around = [axis for axis, block in loops.box if axis not in form.axes and block.size != 1]
    paired = around[-1] if around and form.pairs(width, lanes) else ""
    return _Emitter(loops, form=form, paired=paired, vectors=form.vectors(width, lanes))


def _streams(loops: VectorLoops, form: RowStreaming) -> bool:
    image, weights = loops.reads[0], loops.reads[1]
    taps = {window.tap for window in form.windows}
    is_known = all(isinstance(block.size, int) for axis, block in loops.box if axis in taps)
    is_float = image.dtype in IMAGES and isinstance(weights, View)
    is_affine = all(isinstance(read, View) for read in loops.reads[1:])
    in_lanes = loops.vector_axis == form.columns.output
    return in_lanes and is_known and is_float and is_affine and strides_of(loops)[form.columns.output] == form.columns.stride


@record
class _Columns:
    """A block of columns: where it begins, how many vectors it has, and how many columns are left from its beginning on."""

    start: IntegerExpression
    vectors: int
    left: IntegerExpression
    is_inside: bool = False
    """Whether everything that its vectors load is inside of the image, rows apart."""


@record
class _Taps:
    """A row of the image, and the rows of sums that take it in: (how old they are, the row of the window)."""

    row: int
    """From the first that the newest sums begin with."""
    sums: tuple[tuple[int, int], ...]


@record(kw_only=True)
class _Emitter(WeightsOfWindows):
    vectors: int
    """Side by side: their sums are in registers."""

    def helpers(self) -> list[Helper]:
        """The functions that load columns."""
        lanes = self.loops.lanes
        return [*VectorStatements.helpers(self), _window(lanes), *_windows_of(self.loops.reads[0].dtype, lanes)]

    def text(self) -> Lines:
        """All rows and columns, inside loops over all else."""
        around = [axis for axis, _ in self.loops.box if axis not in self.form.axes]
        body = [f"const {self.pixel} *const image = {self.image()};", *self.pointed_weights(), *self.kept_weights()]
        body += self.blocks()
        if not self.paired:
            return self.nest(around, ["{", *indent(body), "}"])
        index, size = names.axis_offset(self.paired), to_c(self.ranges[self.paired].size)
        body = [f"const long next = {index} + 1 < {size};", *body]
        pairs = [f"for (long {index} = 0; {index} < {size}; {index} += 2) {{", *indent(body), "}"]
        return self.nest([axis for axis in around if axis != self.paired], pairs)

    @property
    def of_image(self) -> str:
        """What the names of functions that load the image's elements end with."""
        return suffix(self.loops.reads[0].dtype)

    @property
    def pixel(self) -> str:
        """The C type of the image's elements."""
        return C_TYPES[self.loops.reads[0].dtype]

    @property
    def window(self) -> str:
        """The function that loads columns of the image, of which some may be outside."""
        return f"tw_window{self.of_image}"

    def image(self) -> str:
        """Where the first window of the block begins, were all of it inside of the image."""
        offset = first_window(self.loops) + self.shift(self.around_strides().items())
        return f"{names.buffer_name(self.loops.reads[0].buffer)} + {to_c(offset)}"

    def blocks(self) -> Lines:
        """All blocks of columns: few known ones in a row, others in a loop."""
        size, vectors, lanes = self.ranges[self.form.columns.output].size, self.vectors, self.loops.lanes
        wide = vectors * lanes
        if isinstance(size, int) and size <= MOST_BLOCKS * wide:
            starts = range(0, size, wide)
            blocks = (_Columns(start, min(vectors, -(-(size - start) // lanes)), size - start) for start in starts)
            return [line for block in blocks for line in ["{", *indent(self.block(block)), "}"]]
        if isinstance(size, int):
            return [line for piece in self.pieces(size, wide) for line in self.piece(piece, size)]
        few = self.form.few_vectors(vectors)
        narrow = self.block_loop("", f"column < {to_c(size)}", few, size)
        if vectors == few:
            return ["long column = 0;", *narrow]
        return ["long column = 0;", *self.block_loop("", f"column + {wide} <= {to_c(size)}", vectors, size), *narrow]

    def pieces(self, size: int, wide: int) -> list[range]:
        """The starts of blocks of columns: those that look at columns before the image, those inside, and those behind."""
        starts = range(0, size, wide)
        inside = [number for number, start in enumerate(starts) if self.is_block_inside(start, wide)]
        first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
        return [piece for piece in (starts[:first], starts[first:end], starts[end:]) if piece]

    def piece(self, starts: range, size: int) -> Lines:
        """Neighbouring blocks of columns, all of them inside of the image or none."""
        vectors, wide, start = self.vectors, starts.step, starts[0]
        is_inside = self.is_block_inside(start, wide)
        if len(starts) > 1:
            return self.block_loop(f"long column = {start}", f"column < {starts.stop}", vectors, size, is_inside)
        vectors = min(vectors, -(-(size - start) // self.loops.lanes))
        return ["{", *indent(self.block(_Columns(start, vectors, size - start, is_inside))), "}"]

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

    def block_loop(self, start: str, condition: str, vectors: int, size: IntegerExpression, is_inside: bool = False) -> Lines:
        """Blocks of so many vectors, one behind the other."""
        step = vectors * self.loops.lanes
        body = self.block(_Columns(COLUMN, vectors, step if is_inside else size - COLUMN, is_inside))
        return [f"for ({start}; {condition}; column += {step}) {{", *indent(body), "}"]

    def block(self, block: _Columns) -> Lines:
        """All rows of a block of columns."""
        waiting, rows = self.form.waiting, self.rows_of_sums()
        lines = [f"tw_vec sum_{age}_{vector} = tw_splat(0.0f);" for age in range(waiting + 1) for vector in range(block.vectors)]
        if not isinstance(rows, int):
            ages = range(waiting + 1)
            return [*lines, *self.steps("0", to_c(rows + waiting), block, ages, f"step >= {waiting}")]
        for step in range(min(waiting, rows)):
            lines += self.steps(str(step), str(step + 1), block, range(step + 1), "")
        if rows > waiting:
            lines += self.steps(str(waiting), str(rows), block, range(waiting + 1), "1")
        for step in range(max(waiting, rows) if rows > waiting else rows, rows + waiting):
            ages = range(max(0, step - rows + 1), min(step, waiting) + 1)
            lines += self.steps(str(step), str(step + 1), block, ages, "1" if step >= waiting else "")
        return lines

    def rows_of_sums(self) -> IntegerExpression:
        """Of the block."""
        return self.ranges[self.form.rows.output].size if self.form.rows is not None else 1

    def steps(self, start: str, end: str, block: _Columns, ages: range, finishes: str) -> Lines:
        """Some steps with the same rows of sums, of these ages; `finishes` says in C whether the oldest row is finished then."""
        body = ["TW_OPAQUE(first_weight);"] if self.points_at_weights else []
        body += [line for taps in self.rows_of_step(ages) for line in self.row(block, taps, self.is_inside(taps, start, end))]
        if finishes:
            stored = [line for vector in range(block.vectors) for line in self.finished(block, vector)]
            body += stored if finishes == "1" else [f"if ({finishes}) {{", *indent(stored), "}"]
        for age in range(self.form.waiting, -1, -1):
            older = (f"sum_{age - 1}_{{}}" if age else "tw_splat(0.0f)").format
            body += [f"sum_{age}_{vector} = {older(vector)};" for vector in range(block.vectors)]
        return [f"for (long step = {start}; step < {end}; step++) {{", *indent(body), "}"]

    def rows_of_step(self, ages: range) -> Iterator[_Taps]:
        """The rows of the image that a step reads, and who takes them in; the oldest sums first: they wait for their end."""
        rows = self.form.rows
        for row in range(rows.stride if rows is not None else 1):
            found = [(age, *self.row_of_window(row, age)) for age in reversed(ages)]
            sums = tuple((age, tap) for age, tap, is_seen in found if is_seen)
            if sums:
                yield _Taps(row, sums)

    def row_of_window(self, row: int, age: int) -> tuple[int, bool]:
        """The row of a window that sums of an age see in a row of the image, and whether there is one."""
        rows = self.form.rows
        if rows is None:
            return 0, True
        tap, rest = divmod(row + age * rows.stride, rows.dilation)
        return tap, not rest and tap < rows.taps

    def row(self, block: _Columns, taps: _Taps, inside: str) -> Lines:
        """The products of a row of the image; `inside` says in C whether the image has it, "" if it always has."""
        lines = [f"const {self.pixel} *const row = {self.row_pointer(taps)};"]
        lines += [f"const long is_inside = {inside};"] if inside else []
        lines += self.whole_rows(bool(inside))
        columns = list(range(self.form.columns.taps))
        all_vectors = list(range(block.vectors))
        parts = [[vector] for vector in all_vectors] if self.keeps_weights else [all_vectors]
        for vectors in parts:
            for group in self.column_groups(columns):
                lines += ["{", *indent(self.products(block, taps, vectors, group, bool(inside))), "}"]
        return ["{", *indent(lines), "}"]

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
        return range(first, end) if 0 < end - first <= self.loops.lanes // 2 else None

    def whole_rows(self, has_outside: bool) -> Lines:
        """Declare `rows`: the row of the image, and that of the neighbour, as far as windows look at them; `outside` of them."""
        columns, half, outside = self.seen_columns(), self.loops.lanes // 2, literal_text(self.form.otherwise)
        if columns is None:
            return []
        first, size, neighbour = columns.start, len(columns), NEXT * self.around_strides()[self.paired]
        low = f"{self.window}(row + {first}, 0, {size}, {outside})"
        high = f"{self.window}(row + {to_c(neighbour + (first - half))}, {half}, {half + size}, {outside})"
        rows = f"tw_halves({low}, {high})"
        rows = f"is_inside ? {rows} : tw_splat({outside})" if has_outside else rows
        return [f"const tw_vec outside = {self.points_of(f'tw_splat({outside})')}, rows = {self.points_of(rows)};"]

    def moved(self, column: int) -> str:
        """What of `rows` the lanes look at with a column of the window; "" where there are no such rows."""
        columns, lanes = self.seen_columns(), self.loops.lanes
        if columns is None:
            return ""
        half = lanes // 2
        seen = [lane % half + column * self.form.columns.dilation for lane in range(lanes)]
        places = [lane // half * half + columns.index(place) if place in columns else lanes for lane, place in enumerate(seen)]
        return f"TW_SHUFFLE_TWO(rows, outside, {', '.join(map(str, places))})"

    def row_pointer(self, taps: _Taps) -> str:
        """The row of the image at the first column of the block of columns."""
        rows, strides = self.form.rows, strides_of(self.loops)
        if rows is None:
            return "image"
        age, tap = taps.sums[0]
        moved = (STEP - age) * strides[rows.output] + tap * strides[rows.tap]
        return f"image + {to_c(moved)}"

    def is_inside(self, taps: _Taps, start: str, end: str) -> str:
        """The C text that says whether the image has this row at a step between these; "" if it always has."""
        rows = self.form.rows
        if rows is None or self.has_rows(rows, taps.row, start, end):
            return ""
        position = (self.ranges[rows.output].start + STEP) * rows.stride + taps.row
        limits = [f"{to_c(position)} >= {rows.first}"] if rows.first is not None else []
        limits += [f"{to_c(position)} <= {to_c(limit_value(rows.last))}"] if rows.last is not None else []
        return " && ".join(limits)

    def has_rows(self, rows: Window, row: int, start: str, end: str) -> bool:
        """Whether the image is known to have a row of every step between these."""
        begin = self.ranges[rows.output].start
        if not isinstance(begin, int) or not end.isdigit() or isinstance(rows.last, Index):
            return False
        lowest, highest = (rows.stride * (begin + step) + row for step in (int(start), int(end) - 1))
        return (rows.first is None or lowest >= rows.first) and (rows.last is None or highest <= rows.last)

    def column_groups(self, columns: list[int]) -> list[list[int]]:
        """Columns of the window that are loaded together: even and odd neighbours of the same two vectors."""
        slide = self.form.columns
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
        return not self.paired and isinstance(size, int) and self.form.in_two_vectors(size, self.loops.lanes)

    def taken_lanes(self, column: int) -> str:
        """The lanes of two vectors that a column of the window sees; any for sums that are not stored."""
        slide, both = self.form.columns, 2 * self.loops.lanes
        places = (slide.stride * lane + slide.dilation * column for lane in range(self.loops.lanes))
        return ", ".join(str(place % both) for place in places)

    @property
    def odd_start(self) -> int:
        """1 where windows begin at odd columns of the image: even ones are then loaded with what is behind them, lines whole."""
        return (self.form.columns.first or 0) % 2

    def products(self, block: _Columns, taps: _Taps, vectors: list[int], group: list[int], has_outside: bool) -> Lines:
        """The products of some vectors of a row with the weights of some columns of the window."""
        lines = [line for vector in vectors for line in self.loaded(block, vector, group, has_outside)]
        for column in group:
            for age, tap in taps.sums:
                weight = f"weight_{tap}_{column}"
                if not self.keeps_weights:
                    lines += [f"tw_vec {weight} = {self.weight(tap, column)};"]
                    lines += [f"TW_KEEP({weight});"] if len(vectors) > 1 else []
                for vector in vectors:
                    total = f"sum_{age}_{vector}"
                    lines.append(f"{total} = tw_multiply_add(seen_{column}_{vector}, {weight}, {total});")
        return lines

    def loaded(self, block: _Columns, vector: int, group: list[int], has_outside: bool) -> Lines:
        """Declare `seen_<column>_<vector>` for columns of the window: what of the row the lanes of a vector look at."""
        slide, otherwise = self.form.columns, literal_text(self.form.otherwise)
        first_column = block.start + vector * self.loops.lanes
        offset = group[0] * slide.dilation
        offset -= (offset - self.odd_start) % 2 if slide.stride == 2 and not self.two_vectors_suffice else 0
        position = (self.ranges[slide.output].start + first_column) * slide.stride + offset
        place = first_column * slide.stride + offset
        left = block.left - vector * self.loops.lanes
        has_odd = any(column * slide.dilation != offset for column in group)
        end = left if slide.stride == 1 else left * 2 + -1 + int(has_odd)
        end = left * 2 + ((slide.taps - 1) * slide.dilation - 1) if self.two_vectors_suffice else end
        end = minimum(end, limit_value(slide.last) + 1 - position) if slide.last is not None else end
        start = maximum(0, slide.first - position) if slide.first is not None else 0

        def window(skipped: IntegerExpression, ahead: IntegerExpression) -> str:
            """Of so many columns less, so many neighbours ahead."""
            moved = ahead * self.around_strides()[self.paired] if self.paired else 0
            pointer = f"row + {to_c(place + skipped + moved)}"
            limits = f"{to_c(start - skipped)}, {to_c(end - skipped)}, {otherwise}"
            text = f"tw_load{self.of_image}({pointer})" if block.is_inside else f"{self.window}({pointer}, {limits})"
            return self.points_of(f"is_inside ? {text} : tw_splat({otherwise})" if has_outside else text)

        if slide.stride == 1:
            name = f"seen_{group[0]}_{vector}"
            half = self.loops.lanes // 2
            seen = f"tw_halves({window(0, 0)}, {window(-half, NEXT)})" if self.paired else window(0, 0)
            seen = self.moved(group[0]) or seen
            return [f"tw_vec {name} = {seen};", f"TW_KEEP({name});"]
        high = window(0, NEXT) if self.paired else window(local("TW_LANES"), 0)
        lines = [f"tw_vec low_{vector} = {window(0, 0)};", f"tw_vec high_{vector} = {high};"]
        lines += [f"TW_KEEP(low_{vector});", f"TW_KEEP(high_{vector});"]
        if self.two_vectors_suffice:
            both = f"low_{vector}, high_{vector}"
            return lines + [
                f"const tw_vec seen_{column}_{vector} = TW_SHUFFLE_TWO({both}, {self.taken_lanes(column)});" for column in group
            ]
        for column in group:
            which = "even" if column * slide.dilation == offset else "odd"
            lines.append(f"const tw_vec seen_{column}_{vector} = tw_{which}_columns(low_{vector}, high_{vector});")
        return lines

    def finished(self, block: _Columns, vector: int) -> Lines:
        """Store a vector of the oldest row of sums."""
        total = f"sum_{self.form.waiting}_{vector}"
        total = total if self.form.columns.stride == 1 or self.two_vectors_suffice else f"tw_columns_in_order({total})"
        lines = self.stored(block, vector, total)
        if not self.paired:
            return lines
        index = names.axis_offset(self.paired)
        second = [f"const long pair = {index};", "{", f"  const long {index} = pair + 1;"]
        second += [*indent(self.stored(block, vector, f"tw_upper_half({total})")), "}"]
        return [*lines, "if (next) {", *indent(second), "}"]

    def stored(self, block: _Columns, vector: int, total: str) -> Lines:
        """Finish and store a vector of sums."""
        columns, rows, lanes = self.form.columns, self.form.rows, self.loops.lanes
        first = block.start + vector * lanes
        left = block.left - vector * lanes
        is_whole = isinstance(left, int) and left >= lanes
        lines = [f"const long {names.axis_offset(columns.output)} = {to_c(first)};"]
        if rows is not None and self.ranges[rows.output].size != 1:
            lines.append(f"const long {names.axis_offset(rows.output)} = {to_c(STEP - self.form.waiting)};")
        lines += [] if is_whole else [f"const long lanes = tw_min({to_c(left)}, TW_LANES);"]
        lines += [*self.finished_sum(total, not is_whole), *self.prefetched()]
        body = ["{", *indent(lines), "}"]
        return body if isinstance(left, int) else [f"if ({to_c(left)} > 0) {{", *indent(lines), "}"]

    def prefetched(self) -> Lines:
        """Prefetch the place of a later row, where columns are in several blocks: stores of large results wait for lines."""
        rows, wide = self.form.rows, self.vectors * self.loops.lanes
        size = self.ranges[self.form.columns.output].size
        if rows is None or (isinstance(size, int) and size <= wide):
            return []
        ahead = ROWS_AHEAD * self.loops.write.stride(rows.output)
        return [f"__builtin_prefetch({self.address(self.loops.write)} + {to_c(ahead)}, 1);"]


LEAF = Leaf(NAME, order=1, match=match, seconds=seconds, lower=lower)
