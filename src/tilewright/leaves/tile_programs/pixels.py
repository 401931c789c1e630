"""Maps between pixels, whose few channels lie side by side, and planes of channels, as tile programs.

As many vectors of pixels are loaded as there are channels, and taken apart by shuffles; results are put together likewise. Bytes
that become wider numbers are brought into a word for every pixel by one shuffle, and shifted out of it; their pixels may have a
channel more than is read (RGB of RGBA). What is left of a row is computed with pixels before it, so that no vector is partial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.conditions import constraint_of
from tilewright.graph.expressions.scalar import Apply, Load, Scalar, rewrite
from tilewright.graph.types import element_bytes
from tilewright.leaves.declaration import LoweredTile
from tilewright.leaves.tile_programs import maps
from tilewright.leaves.tile_programs.conversions import loaded, stored
from tilewright.leaves.tile_programs.integers import less, smaller
from tilewright.leaves.tile_programs.points import may_be_in_place
from tilewright.leaves.tile_programs.positions import conditions
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Buffer, Value
from tilewright.tile.types import element_type, vector

SHUFFLED_BYTES = 16
"""Of the vectors that every instruction set shuffles."""
WORD_BYTES = 4
AT_ONCE = SHUFFLED_BYTES // WORD_BYTES
"""Pixels whose words are a vector."""
BYTES = ("uint8", "int8")


def lowered(loops: VectorLoops, pixels: str, channels: str) -> LoweredTile:
    """The program of a box, of whose axes two have these roles."""
    sizes = dict(loops.box)[channels].sizes
    if may_be_in_place(loops) or not sizes or len(sizes) > 1 or any(isinstance(read, Gather) for read in loops.reads):
        return maps.lowered(loops)
    return _Pixels(replace(loops, vector_axis=pixels), channels, *sizes).lowered()


class _Pixels(maps.MapProgram):
    """All channels of a vector of pixels at a time."""

    def __init__(self, loops: VectorLoops, channels: str, channel_count: int) -> None:
        super().__init__(loops)
        self.channels, self.channel_count = channels, channel_count
        self.step = 0
        """Elements from a pixel to the next, while they are taken apart."""
        self.steady: dict[tuple[int, IndexLike], Value] = {}
        """Reads that are the same for all pixels, by channel."""
        narrowest = min(element_bytes(operand.dtype) for operand in (*loops.reads, loops.write))
        self.pixels = max(self.lanes, SHUFFLED_BYTES // narrowest)
        """That are computed together: several registers, where elements are narrower than what is computed in."""

    def lowered(self) -> LoweredTile:
        """By shuffles, if pixels lie side by side and there are enough for a vector."""
        around = [axis for axis in self.ranges if axis != self.vector_axis]
        views = [view for view in (*self.loops.reads, self.loops.write) if isinstance(view, View) and self.has_pixels(view)]
        are_words = not self.has_pixels(self.loops.write) and all(map(self.is_of_words, views))
        if are_words:
            self.pixels = 2 * AT_ONCE
        self.by_steps(around, views, {self.channel_count, WORD_BYTES} if are_words else {self.channel_count})
        return self.arguments.lowered()

    def by_steps(self, around: list[str], views: Sequence[View], steps: Iterable[int]) -> None:
        """By shuffles where pixels have one of these distances, else by strides."""
        first, *others = sorted(steps)
        with self.builder.when(self.fits(views, first)):
            self.by_pixels([axis for axis in around if axis != self.channels], first)
        with self.builder.otherwise():
            if others:
                self.by_steps(around, views, others)
            else:
                self.rows(around, 1, self.some_rows)

    def fits(self, views: Sequence[View], step: int) -> IndexLike:
        """Whether shuffles find all elements."""
        strides = dict.fromkeys(self.stride(view.stride(self.vector_axis)) for view in views)
        equal = [self.builder.define(IntegerOperation.EQUAL, stride, step) for stride in strides]
        return conditions(self, less(self.builder, self.pixels - 1, self.size(self.vector_axis)), *equal)

    def is_of_words(self, view: View) -> bool:
        """Whether a pixel is brought into a word."""
        return view.dtype in BYTES and element_bytes(self.computed) >= WORD_BYTES

    def has_pixels(self, operand: View | Gather) -> bool:
        """Whether channels lie side by side."""
        is_side_by_side = isinstance(operand, View) and operand.stride(self.channels) == 1
        return is_side_by_side and isinstance(operand, View) and operand.stride(self.vector_axis) not in (0, 1)

    def by_pixels(self, around: list[str], step: int) -> None:
        """All vectors of pixels; the last one of a row ends with it."""
        size, lanes = self.size(self.vector_axis), self.lanes
        self.step, self.lanes = step, self.pixels
        self.keep_steady((*around, self.vector_axis))
        with self.over(around), self.builder.loop("pixel", 0, size, self.lanes) as start:
            first = smaller(self.builder, start, size - self.lanes)
            with self.moved(self.vector_axis, first):
                self.all_channels()
        self.step, self.lanes = 0, lanes
        self.steady.clear()

    def keep_steady(self, around: Sequence[str]) -> None:
        """Load what is the same for all pixels, a number for each channel: results may not lie there."""
        for read, operand in enumerate(self.loops.reads):
            if isinstance(operand, View) and all(operand.stride(axis) == 0 for axis in around):
                for channel in range(self.channel_count):
                    with self.moved(self.channels, channel):
                        self.steady[read, channel] = self.load(operand)

    def all_channels(self) -> None:
        """One vector of pixels."""
        write, results = self.loops.write, list[Value]()
        for channel in range(self.channel_count):
            with self.moved(self.channels, channel):
                value = self.value()
                if self.has_pixels(write):
                    results.append(stored(self.builder, value, write.dtype))
                else:
                    self.store(value)
        if results:
            self.store_pixels(results)

    def body(self) -> Scalar:
        """What is computed for the current channel: choices by its number are made here."""
        channel, start = self.at[self.channels], self.start(self.channels)
        if not isinstance(channel, int) or not isinstance(start, int):
            return self.loops.operator.body
        return _of_channel(self.loops.operator.body, self.channels, start + channel)

    def leaf(self, scalar: Scalar) -> Value:
        """The value of what is read, or follows from where the point is."""
        steady = self.steady.get((scalar.read, self.at[self.channels])) if isinstance(scalar, Load) else None
        if steady is not None:
            return steady
        operand = self.loops.reads[scalar.read] if isinstance(scalar, Load) else None
        if self.step and isinstance(operand, View) and self.has_pixels(operand):
            return self.load_channel(operand)
        return super().leaf(scalar)

    def load_channel(self, view: View) -> Value:
        """The elements of the current channel."""
        b, of = self.builder, vector(element_type(view.dtype), self.lanes)
        buffer, _ = self.arguments.buffer(view)
        channel = self.at[self.channels]
        assert isinstance(channel, int)
        with self.moved(self.channels, 0):
            first = self.place(view)
        if self.is_of_words(view):
            return b.cast(_byte(b, self.words(buffer, first, view.dtype), channel, self.channel_count, view.dtype), self.computed)
        vectors = [b.load(buffer, first + number * self.lanes, of) for number in range(self.channel_count)]
        found = _picked(b, vectors, [channel + self.channel_count * lane for lane in range(self.lanes)])
        return loaded(b, found, view.dtype, self.computed)

    def words(self, buffer: Buffer, first: IndexLike, dtype: str) -> Value:
        """Every pixel in a word. Nothing behind the last one is read: the last vector ends with it."""
        b, of = self.builder, vector(dtype, SHUFFLED_BYTES)
        rest = SHUFFLED_BYTES - (AT_ONCE - 1) * self.step - self.channel_count
        both = b.load(buffer, first, of), b.load(buffer, first + (AT_ONCE * self.step - rest), of)
        lanes = [
            start + pixel * self.step + min(byte, self.channel_count - 1)
            for start in (0, SHUFFLED_BYTES + rest)
            for pixel in range(AT_ONCE)
            for byte in range(WORD_BYTES)
        ]
        return b.bitcast(b.shuffle(both, lanes), vector("uint32", self.lanes))

    def store_pixels(self, results: Sequence[Value]) -> None:
        """Put channels together."""
        view = self.loops.write
        buffer, _ = self.arguments.buffer(view)
        with self.moved(self.channels, 0):
            first = self.place(view)
        for start in range(0, self.channel_count * self.lanes, self.lanes):
            elements = [divmod(start + lane, self.channel_count) for lane in range(self.lanes)]
            lanes = [channel * self.lanes + pixel for pixel, channel in elements]
            self.builder.store(buffer, first + start, _picked(self.builder, results, lanes))


def _of_channel(body: Scalar, channels: str, channel: int) -> Scalar:
    """A body without the choices that the number of the channel decides."""

    def decided(node: Scalar) -> Scalar | None:
        if not isinstance(node, Apply) or node.function != "where":
            return None
        limit = constraint_of(node.operands[0])
        if limit is None or limit.data or limit.index.axes() != {channels}:
            return None
        is_true = limit.index.coefficient(channels) * channel + limit.index.constant >= 0
        return _of_channel(node.operands[1 if is_true else 2], channels, channel)

    return rewrite(body, decided)


def _byte(b: Builder, words: Value, number: int, count: int, dtype: str) -> Value:
    """One of so many bytes of every word, the last of which fills what is left of it, as an int32."""
    signed = vector("int32", words.type.lanes)
    if number == count - 1:
        return b.bitcast(words, signed) >> 24 if dtype == "int8" else b.bitcast(words >> 24, signed)
    if dtype == "int8":
        return b.bitcast(words << 24 - 8 * number, signed) >> 24
    return b.bitcast((words >> 8 * number if number else words) & 0xFF, signed)


def _picked(b: Builder, vectors: Sequence[Value], lanes: Sequence[int]) -> Value:
    """As many lanes as a vector has of vectors behind each other, by number: from two of them, then from one after the other."""
    each = vectors[0].type.lanes
    found = b.shuffle(vectors[:2], [lane if lane < 2 * each else 0 for lane in lanes])
    for number in range(2, len(vectors)):
        start = (number - 1) * each
        merged = [lane - start if lane // each == number else place for place, lane in enumerate(lanes)]
        found = b.shuffle((found, vectors[number]), merged)
    return found
