"""Direct convolution with channel lanes: weighted sums over windows of images whose channels lie last; lanes run along these.

Some sums stand side by side in registers, one vector of channels each, past which a row of the image goes: so lanes are full
however short the rows of an image are. For every row of taps the columns of the image are loaded in order, each once, and
multiplied into every sum whose window sees it. Blocks of sums that may look at columns before the image or behind it ask for
every column; outside, and in rows that the image does not have, a column is what the guard says. So every sum takes its products
in the order of the taps, at borders, too.
"""

from __future__ import annotations

from functools import partial

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.channel_lanes_form import NAME, ChannelLanes, form_of, match, seconds
from tilewright.leaves.declaration import Leaf, LoweredTile
from tilewright.leaves.windows_program import IMAGES, WindowProgram, strides_of
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value, Variable

MOST_RESTS = 2
"""Blocks of other sizes behind the last whole one that have text of their own: that of a tile, and that of the last tile."""


MOST_BORDERS = 3
"""Blocks whose windows stand out that have text of their own: more are told apart as they run."""


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box; that of any reduction unless all is known of windows, and channels lie side by side everywhere."""
    form = form_of(binding)
    return ChannelProgram(loops, form).lowered() if _has_lanes(loops, form) else rowwise_reductions.lower(loops, binding)


def _has_lanes(loops: VectorLoops, form: ChannelLanes) -> bool:
    weights, box = loops.reads[1], dict(loops.box)
    if loops.block_steps or loops.vector_axis != form.channel or not isinstance(weights, View):
        return False
    is_plain = all(isinstance(read, View) for read in loops.reads[1:])
    is_known = all(isinstance(box[slide.tap].size, int) for slide in form.windows)
    strides = strides_of(loops)[form.channel], loops.write.stride(form.channel), weights.stride(form.channel)
    return is_plain and is_known and loops.reads[0].dtype in IMAGES and strides == (1, 1, 1)


@record(eq=False)
class _Block:
    """Sums side by side from a column on. `checked` says whether columns of the image that they see may be outside."""

    column: IndexLike
    wide: int
    checked: bool


@record(eq=False)
class _Taps:
    """A row of taps, and where the row of the image is that they see; None where the image does not have it."""

    weights: IndexLike
    image: IndexLike | None


class ChannelProgram(WindowProgram):
    """Blocks of windows in their order, all channels of each, inside loops over all else.

    Memory is read as it lies: pixels one behind the other, and all channels of a pixel.
    """

    def __init__(self, loops: VectorLoops, form: ChannelLanes) -> None:
        """Of operands in which channels lie side by side."""
        super().__init__(loops, form.otherwise)
        self.form = form

    def lowered(self) -> LoweredTile:
        """The whole program."""
        slid = {name for slide in self.form.windows for name in (slide.output, slide.tap)}
        around = [axis for axis in self.ranges if axis not in slid and axis != self.form.channel]
        rows = [self.form.rows.output] if self.form.rows is not None else []
        with self.over([*around, *rows]):
            self.blocks()
        return self.arguments.lowered()

    def blocks(self) -> None:
        """The sums of a row: in blocks, then what is left: side by side where that is one of few numbers, or one by one."""
        span = self.ranges[self.form.columns.output]
        sizes, size = span.sizes or frozenset(), self.size(self.form.columns.output)
        wide = self.form.block(max(sizes, default=0) or None, self.lanes)
        whole = self.whole(size, wide)
        if isinstance(whole, int):
            for piece in self.pieces(whole, wide):
                self.piece(piece)
        else:
            with self.builder.loop("column", 0, whole, wide) as column:
                self.sums(column, wide)
        rests = sorted({each % wide for each in sizes} - {0})
        if not sizes or len(rests) > MOST_RESTS:
            with self.builder.loop("column", whole, size) as column:
                self.sums(column, 1)
        elif isinstance(whole, int):
            for rest in rests:
                self.sums(whole, rest)
        else:
            for rest in rests:
                with self.builder.when(self.builder.define(IntegerOperation.EQUAL, size - whole, rest)):
                    self.sums(whole, rest)

    def pieces(self, whole: int, wide: int) -> list[range]:
        """The starts of known blocks: of those together that see nothing outside of the image, of others one by one if few."""
        starts = range(0, whole, wide)
        inside = [number for number, start in enumerate(starts) if self.windows_inside(start, wide) == 1]
        first, end = (inside[0], inside[-1] + 1) if inside else (0, 0)
        borders = [starts[number : number + 1] for number in range(len(starts)) if not first <= number < end]
        if len(borders) > MOST_BORDERS:
            return [starts]
        return [*borders[:first], *([starts[first:end]] if inside else []), *borders[first:]]

    def piece(self, starts: range) -> None:
        """Neighbouring blocks."""
        if len(starts) == 1:
            self.sums(starts[0], starts.step)
            return
        are_inside = self.windows_inside(starts[0], starts.step) == self.windows_inside(starts[-1], starts.step) == 1
        with self.builder.loop("column", starts[0], starts.stop, starts.step) as column:
            if are_inside:
                self.of_all_channels(_Block(column, starts.step, False))
            else:
                self.sums(column, starts.step)

    def windows_inside(self, column: IndexLike, wide: int) -> IndexLike:
        """Whether so many windows from a column on look at columns of the image alone."""
        slide = self.form.columns
        first = (self.start(slide.output) + column) * slide.stride
        return self.is_inside(slide, first, first + ((wide - 1) * slide.stride + (slide.taps - 1) * slide.dilation))

    def sums(self, column: IndexLike, wide: int) -> None:
        """All channels of so many sums from a column on; only where windows may stand out is every column of them asked for."""
        inside = self.windows_inside(column, wide)
        if isinstance(inside, int):
            self.of_all_channels(_Block(column, wide, not inside))
            return
        with self.builder.when(inside):
            self.of_all_channels(_Block(column, wide, False))
        with self.builder.otherwise():
            self.of_all_channels(_Block(column, wide, True))

    def of_all_channels(self, block: _Block) -> None:
        """A block of sums, for one vector of channels after the other."""
        self.vectors(partial(self.block, block))

    def block(self, block: _Block) -> None:
        """A vector of channels of a block of sums."""
        sums = [self.builder.variable(self.nothing()) for _ in range(block.wide)]
        self.over_rows(block, sums)
        for number, total in enumerate(sums):
            with self.moved(self.form.columns.output, block.column + number):
                self.finish(total)

    def over_rows(self, block: _Block, sums: list[Variable]) -> None:
        """The products of all rows of taps; a row that the image lacks is all that the guard says."""
        rows, weights = self.form.rows, self.loops.view(1)
        moving = frozenset((self.form.columns.output, *(slide.tap for slide in self.form.windows)))
        image = self.image_place(moving) + block.column * self.strides[self.form.columns.output]
        if rows is None:
            self.row(block, sums, _Taps(self.place(weights), image))
            return
        with self.builder.loop("tap", 0, rows.taps) as tap:
            position = self.position(rows.output) * rows.stride + tap * rows.dilation
            place = self.opaque(self.place(weights) + tap * self.stride(weights.stride(rows.tap)))
            inside = self.is_inside(rows, position, position)
            taps = _Taps(place, self.opaque(image + tap * self.strides[rows.tap]))
            if isinstance(inside, int):
                self.row(block, sums, taps)
                return
            with self.builder.when(inside):
                self.row(block, sums, taps)
            with self.builder.otherwise():
                self.row(block, sums, _Taps(place, None))

    def opaque(self, place: IndexLike) -> IndexLike:
        """A place from which others are counted: sums of many products are made once."""
        return place if isinstance(place, int) else self.builder.define(IntegerOperation.OPAQUE, place)

    def row(self, block: _Block, sums: list[Variable], taps: _Taps) -> None:
        """The products of a row of taps: every column of the image that is seen, with every sum that sees it."""
        slide, view = self.form.columns, self.loops.view(1)
        step = self.stride(view.stride(slide.tap))
        weights = [self.elements(view, taps.weights + tap * step, 1) for tap in range(slide.taps)]
        for column, users in self.users(block.wide).items():
            seen = self.column(block, column, users[0], taps)
            for number, tap in users:
                self.builder.assign(sums[number], self.builder.multiply_add(seen, weights[tap], sums[number]))

    def users(self, wide: int) -> dict[int, list[tuple[int, int]]]:
        """By the columns of the image that are seen, in order: the sums that see one, each with its tap."""
        slide = self.form.columns
        found: dict[int, list[tuple[int, int]]] = {}
        for number in range(wide):
            for tap in range(slide.taps):
                found.setdefault(number * slide.stride + tap * slide.dilation, []).append((number, tap))
        return dict(sorted(found.items()))

    def column(self, block: _Block, column: int, user: tuple[int, int], taps: _Taps) -> Value:
        """A column of the image."""
        if taps.image is None:
            return self.outside()
        slide, (number, tap) = self.form.columns, user
        place = taps.image + number * self.strides[slide.output] + tap * self.strides[slide.tap]
        position = (self.start(slide.output) + block.column) * slide.stride + column
        inside = self.is_inside(slide, position, position) if block.checked else 1
        if isinstance(inside, int):
            return self.points_of(self.elements(self.image, place, 1)) if inside else self.outside()
        found = self.builder.variable(self.outside())
        with self.builder.when(inside):
            self.builder.assign(found, self.points_of(self.elements(self.image, place, 1)))
        return found


LEAF = Leaf(NAME, order=2, match=match, seconds=seconds, lower=lower)
