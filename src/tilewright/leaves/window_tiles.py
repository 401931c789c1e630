"""Direct convolution by tiles of sums: windows of many rows, and of three dimensions or more.

A tile of rows and vectors of columns stays in registers while the taps of its windows go by: the dimensions before the rows one
tap after the other, then the rows of the image that the tile sees, each of whose vectors takes part in the sums of all rows that
look at it. So every sum takes its products in the order of the taps. Windows of many taps are walked by loops when the program
runs: the text does not grow with them.

Rows outside of the image are left out, unless a weight of the filter is no finite number: then they are zeros that take part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod

from tilewright.arrays import Quantity, product
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.block.statements import VectorLoops
from tilewright.graph.types import Operator
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.declaration import CostProblem, Leaf, LoweredTile, Mismatch, Problem, Refusal
from tilewright.leaves.row_streaming import Columns, Program, Row, Sums, Taps, streams
from tilewright.leaves.row_streaming_form import MOST_ROWS, RowStreaming, why_no_columns
from tilewright.leaves.tile_programs.integers import smaller
from tilewright.leaves.tile_programs.positions import conditions
from tilewright.leaves.windows import binding_of_windows, image_windows
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.types import vector

NAME = "window tiles"
MOST_DIMENSIONS = 4
MOST_VECTORS = 2
"""Side by side: more leave fewer rows, which share what is loaded of the image."""
TEMPORARIES = 6
"""Registers for weights, and for spare."""
MOST_UNROLLED = 5
"""Taps along a dimension that are written out one by one."""
LONGEST_SUM = 4096
"""Taps that an accumulator takes in one after the other."""
SHARE = {1: 0.75, 2: 0.5}
"""Of the peak, what multiply-adds reach, by the stride of columns."""


@record
class WindowTiles(RowStreaming):
    """A sum over windows of rows and columns, and of dimensions before them."""

    outer: tuple[Window, ...]

    @property
    def axes(self) -> frozenset[str]:
        """Outputs and taps of rows and columns, and the taps of other dimensions."""
        inner = {name for window in self.windows for name in (window.output, window.tap)}
        return frozenset(inner.union(window.tap for window in self.outer))

    @property
    def keeps_weights(self) -> bool:
        """They are loaded where they are used."""
        return False

    @property
    def taps(self) -> int:
        """Of a window."""
        return prod(window.taps for window in (*self.outer, *self.windows))

    def pairs(self, width: int | None, lanes: int) -> bool:
        """Vectors have columns of one row."""
        return False

    def vectors(self, width: int | None, lanes: int) -> int:
        """Vectors side by side, in equal blocks of the width."""
        if width is None:
            return MOST_VECTORS
        wanted = -(-width // lanes)
        return -(-wanted // -(-wanted // MOST_VECTORS))

    def tile_rows(self, rows: int | None, vectors: int, lanes: int) -> int:
        """Rows of sums in registers: as many as waste the fewest rows, where tiles overlap."""
        registers = (32 if lanes == 16 else 16) - TEMPORARIES
        most = max(1, registers // vectors - 1)
        return most if rows is None else min(range(min(most, rows), 0, -1), key=lambda count: -(-rows // count) * count)

    @property
    def is_looped(self) -> bool:
        """Whether rows of windows are walked by a loop."""
        rows = self.rows
        return rows is not None and rows.stride == rows.dilation == 1 and rows.taps > MOST_UNROLLED


def form_of(binding: LeafBinding) -> WindowTiles:
    """The weighted sum of a binding."""
    *outer, rows, columns = binding.windows
    return WindowTiles(rows, columns, dict(binding.numbers)["otherwise"], tuple(outer))


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The windows of a weighted sum whose lanes run along columns: of more rows than wait in registers, or more dimensions."""
    found = image_windows(problem.operator, MOST_DIMENSIONS)
    if isinstance(found, Mismatch):
        return Refusal(NAME, found)
    reason = _mismatch(problem.operator, found)
    return binding_of_windows(NAME, problem.operator, found) if reason is None else Refusal(NAME, reason)


def _mismatch(operator: Operator, windows: Sequence[Window]) -> Mismatch | None:
    if len(windows) < 2 or (len(windows) == 2 and windows[0].waiting < MOST_ROWS):
        return Mismatch.WINDOWS
    rows, columns = windows[-2:]
    if columns.stride > 1 and columns.taps > MOST_UNROLLED:
        return Mismatch.LANES
    is_few = rows.taps <= MOST_UNROLLED or rows.stride == rows.dilation == 1
    return why_no_columns(operator, windows) or (None if is_few else Mismatch.REGISTERS)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """Multiply-adds in whole vectors, of rows inside of the image, and what finishes the sums."""
    form, lanes = form_of(binding), problem.lanes
    taps = {axis.name for axis in problem.operator.reduction_axes()}
    around = product(problem.sizes[axis.name] for axis in problem.operator.axes if axis.name not in taps | {form.columns.output})
    sums = around * -(-problem.sizes[form.columns.output] // lanes) * lanes
    extents = {axis.name: axis.extent for axis in problem.operator.axes}
    steps = float(form.columns.taps)
    for window in (*form.outer, *((form.rows,) if form.rows is not None else ())):
        steps *= mean_taps(window, extents[window.output])
    assert problem.operator.reduction is not None
    finish_s = sums * problem.seconds_per_element([problem.operator.reduction.finish], 0)
    peak = problem.machine.highest_peak(problem.operator.accumulator) * SHARE[form.columns.stride]
    return 2 * sums * steps / peak + finish_s


def mean_taps(window: Window, outputs: object) -> float:
    """Taps of a window that are inside of the image, on average.

    >>> mean_taps(Window("o", "k", 3, 1, 1, first=1, last=4), 4)
    2.5
    """
    last = window.last
    if not isinstance(outputs, int) or not (last is None or isinstance(last, int)):
        return window.taps
    positions = (output * window.stride + tap * window.dilation for output in range(outputs) for tap in range(window.taps))
    first, last = window.first or 0, outputs * window.stride + window.taps * window.dilation if last is None else last
    return sum(first <= position <= last for position in positions) / outputs


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box; that of any reduction unless all is known of windows, and lanes lie side by side.

    Sums are those of a product, and not cut: `plan.decisions.long_sums`.
    """
    form, lanes = form_of(binding), loops.lanes
    taps = {window.tap for window in form.outer}
    is_known = all(isinstance(block.size, int) for axis, block in loops.box if axis in taps)
    if form.taps > LONGEST_SUM or not is_known or not streams(loops, form):
        return rowwise_reductions.lower(loops, binding)
    size = dict(loops.box)[form.columns.output].size
    return _Tiles(loops, form, form.vectors(size if isinstance(size, int) else None, lanes)).lowered()


class _Tiles(Program):
    """Tiles of rows and columns; `form` as `tiles`."""

    def __init__(self, loops: VectorLoops, form: WindowTiles, vectors: int) -> None:
        super().__init__(loops, form, "", vectors)
        self.tiles = form
        assert form.rows is not None
        self.rows_of_windows = form.rows
        self.is_special: IndexLike = 0
        """Whether a weight is no finite number."""
        self.outer_place: IndexLike = 0
        self.outer_inside: IndexLike = 1

    def blocks(self) -> None:
        """All blocks of columns."""
        if any(window.first is not None or window.last is not None for window in (*self.tiles.outer, self.rows_of_windows)):
            self.is_special = self.has_special()
        super().blocks()

    def has_special(self) -> IndexLike:
        """Whether some weight times 0 is not 0."""
        b, view, rows, columns = self.builder, self.loops.view(1), self.rows_of_windows, self.form.columns
        found = b.variable(self.nothing())
        with ExitStack() as there:
            for window in (*self.tiles.outer, rows):
                there.enter_context(self.along(window.tap, 0, window.taps))
            for start in range(0, columns.taps, self.lanes):
                with self.moved(columns.tap, start):
                    lanes = self.between(0, columns.taps - start)
                    some = self.elements(view, self.place(view), self.stride(view.stride(columns.tap)), lanes=lanes)
                    b.assign(found, b.multiply_add(some, 0, found))
        return b.define(IntegerOperation.VALUE, b.instruction(Operation.ANY, vector("int32"), (found.differs(0),)))

    # Tiles.

    def block(self, block: Columns) -> None:
        """All tiles of a block of columns: the last one ends with the last row."""
        size = self.size(self.rows_of_windows.output)
        count = self.tiles.tile_rows(size if isinstance(size, int) else None, block.vectors, self.lanes)
        if isinstance(size, int) and size <= count:
            self.tile(block, 0, size)
        elif isinstance(size, int):
            with self.builder.loop("row", 0, size, count) as row:
                self.tile(block, row if size % count == 0 else smaller(self.builder, row, size - count), count)
        else:
            whole = self.whole(size, count)
            with self.builder.loop("row", 0, whole, count) as row:
                self.tile(block, row, count)
            with self.builder.loop("row", whole, size) as row:
                self.tile(block, row, 1)

    def tile(self, block: Columns, start: IndexLike, count: int) -> None:
        """So many rows from a first one on."""
        sums = [[self.builder.variable(self.nothing()) for _ in range(block.vectors)] for _ in range(count)]
        with self.outer_taps():
            self.image_rows(block, sums, start)
        for row, totals in enumerate(sums):
            for vector_number, total in enumerate(totals):
                is_in_order = self.form.columns.stride == 1 or self.two_vectors_suffice
                value = total if is_in_order else self.in_order(total)
                self.stored(block, vector_number, value, start + row + self.form.waiting)

    @contextmanager
    def outer_taps(self) -> Iterator[None]:
        """Loops over the taps of dimensions before the rows."""
        with ExitStack() as there:
            place: IndexLike = 0
            inside = []
            for window in self.tiles.outer:
                tap = there.enter_context(self.along(window.tap, 0, window.taps)) if window.taps > 1 else 0
                position = self.position(window.output) * window.stride + tap * window.dilation
                inside.append(self.is_inside(window, position, position))
                place = place + tap * self.strides[window.tap]
            self.outer_place = place
            self.outer_inside = 0 if 0 in inside else conditions(self, *(one for one in inside if one != 1))
            yield
            self.outer_place, self.outer_inside = 0, 1

    def image_rows(self, block: Columns, sums: Sums, start: IndexLike) -> None:
        """All rows of the image that a tile sees, in order: those that all of its rows see in a loop, if they are many."""
        rows, count = self.rows_of_windows, len(sums)
        seen = (count - 1) * rows.stride + (rows.taps - 1) * rows.dilation + 1
        known = [self.looking_at(row, count) for row in range(seen)]
        if not self.tiles.is_looped or rows.taps <= count:
            for some in known:
                self.image_row(block, sums, start, some)
            return
        for some in known[: count - 1]:
            self.image_row(block, sums, start, some)
        with self.builder.loop("tap", count - 1, rows.taps) as tap:
            self.image_row(block, sums, start, [(row, tap - row) for row in range(count)])
        for some in known[rows.taps :]:
            self.image_row(block, sums, start, some)

    def looking_at(self, position: int, count: int) -> list[tuple[int, IndexLike]]:
        """The rows of a tile that look at a row of the image, counted from the first that any sees, and by which tap."""
        rows = self.rows_of_windows
        found = ((row, divmod(position - row * rows.stride, rows.dilation)) for row in range(count))
        return [(row, tap) for row, (tap, rest) in found if not rest and 0 <= tap < rows.taps]

    def image_row(self, block: Columns, sums: Sums, start: IndexLike, looking: list[tuple[int, IndexLike]]) -> None:
        """The products of a row of the image: of zeros where it is outside and a weight is special."""
        if not looking:
            return
        rows, (row, tap) = self.rows_of_windows, looking[0]
        position = (self.start(rows.output) + start + row) * rows.stride + tap * rows.dilation
        there = self.is_inside(rows, position, position)
        known = [one for one in (self.outer_inside, there) if one != 1]
        inside = 0 if 0 in known else conditions(self, *known)
        place = self.image_place(self.form.axes) + self.outer_place
        place = place + (start + row) * self.strides[rows.output] + tap * self.strides[rows.tap]
        taps = Taps(0, tuple(looking))
        if inside == 1:
            self.columns_of_row(Row(block, taps, place, sums))
            return
        with self.builder.when(inside):
            self.columns_of_row(Row(block, taps, place, sums))
        with self.builder.otherwise(), self.builder.when(self.is_special):
            self.columns_of_row(Row(block, taps, None, sums))

    def columns_of_row(self, row: Row) -> None:
        """The products of a row of the image with all columns of the windows."""
        vectors, columns = list(range(row.block.vectors)), self.form.columns
        if columns.stride == 1 and columns.taps > MOST_UNROLLED:
            with self.builder.loop("column_tap", 0, columns.taps) as column:
                self.products(row, vectors, [column], None)
            return
        for group in self.column_groups():
            self.products(row, vectors, group, None)


LEAF = Leaf(NAME, order=1, match=match, seconds=seconds, lower=lower)
