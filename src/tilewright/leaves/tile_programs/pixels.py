"""Maps between pixels, whose few channels lie side by side, and planes of channels, as tile programs.

As many vectors of pixels are loaded as there are channels, and taken apart by shuffles; results are put together likewise. What
is left of a row is computed with pixels before it, so that no vector is partial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.scalar import Load, Scalar
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
from tilewright.tile.program import Value
from tilewright.tile.types import element_type, vector

SHUFFLED_BYTES = 16
"""Of the vectors that every instruction set shuffles."""


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
        self.apart = False
        """Whether elements of pixels are shuffled."""
        narrowest = min(element_bytes(operand.dtype) for operand in (*loops.reads, loops.write))
        self.pixels = max(self.lanes, SHUFFLED_BYTES // narrowest)
        """That are computed together: several registers, where elements are narrower than what is computed in."""

    def lowered(self) -> LoweredTile:
        """By shuffles, if pixels lie side by side and there are enough for a vector."""
        around = [axis for axis in self.ranges if axis != self.vector_axis]
        fits = self.fits()
        with self.builder.when(fits):
            self.by_pixels([axis for axis in around if axis != self.channels])
        with self.builder.otherwise():
            self.rows(around, 1, self.some_rows)
        return self.arguments.lowered()

    def fits(self) -> IndexLike:
        """Whether shuffles find all elements."""
        views = [view for view in (*self.loops.reads, self.loops.write) if self.has_pixels(view)]
        strides = dict.fromkeys(self.stride(view.stride(self.vector_axis)) for view in views if isinstance(view, View))
        equal = [self.builder.define(IntegerOperation.EQUAL, stride, self.channel_count) for stride in strides]
        return conditions(self, less(self.builder, self.pixels - 1, self.size(self.vector_axis)), *equal)

    def has_pixels(self, operand: View | Gather) -> bool:
        """Whether channels lie side by side."""
        is_side_by_side = isinstance(operand, View) and operand.stride(self.channels) == 1
        return is_side_by_side and isinstance(operand, View) and operand.stride(self.vector_axis) not in (0, 1)

    def by_pixels(self, around: list[str]) -> None:
        """All vectors of pixels; the last one of a row ends with it."""
        size, lanes = self.size(self.vector_axis), self.lanes
        self.apart, self.lanes = True, self.pixels
        with self.over(around), self.builder.loop("pixel", 0, size, self.lanes) as start:
            first = smaller(self.builder, start, size - self.lanes)
            with self.moved(self.vector_axis, first):
                self.all_channels()
        self.apart, self.lanes = False, lanes

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

    def leaf(self, scalar: Scalar) -> Value:
        """The value of what is read, or follows from where the point is."""
        operand = self.loops.reads[scalar.read] if isinstance(scalar, Load) else None
        if self.apart and isinstance(operand, View) and self.has_pixels(operand):
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
        vectors = [b.load(buffer, first + number * self.lanes, of) for number in range(self.channel_count)]
        found = _picked(b, vectors, [channel + self.channel_count * lane for lane in range(self.lanes)])
        return loaded(b, found, view.dtype, self.computed)

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


def _picked(b: Builder, vectors: Sequence[Value], lanes: Sequence[int]) -> Value:
    """As many lanes as a vector has of vectors behind each other, by number: from two of them, then from one after the other."""
    each = vectors[0].type.lanes
    found = b.shuffle(vectors[:2], [lane if lane < 2 * each else 0 for lane in lanes])
    for number in range(2, len(vectors)):
        start = (number - 1) * each
        merged = [lane - start if lane // each == number else place for place, lane in enumerate(lanes)]
        found = b.shuffle((found, vectors[number]), merged)
    return found
