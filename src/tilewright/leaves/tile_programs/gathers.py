"""Reads at computed positions in tile programs: in windows of which some lanes are padding, and at positions that others give.

A position that is looked up counts from the end if it is negative. One outside of its dimension is reported to the caller, and
the first element is read in its place: no foreign memory is touched, whatever the data.
"""

from __future__ import annotations

from math import copysign

from tilewright.block.memory import Gather, Lookup, View
from tilewright.c_text.integer_expressions import local
from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Guard
from tilewright.leaves.tile_programs.conversions import loaded
from tilewright.leaves.tile_programs.guards import Span, is_whole, lanes_of, span_of
from tilewright.leaves.tile_programs.lanes import ALL, Lanes
from tilewright.leaves.tile_programs.points import Points
from tilewright.leaves.tile_programs.positions import Position, conditions, is_natural, plus, position_of, spread
from tilewright.leaves.tile_programs.reports import POSITION
from tilewright.leaves.tile_programs.values import rounded
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Place, Value
from tilewright.tile.types import INDEX, element_type, vector

SHORT, LARGEST_SHORT = "int32", 1 << 31
LOOKUPS_BEFORE = local("lookups_before")


class Gathers:
    """The gathers of a leaf. What all vectors of a row have in common is found at its start."""

    def __init__(self, points: Points) -> None:
        """Of points that are somewhere in the loops."""
        self.points = points
        self._spans: dict[int, Span] = {}
        self._rows: dict[tuple[int, int], IndexLike] = {}
        self._kept: dict[int, Value] = {}

    def are_kept(self) -> bool:
        """Whether some reads have positions along the lanes that are the same in all rows.

        There must be rows for certain: a position that nobody reads may lie outside.
        """
        points, ranges = self.points, self.points.ranges
        rows = [axis for axis, block in ranges.items() if axis != points.vector_axis and block.size != 1]
        is_certain = bool(points.vector_axis and rows) and all(0 not in (ranges[row].sizes or {0}) for row in rows)
        return is_certain and any(self._is_kept(operand) for operand in points.loops.reads)

    def enter_vector(self) -> None:
        """Find what all rows of the current vector have in common."""
        self._kept = {}
        for read, operand in enumerate(self.points.loops.reads):
            if isinstance(operand, Gather) and self._is_kept(operand):
                self._kept[read] = self._lane_positions(operand, self._place(read, operand, ALL))

    def kept(self, read: int) -> Value:
        """What is added to the place of a row for every lane of the current vector, as int64."""
        return self.points.builder.cast(self._kept[read], INDEX.dtype)

    def row_place(self, read: int, operand: Gather) -> IndexLike:
        """The place of a row to which that is added."""
        return self._place(read, operand, ALL, with_lookups=False).first

    def _is_kept(self, operand: View | Gather) -> bool:
        """Whether an element lies at a place of its row plus a place of its lane, which lookups give."""
        if not isinstance(operand, Gather) or operand.guard is not None or not operand.lookups:
            return False
        lookups, lanes = {lookup.dimension: lookup for lookup in operand.lookups}, self.points.vector_axis
        is_of_rows = all(self._is_of_row(operand, lookup) for lookup in operand.lookups)
        dims = enumerate(operand.indices)
        return not is_of_rows and all(self._is_same_in_rows(index, lookups.get(d), lanes) for d, index in dims)

    def _is_same_in_rows(self, index: Index, lookup: Lookup | None, lanes: str) -> bool:
        """Whether the lanes of a dimension are the same in all rows."""
        if lookup is None:
            return lanes not in index.axes() and index.is_affine()
        by = self.points.loops.reads[lookup.read]
        rows = self.points.ranges.keys() - {lanes}
        return isinstance(by, View) and not any(map(by.stride, rows)) and index.axes().isdisjoint(rows)

    def enter_row(self) -> None:
        """Find what does not depend on the vector."""
        gathers = [(read, operand) for read, operand in enumerate(self.points.loops.reads) if isinstance(operand, Gather)]
        self._spans = {read: span_of(self.points, operand) for read, operand in gathers if operand.guard is not None}
        self._rows = {
            (read, lookup.dimension): self._row_position(operand, lookup)
            for read, operand in gathers
            for lookup in operand.lookups
            if self._is_of_row(operand, lookup)
        }

    def load(self, read: int, operand: Gather, computed: str = "") -> Value:
        """The vector of a read."""
        span = self._spans.get(read)
        if span is None or operand.guard is None:
            return self._elements(read, operand, computed, ALL)
        b, points = self.points.builder, self.points
        whole = is_whole(points, span) if not operand.lookups else None
        if whole is None or whole == 1:
            return self._guarded(read, operand, computed, span)
        of = vector(computed or points.computed, points.lanes)
        found = b.variable(b.constant(0, of))
        with b.when(whole):
            b.assign(found, self._elements(read, operand, computed, ALL))
        with b.otherwise():
            b.assign(found, self._guarded(read, operand, computed, span))
        return found

    def _guarded(self, read: int, operand: Gather, computed: str, span: Span) -> Value:
        lanes, b = lanes_of(self.points, span), self.points.builder
        found = self._elements(read, operand, computed, lanes)
        assert operand.guard is not None
        if _is_zero(operand.guard) and operand.dtype not in SHORT_TYPES:
            return found
        mask = self.points.real.also(lanes).mask(b, found.type)
        return found if mask is None else b.select(mask, found, _otherwise(operand.guard, found.type.dtype))

    def _elements(self, read: int, operand: Gather, computed: str, lanes: Lanes) -> Value:
        points, kept = self.points, self._kept.get(read)
        place = self._place(read, operand, lanes, with_lookups=kept is None)
        if place.other is None and kept is None:
            return points.elements(operand, place.first, place.step, computed, lanes)
        b, (buffer, _) = points.builder, points.arguments.buffer(operand)
        of = vector(element_type(operand.dtype), points.lanes)
        positions = self._lane_positions(operand, place) if kept is None else kept
        found = b.gather(buffer, place.first, positions, points.real.also(lanes).mask(b, of))
        return loaded(b, found, operand.dtype, computed or points.computed)

    def _lane_positions(self, operand: Gather, place: Position) -> Value:
        """What is added for every lane, as short integers where these hold all of them."""
        points = self.points
        positions = Position(0, place.step, place.other).lanes(points)
        return points.builder.cast(positions, SHORT) if self._is_short(operand, place) else positions

    def _is_short(self, operand: Gather, place: Position) -> bool:
        """Whether elements are nearer to each other than short integers reach: all that is known of positions are lookups."""
        strides = {lookup.dimension: operand.dim_strides[lookup.dimension] for lookup in operand.lookups}
        others = [index for dimension, index in enumerate(operand.indices) if dimension not in strides]
        known = [(lookup.extent, strides[lookup.dimension]) for lookup in operand.lookups] + [(self.points.lanes, place.step)]
        reach = 0
        for extent, stride in known:
            if not isinstance(extent, int) or not isinstance(stride, int):
                return False
            reach += extent * abs(stride)
        return reach < LARGEST_SHORT and all(index.is_affine() for index in others)

    def _place(self, read: int, operand: Gather, lanes: Lanes, *, with_lookups: bool = True) -> Position:
        """Where the elements lie in the buffer."""
        points, (_, start) = self.points, self.points.arguments.buffer(operand)
        by_dimension = {lookup.dimension: lookup for lookup in operand.lookups}
        place = Position(start)
        for dimension, (index, stride) in enumerate(zip(operand.indices, operand.dim_strides, strict=True)):
            lookup = by_dimension.get(dimension)
            if lookup is not None and not with_lookups:
                continue
            at = position_of(points, index, points.vector_axis) if lookup is None else self._found(read, operand, lookup, lanes)
            place = plus(points, place, at, points.stride(stride))
        return place

    # Lookups.

    def _is_of_row(self, operand: Gather, lookup: Lookup) -> bool:
        """Whether all lanes look up the same position."""
        by, lanes = self.points.loops.reads[lookup.read], self.points.loops.vector_axis
        is_same = isinstance(by, View) and by.stride(lanes) == 0
        return operand.guard is None and is_same and lanes not in operand.indices[lookup.dimension].axes()

    def _found(self, read: int, operand: Gather, lookup: Lookup, lanes: Lanes) -> Position:
        """The positions that a lookup gives."""
        row = self._rows.get((read, lookup.dimension))
        if row is not None:
            return Position(row)
        points, b = self.points, self.points.builder
        by = points.loops.reads[lookup.read]
        positions = self._positions(lookup.read, by, lanes)
        extent = spread(points, points.stride(lookup.extent))
        counted = positions + b.select(positions < 0, extent, 0)
        counted = counted + position_of(points, operand.indices[lookup.dimension], points.vector_axis).lanes(points)
        is_inside = b.bitcast(counted, counted.type.unsigned) < b.bitcast(extent, extent.type.unsigned)
        real = points.real.also(lanes).mask(b, counted.type)
        self._report(operand, lookup, ~is_inside if real is None else ~is_inside & real)
        return Position(other=b.select(is_inside, counted, 0))

    def _positions(self, read: int, by: View | Gather, lanes: Lanes) -> Value:
        points = self.points
        if isinstance(by, Gather):
            return self._elements(read, by, INDEX.dtype, lanes)
        stride = points.stride(by.stride(points.loops.vector_axis))
        return points.elements(by, points.place(by), stride, INDEX.dtype, lanes)

    def _report(self, operand: Gather, lookup: Lookup, outside: Value) -> None:
        """Report the lanes that are outside."""
        points, b = self.points, self.points.builder
        lanes = points.vector_axis
        any_lane = b.instruction(Operation.ANY, vector("int32"), (outside,))
        with b.when(b.define(IntegerOperation.VALUE, any_lane)), b.loop("lane", 0, points.count) as lane:
            at = points.at[lanes] + lane if lanes else 0
            with points.moved(lanes, at), b.when(self._is_real(operand)):
                self._row_position(operand, lookup)

    def _is_real(self, operand: Gather) -> IndexLike:
        """Whether the first lane is."""
        constraints = operand.guard.constraints if operand.guard is not None else ()
        return conditions(self.points, *(is_natural(self.points, position_of(self.points, c, "").first) for c in constraints))

    def _row_position(self, operand: Gather, lookup: Lookup) -> IndexLike:
        """The position that the first lane looks up; it is reported if it is outside."""
        points, b, by = self.points, self.points.builder, self.points.loops.reads[lookup.read]
        buffer, _ = points.arguments.buffer(by)
        place = points.place(by) if isinstance(by, View) else self._first_place(by)
        position = b.define(IntegerOperation.VALUE, b.load(buffer, place, vector(element_type(by.dtype))))
        extent = points.stride(lookup.extent)
        wrapped = b.define(IntegerOperation.CHOOSE, b.define(IntegerOperation.LESS, position, 0), extent, 0)
        counted = position + wrapped + position_of(points, operand.indices[lookup.dimension], "").first
        is_inside = conditions(points, is_natural(points, counted), b.define(IntegerOperation.LESS, counted, extent))
        with b.when(b.define(IntegerOperation.EQUAL, is_inside, 0)):
            number = points.arguments.index(LOOKUPS_BEFORE + lookup.number)
            element = place + points.arguments.origin(by)
            b.call(POSITION.name, Place(points.arguments.caller().name, 0), number, element, position, extent)
        return b.define(IntegerOperation.CHOOSE, is_inside, counted, 0)

    def _first_place(self, by: Gather) -> IndexLike:
        """Where the element of the first lane lies of a read without lookups."""
        points, (_, start) = self.points, self.points.arguments.buffer(by)
        place = Position(start)
        for index, stride in zip(by.indices, by.dim_strides, strict=True):
            place = plus(points, place, position_of(points, index, ""), points.stride(stride))
        return place.first


def _is_zero(guard: Guard) -> bool:
    return guard.otherwise == 0 and copysign(1, guard.otherwise) > 0


def _otherwise(guard: Guard, dtype: str) -> float:
    return rounded(guard.otherwise, dtype) if dtype.startswith("float") else int(guard.otherwise)
