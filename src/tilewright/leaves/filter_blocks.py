"""Direct convolution with blocks of filters: some pixels of a row of outputs by some vectors of filters stay in registers,
of short rows those of two.

For every tap inside of the image, and every channel, the weights of a block of filters are loaded, and each pixel is broadcast
from where it lies in the image, whatever the stride: nothing is copied. Taps outside of the image are left out, whose products
are zeros: along columns, tiles of a row that see other taps have other text; along all other dimensions, loops over taps ask. So
every sum takes its products in the order of rows of taps, channels, and taps of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from math import prod

from tilewright.block.integers import IntegerExpression
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.index import FloorDiv
from tilewright.leaves.declaration import CFile, Functions, Leaf, LoweredTile
from tilewright.leaves.filter_blocks_form import (
    NAME,
    FilterBlocks,
    are_paired,
    channels_of_piece,
    constraints,
    form_of,
    match,
    pieces,
    seconds,
    seen,
)
from tilewright.leaves.tile_programs.integers import quotient, smaller
from tilewright.leaves.tile_programs.linked import linked, linked_functions
from tilewright.leaves.windows_program import WindowProgram
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value, Variable

MOST_REMEMBERED = 256
MOST_WRITTEN = 16
"""Neighbouring taps of a row, seen by the same pixels, that are written down one after the other: a loop takes more."""
LINE = 16
"""Elements between prefetches. Channels of large images lie on pages of their own, which no prefetcher crosses (Zen 4: 3x3
by two, 80 to 128 of 173 x 177, 21.1 ms without, 13.3 ms)."""


@lru_cache(MOST_REMEMBERED)
def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box with whole rows, taps and channels, and with filters from the start of a block on."""
    form = form_of(binding)
    return FilterProgram(replace(loops, vector_axis=form.filter), form).lowered()


@record
class _Tile:
    """Pixels side by side, of one row or of two, and of each tap of a row those that see the image: (first, behind the last)."""

    rows: int
    pixels: int
    seen: tuple[tuple[int, int], ...]

    def runs(self) -> Iterator[tuple[range, tuple[int, int]]]:
        """Neighbouring taps that the same pixels see, without those that none does."""
        for ends, some in groupby(range(len(self.seen)), key=self.seen.__getitem__):
            taps = [*some]
            if ends[0] != ends[1]:
                yield range(taps[0], taps[-1] + 1), ends


@record(eq=False)
class _Sums:
    """Of a tile: for each pixel, row by row, a vector of sums for each of the masks of filters."""

    tile: _Tile
    totals: list[list[Variable]]
    masks: list[Value | None]


class _Weights:
    """Where weights lie: elements between neighbours along axes, and between blocks of filters."""

    def __init__(self, operand: View | Gather, form: FilterBlocks, axes: list[str]) -> None:
        self.block: IntegerExpression = 0
        self.first: IntegerExpression = 0
        if isinstance(operand, View):
            self.strides = {axis: operand.stride(axis) for axis in axes if axis != form.filter}
            return
        dimensions = list(zip(operand.indices, operand.dim_strides, strict=True))
        self.strides = {axis: sum(stride * index.coefficient(axis) for index, stride in dimensions) for axis in axes}
        self.first = sum(stride * index.constant for index, stride in dimensions)
        for index, stride in dimensions:
            if any(isinstance(atom, FloorDiv) for atom, _ in index.terms):
                self.block = stride


class FilterProgram(WindowProgram):
    """Blocks of filters, rows of outputs, and tiles of a row, inside loops over all else."""

    def __init__(self, loops: VectorLoops, form: FilterBlocks) -> None:
        super().__init__(loops, 0.0)
        self.form = form
        self.channels_now: tuple[IndexLike, IndexLike] = (0, 0)
        self.weights = _Weights(loops.reads[1], form, list(self.ranges))

    def lowered(self) -> LoweredTile:
        """The whole program."""
        with self.over([axis for axis in self.ranges if axis not in self.form.moving]):
            self.blocks()
        return linked(self.arguments.lowered())

    # Blocks of filters, rows, and tiles.

    def blocks(self) -> None:
        """Whole blocks of filters, then what is left."""
        axis, block = self.form.filter, self.form.block
        sizes, size = self.ranges[axis].sizes, self.size(axis)
        assert sizes is not None
        whole = self.whole(size, block)
        if max(sizes) >= block:
            with self.along(axis, 0, whole, block):
                self.pieces(block)
        for rest in sorted({one % block for one in sizes} - {0}):
            with self.moved(axis, whole):
                if isinstance(size, int):
                    self.pieces(rest)
                    continue
                with self.builder.when(self.builder.define(IntegerOperation.EQUAL, size - whole, rest)):
                    self.pieces(rest)

    def pieces(self, filters: int) -> None:
        """All outputs of so many filters, of as many channels at a time as sums may take in one after the other."""
        channels, taps = dict(self.loops.box)[self.form.channel].size, prod(window.taps for window in self.form.windows)
        assert isinstance(channels, int)
        step = channels_of_piece(channels, taps)
        with self.builder.loop("piece", 0, channels, step) if step < channels else nullcontext(0) as piece:
            self.channels_now = (piece, smaller(self.builder, piece + step, channels))
            self.outputs(filters)

    def outputs(self, filters: int) -> None:
        """All outputs of so many filters."""
        place = self.weights_place()
        around = [window.output for window in self.form.around]
        columns = self.ranges[self.form.columns.output].size
        assert isinstance(columns, int)
        if not around or not are_paired(columns, self.lanes):
            with self.over(around):
                self.row(filters, place, 1)
            return
        with self.over(around[:-1]):
            axis, size, sizes = around[-1], self.size(around[-1]), self.ranges[around[-1]].sizes
            whole = self.whole(size, 2)
            if sizes is None or max(sizes) > 1:
                with self.along(axis, 0, whole, 2):
                    self.row(filters, place, 2)
            if sizes is None or any(one % 2 for one in sizes):
                with self.along(axis, whole, size):
                    self.row(filters, place, 1)

    def row(self, filters: int, weights: IndexLike, rows: int) -> None:
        """A row of outputs, or two."""
        for tile, starts in self.tiles(rows):
            if len(starts) == 1:
                self.tile(tile, starts[0], filters, weights)
            else:
                with self.along(self.form.columns.output, starts[0], starts[-1] + 1, starts[1] - starts[0]) as column:
                    self.tile(tile, column, filters, weights)

    def weights_place(self) -> IndexLike:
        """Where the weights of the present block begin."""
        operand, axis = self.loops.reads[1], self.form.filter
        _, start = self.arguments.buffer(operand)
        place = start + self.stride(self.weights.first)
        for name, stride in self.weights.strides.items():
            if name not in self.form.moving:
                origin = self.start(name) if isinstance(operand, Gather) else 0
                place = place + (origin + self.at[name]) * self.stride(stride)
        number = quotient(self.builder, self.start(axis), self.form.block) + quotient(
            self.builder, self.at[axis], self.form.block
        )
        return place + number * self.stride(self.weights.block)

    def tiles(self, rows: int) -> list[tuple[_Tile, list[int]]]:
        """The tiles of some rows, neighbours that are alike together, each where it starts."""
        size = self.ranges[self.form.columns.output].size
        assert isinstance(size, int)
        found = [(self.seen_tile(rows, start, pixels), start) for start, pixels in pieces(size, self.lanes)]
        alike = groupby(found, key=lambda one: one[0])
        return [(tile, [start for _, start in some]) for tile, some in alike]

    def seen_tile(self, rows: int, start: int, pixels: int) -> _Tile:
        """The tile of so many pixels of each row."""
        slide = self.form.columns
        inside = [[one for one in range(pixels) if seen(slide, tap, start + one)] for tap in range(slide.taps)]
        return _Tile(rows, pixels, tuple((some[0], some[-1] + 1) if some else (0, 0) for some in inside))

    def tile(self, tile: _Tile, column: IndexLike, filters: int, weights: IndexLike) -> None:
        """The sums of a tile, from the first product to the store."""
        columns = self.form.columns.output
        vectors = range(0, filters, self.lanes)
        masks = [self.mask(filters - first) for first in vectors]
        sums = [[self.builder.variable(self.nothing()) for _ in vectors] for _ in range(tile.rows * tile.pixels)]
        image = self.image_place(self.form.moving - {window.output for window in self.form.around})
        self.taps(_Sums(tile, sums, masks), (image + column * self.strides[columns], weights), 0)
        write = self.loops.write
        buffer, _ = self.arguments.buffer(write)
        with self.moved(columns, column):
            place = self.place(write)
        by_pixel, by_row = self.stride(write.stride(columns)), self.below(lambda output: self.stride(write.stride(output)))
        pixels = [place + row * by_row + one * by_pixel for row in range(tile.rows) for one in range(tile.pixels)]
        places = [[pixel + first for first in vectors] for pixel in pixels]
        if self.channels_now[0] != 0:
            with self.builder.when(self.channels_now[0]):
                for total, at, mask in self.each(sums, places, masks):
                    self.builder.assign(total, self.builder.load(buffer, at, self.type, mask) + total)
        for total, at, mask in self.each(sums, places, masks):
            self.builder.store(buffer, at, total, mask)

    def below(self, stride: Callable[[str], IndexLike]) -> IndexLike:
        """Elements between a row of outputs and the next, by what is between neighbours along an axis."""
        return stride(self.form.around[-1].output) if self.form.around else 0

    @staticmethod
    def each(
        sums: list[list[Variable]], places: list[list[IndexLike]], masks: list[Value | None]
    ) -> Iterator[tuple[Variable, IndexLike, Value | None]]:
        """Every sum of a tile, with its place and the mask of its lanes."""
        for row, of_row in zip(sums, places, strict=True):
            yield from zip(row, of_row, masks, strict=True)

    def mask(self, filters: int) -> Value | None:
        """Of the lanes that are filters."""
        return self.builder.prefix(filters, self.type) if filters < self.lanes else None

    # Taps and channels.

    def taps(self, sums: _Sums, places: tuple[IndexLike, IndexLike], depth: int) -> None:
        """The products of all taps from a dimension on, of those inside of the image; `places` are of image and weights."""
        if depth == len(self.form.around):
            self.channels(sums, places, range(1))
            return
        window = self.form.around[depth]
        with self.builder.loop("tap", 0, window.taps) as tap:
            position = self.position(window.output) * window.stride + tap * window.dilation
            image = places[0] + tap * self.strides[window.tap]
            weights = places[1] + tap * self.stride(self.weights.strides[window.tap])
            if sums.tile.rows > 1 and depth == len(self.form.around) - 1:
                self.pair(window, position, partial(self.channels, sums, (image, weights)))
                return
            with ExitStack() as inside:
                for condition in self.limits(window, position, position):
                    inside.enter_context(self.builder.when(condition))
                self.taps(sums, (image, weights), depth + 1)

    def pair(self, window: Window, position: IndexLike, body: Callable[[range], None]) -> None:
        """What is done for those of two rows that see the image, the first by a tap at some position."""
        first, second = (self.is_inside(window, one, one) for one in (position, position + window.stride))
        if first == 1 and second == 1:
            body(range(2))
            return
        with self.builder.when(first):
            with self.builder.when(second):
                body(range(2))
            with self.builder.otherwise():
                body(range(1))
        with self.builder.otherwise(), self.builder.when(second):
            body(range(1, 2))

    def channels(self, sums: _Sums, places: tuple[IndexLike, IndexLike], rows: range) -> None:
        """The products of a row of taps. Pixels that neighbours see, too, are loaded again: no registers are left for them."""
        builder, channel = self.builder, self.form.channel
        with builder.loop("channel", *self.channels_now) as c:
            image = places[0] + c * self.strides[channel]
            weights = places[1] + c * self.stride(self.weights.strides[channel])
            self.ask_for_next(sums.tile, image)
            for taps, ends in sums.tile.runs():
                if len(taps) > MOST_WRITTEN:
                    with builder.loop("column_tap", taps.start, taps.stop) as one:
                        self.tap(sums, (image, weights), rows, one, ends)
                    continue
                for tap in taps:
                    self.tap(sums, (image, weights), rows, tap, ends)

    def tap(self, sums: _Sums, places: tuple[IndexLike, IndexLike], rows: range, tap: IndexLike, ends: tuple[int, int]) -> None:
        """The products of a tap of a row, with the pixels between two ends."""
        builder, columns = self.builder, self.form.columns
        (image_buffer, _), (weights_buffer, _) = (self.arguments.buffer(read) for read in self.loops.reads[:2])
        step, between = self.stride(self.weights.strides[columns.tap]), self.strides[columns.output]
        lanes = [
            builder.load(weights_buffer, places[1] + tap * step + number * self.lanes, self.type, mask)
            for number, mask in enumerate(sums.masks)
        ]
        for row in rows:
            place = places[0] + tap * self.strides[columns.tap] + row * self.below(self.strides.__getitem__)
            seen_from = builder.define(IntegerOperation.OPAQUE, place)
            for pixel in range(*ends):
                pixels = builder.broadcast(image_buffer, seen_from + pixel * between, self.type)
                for total, weight in zip(sums.totals[row * sums.tile.pixels + pixel], lanes, strict=True):
                    builder.assign(total, builder.multiply_add(pixels, weight, total))

    def ask_for_next(self, tile: _Tile, image: IndexLike) -> None:
        """Prefetch what the next tile of the row sees, and this one does not, where channels lie outside of rows."""
        between, (buffer, _) = self.strides[self.form.columns.output], self.arguments.buffer(self.loops.reads[0])
        apart = self.strides[self.form.channel]
        if isinstance(between, int) and not (isinstance(apart, int) and abs(apart) < abs(between)):
            for ahead in range(0, tile.pixels * between, LINE):
                self.builder.prefetch(buffer, image + tile.pixels * between + ahead)


def functions(file: CFile, calls: Sequence[VectorLoops]) -> Functions:
    """Those of the programs."""
    return linked_functions(file, (lower(call, call.leaf) for call in calls))


LEAF = Leaf(NAME, order=2, match=match, seconds=seconds, lower=lower, constraints=constraints, functions=functions)
