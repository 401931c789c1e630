"""Where a tile program is in the loops of a leaf, and what it reads and writes there: a vector of points along one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import Gather, Range, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.types import element_bytes
from tilewright.leaves.tile_programs.arguments import Arguments
from tilewright.leaves.tile_programs.conversions import loaded, stored
from tilewright.leaves.tile_programs.integers import less
from tilewright.leaves.tile_programs.lanes import ALL, Lanes
from tilewright.leaves.tile_programs.strided import strided
from tilewright.leaves.tile_programs.values import rounded
from tilewright.tile.builder import Builder
from tilewright.tile.index import Index, IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value
from tilewright.tile.types import Type, element_type, vector

WORD_BYTES = 4
"""Of the elements that `VectorLoops.lanes` counts."""


def may_be_in_place(loops: VectorLoops) -> bool:
    """Whether the result may lie where something is read.

    Buffers of other names may be the same memory: layers share loops, whose buffers are arguments. Then both have one element
    type and one layout, so that no stride is known to differ.
    """
    write = loops.write

    def may_be_same(read: View | Gather) -> bool:
        if read.buffer == write.buffer or isinstance(read, Gather):
            return read.buffer == write.buffer
        strides = [(read.stride(axis), write.stride(axis)) for axis, _ in loops.box]
        are_apart = any(one != other and (isinstance(one, int) or isinstance(other, int)) for one, other in strides)
        return read.dtype == write.dtype and not are_apart

    return any(map(may_be_same, loops.reads))


class Points:
    """A program that computes the points of a leaf.

    `at` is the position inside of the box along every axis, of the first lane along that of the vector. `count` lanes are points,
    `real`.
    """

    def __init__(self, loops: VectorLoops, computed: str = "") -> None:
        """Of a leaf that computes in a type; where none is said in that of its binding."""
        self.loops, self.computed = loops, computed or loops.computed_type
        self.lanes = max(1, loops.lanes * WORD_BYTES // element_bytes(self.computed))
        self.builder = Builder()
        written = {place.buffer for place in loops.places()}
        self.arguments = Arguments(self.builder, (*loops.reads, *loops.places()), written)
        self.ranges: dict[str, Range] = dict(loops.box)
        self.at: dict[str, IndexLike] = dict.fromkeys(self.ranges, 0)
        self.real = ALL
        self.count: IndexLike = self.lanes
        self.is_whole: IndexLike = 1
        """Of a long body: whether all lanes are points."""

    @property
    def vector_axis(self) -> str:
        """Along which lanes run; "" where there is none."""
        return self.loops.vector_axis or ""

    @property
    def type(self) -> Type:
        """Of a vector of values."""
        return vector(self.computed, self.lanes)

    # Loops.

    def size(self, axis: str) -> IndexLike:
        """Points along an axis."""
        return self.arguments.index(self.ranges[axis].size)

    def start(self, axis: str) -> IndexLike:
        """The position along an axis where the box begins."""
        return self.arguments.index(self.ranges[axis].start)

    def position(self, axis: str) -> IndexLike:
        """The absolute position along an axis, of the first lane."""
        return self.start(axis) + self.at[axis]

    @contextmanager
    def over(self, axes: Iterable[str]) -> Iterator[None]:
        """Loops point by point; none along axes of one point."""
        with ExitStack() as loops:
            for axis in axes:
                if self.ranges[axis].size != 1:
                    loops.enter_context(self.along(axis, 0, self.size(axis)))
            yield

    @contextmanager
    def along(self, axis: str, start: IndexLike, stop: IndexLike, step: int = 1) -> Iterator[Index]:
        """A loop along an axis."""
        name = f"i{list(self.ranges).index(axis)}"
        with self.builder.loop(name, start, stop, step) as index, self.moved(axis, index):
            yield index

    @contextmanager
    def moved(self, axis: str, to: IndexLike) -> Iterator[None]:
        """At another place along an axis."""
        before, self.at[axis] = self.at[axis], to
        yield
        self.at[axis] = before

    @contextmanager
    def of_part(self, count: IndexLike) -> Iterator[None]:
        """Only so many lanes are points."""
        before = self.real, self.count
        self.real, self.count = Lanes(lasts=(count,)), count
        yield
        self.real, self.count = before

    def rows(self, axes: Iterable[str], ways: int, body: Callable[[str, int], None]) -> None:
        """Loops point by point, several rows of the innermost together: `body` is given that axis, or "", and how many."""
        several = [axis for axis in axes if self.ranges[axis].size != 1]
        if not several:
            body("", 1)
            return
        *around, axis = several
        with self.over(around):
            size, sizes = self.size(axis), self.ranges[axis].sizes
            if sizes is None or max(sizes) >= ways:
                with self.along(axis, 0, size + (1 - ways), ways):
                    body(axis, ways)
            if sizes is None or any(known % ways for known in sizes):
                with self.along(axis, self.whole(size, ways), size):
                    body(axis, 1)

    def vectors(self, body: Callable[[], None], *, has_rest: bool = True, repeats: bool = False, is_long: bool = False) -> None:
        """Whole vectors along the axis of the lanes, then those lanes that are left; of no axis one lane.

        With `repeats`, the lanes that are left are the last whole vector, of which some lanes were computed before. A body that
        `is_long` is there once: its loads and stores alone depend on how many lanes are left.
        """
        axis = self.vector_axis
        if not axis:
            with self.of_part(1):
                body()
            return
        size, most = self.size(axis), self.ranges[axis].capacity
        if is_long and has_rest and self._has_rest(axis) and (not isinstance(most, int) or most > self.lanes):
            with self.along(axis, 0, size, self.lanes) as first, self.of_part(size - first):
                self.is_whole = less(self.builder, self.lanes - 1, size - first)
                body()
                self.is_whole = 1
            return
        if not isinstance(most, int) or most >= self.lanes:
            with self.along(axis, 0, size + (1 - self.lanes), self.lanes):
                body()
        if repeats and isinstance(size, int) and size >= self.lanes and size % self.lanes:
            with self.moved(axis, size - self.lanes):
                body()
        elif has_rest and self._has_rest(axis):
            self._rest(axis, size, body)

    def _has_rest(self, axis: str) -> bool:
        sizes = self.ranges[axis].sizes
        return sizes is None or any(size % self.lanes for size in sizes)

    def _rest(self, axis: str, size: IndexLike, body: Callable[[], None]) -> None:
        start = self.whole(size, self.lanes)
        with ExitStack() as around:
            if not isinstance(size, int):
                around.enter_context(self.builder.when(size - start))
            around.enter_context(self.moved(axis, start))
            around.enter_context(self.of_part(size - start))
            body()

    def whole(self, size: IndexLike, step: int) -> IndexLike:
        """The largest multiple of a step that is not above a size."""
        if isinstance(size, int):
            return size - size % step
        return size - self.builder.define(IntegerOperation.REMAINDER, size, step)

    def number(self, index: IndexLike) -> Value:
        """An integer in all lanes, as a number of the type that is computed in."""
        if isinstance(index, int):
            return self.builder.constant(rounded(index, self.computed), self.type)
        return self.builder.splat(self.builder.cast(self.builder.index_value(index), self.computed), self.lanes)

    # Memory.

    def place(self, view: View) -> IndexLike:
        """Where the element of the first lane lies in the buffer of a view."""
        _, start = self.arguments.buffer(view)
        return start + self.shift(view)

    def shift(self, view: View) -> IndexLike:
        """Elements from the start of the box."""
        total: IndexLike = 0
        for axis, stride in view.strides:
            total = total + self.at.get(axis, 0) * self.arguments.index(stride)
        return total

    def stride(self, stride: IntegerExpression) -> IndexLike:
        """A stride, as an index."""
        return self.arguments.index(stride)

    def load(self, operand: View, computed: str = "") -> Value:
        """The vector of a read, in a type that is computed in."""
        return self.elements(operand, self.place(operand), self.stride(operand.stride(self.loops.vector_axis)), computed)

    def elements(
        self, operand: View | Gather, place: IndexLike, stride: IndexLike, computed: str = "", lanes: Lanes = ALL
    ) -> Value:
        """Those of some lanes that are points, at a stride from a place of an operand on; the others may be 0."""
        b, of = self.builder, vector(element_type(operand.dtype), self.lanes)
        buffer, _ = self.arguments.buffer(operand)
        if stride == 0 and lanes.are_all:
            found = b.broadcast(buffer, place, of)
        elif self.is_whole == 1:
            found = strided(b, buffer, place, stride, of, self.real.also(lanes))
        else:
            found = b.variable(b.constant(0, of))
            with b.when(self.is_whole):
                b.assign(found, strided(b, buffer, place, stride, of, lanes))
            with b.otherwise():
                b.assign(found, strided(b, buffer, place, stride, of, self.real.also(lanes)))
        return loaded(b, found, operand.dtype, computed or self.computed)

    def store(self, value: Value, view: View | None = None) -> None:
        """Write a vector to a place; to the result where nothing else is said."""
        view = view or self.loops.write
        buffer, _ = self.arguments.buffer(view)
        stride = self.stride(view.stride(self.loops.vector_axis)) if self.loops.vector_axis else 1
        b, elements = self.builder, stored(self.builder, value, view.dtype)
        place = self.place(view)
        if self.is_whole == 1:
            b.store(buffer, place, elements, self.real.mask(b, elements.type), stride)
            return
        with b.when(self.is_whole):
            b.store(buffer, place, elements, None, stride)
        with b.otherwise():
            b.store(buffer, place, elements, self.real.mask(b, elements.type), stride)
