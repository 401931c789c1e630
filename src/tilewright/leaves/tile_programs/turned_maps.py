"""Elementwise operators of which some reads lie transposed, as tile programs: tiles of these reads turn in registers.

A tile has as many rows and columns as a vector has lanes. It is loaded along the reads' rows; then every row of it has its lanes
along the write. Rows of short expressions are computed from registers, of others in a loop that loads them from scratch memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import add

from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.types import element_bytes
from tilewright.leaves.declaration import WAYS, LoweredTile
from tilewright.leaves.tile_programs.conversions import loaded
from tilewright.leaves.tile_programs.copies.transposition import transposed
from tilewright.leaves.tile_programs.integers import choose, less
from tilewright.leaves.tile_programs.maps import MapProgram
from tilewright.leaves.tile_programs.narrow_lanes import lane_type
from tilewright.leaves.tile_programs.points import WORD_BYTES
from tilewright.leaves.tile_programs.prices import cycles_of
from tilewright.tile.index import IndexLike
from tilewright.tile.program import Buffer, Value
from tilewright.tile.types import Type, element_type, vector

MOST_LANES = 16
"""Of elements of fewer than 32 bits: tiles of more lanes have more rows than there are registers."""
MOST_BYTES = 64
"""Of a row of a tile: doubles that become floats have fewer lanes than these."""
SHORT_CYCLES = 2.0
"""A vector, of expressions whose rows are computed from registers."""


def lowered(loops: VectorLoops, rows: str, turned: Iterable[int]) -> LoweredTile:
    """The program of a box of which some reads lie along other rows than the write."""
    numbers = tuple(turned)
    most = min(MOST_LANES, MOST_BYTES // max(element_bytes(loops.reads[number].dtype) for number in numbers))
    lanes = min(loops.lanes, most * element_bytes(lane_type(loops)) // WORD_BYTES)
    return _TurnedMap(replace(loops, lanes=lanes), rows, numbers).lowered()


class _TurnedMap(MapProgram):
    def __init__(self, loops: VectorLoops, rows_axis: str, turned: tuple[int, ...]) -> None:
        MapProgram.__init__(self, loops)
        self.rows_axis, self.turned = rows_axis, turned
        self.row: Mapping[int, Value] = {}
        """The current row of the tile of each read."""
        self.rests: list[Value] | None = None
        """What says whether rows are finite, of tiles that are checked as a whole."""

    def lowered(self) -> LoweredTile:
        """Whole tiles and the rest along the rows, inside loops over all other axes: results are written in long runs."""
        axis, size = self.rows_axis, self.size(self.rows_axis)
        with self.over(one for one in self.ranges if one not in (axis, self.vector_axis)):
            whole = self.whole(size, self.lanes) if self.may_be_whole() else 0
            if whole != 0:
                with self.along(axis, 0, whole, self.lanes) as start:
                    self.vectors(partial(self.tile, start, self.lanes))
            if isinstance(size, int) and whole != size:
                with self.moved(axis, whole):
                    self.vectors(partial(self.tile, whole, size - whole))
            elif whole != size:
                with self.along(axis, whole, size, self.lanes) as start:
                    self.vectors(partial(self.tile, start, size - whole))
        return self.arguments.lowered()

    def may_be_whole(self) -> bool:
        """Whether blocks have as many rows as a tile."""
        most = dict(self.loops.box)[self.rows_axis].capacity
        return not isinstance(most, int) or most >= self.lanes

    def tile(self, start: IndexLike, rows: IndexLike) -> None:
        """So many rows of a tile."""
        tiles = {read: self.tile_of(self.loops.view(read), rows) for read in self.turned}
        is_short = cycles_of(self.loops.operator.body, self.computed, self.lanes) <= SHORT_CYCLES
        if is_short and rows == self.lanes:
            self.rests = []
            for row in range(self.lanes):
                self.row = {read: values[row] for read, values in tiles.items()}
                self.at_row(start + row)
            rests, self.rests = self.rests, None
            if rests:
                MapProgram.tell_of(self, reduce(add, rests))
        else:
            self.by_scratch(tiles, start, rows)

    def by_scratch(self, tiles: Mapping[int, list[Value]], start: IndexLike, rows: IndexLike) -> None:
        """Rows from memory, some together where all are there."""
        b, ways = self.builder, min(WAYS, self.lanes) if rows == self.lanes else 1
        memory = {read: self.kept(read, values[:rows] if isinstance(rows, int) else values) for read, values in tiles.items()}
        with b.loop("row", 0, rows, ways) as row:
            for way in range(ways):
                self.row = {read: b.load(at, (row + way) * self.lanes, of) for read, (at, of) in memory.items()}
                self.at_row(start + row + way)

    def tell_of(self, rest: Value) -> None:
        """Tell the caller of a row that is not finite, or of the tile when all its rows are known."""
        if self.rests is None:
            MapProgram.tell_of(self, rest)
        else:
            self.rests.append(rest)

    def kept(self, read: int, values: list[Value]) -> tuple[Buffer, Type]:
        """The rows of a tile one after the other, and the type of each."""
        of = values[0].type
        memory = self.builder.scratch(f"tile{read}", of.dtype, self.lanes**2)
        for row, value in enumerate(values):
            self.builder.store(memory, row * self.lanes, value)
        return memory, of

    def at_row(self, row: IndexLike) -> None:
        """The points of one row."""
        with self.moved(self.rows_axis, row):
            self.point()

    def tile_of(self, view: View, rows: IndexLike) -> list[Value]:
        """The rows of a tile of a read."""
        b, of = self.builder, vector(element_type(view.dtype), self.lanes)
        buffer, _ = self.arguments.buffer(view)
        place, stride = self.place(view), self.stride(view.stride(self.vector_axis))
        columns: list[Value] = []
        for lane in range(self.lanes):
            there = less(b, lane, self.count)
            if there == 0:
                columns.append(b.constant(0, of))
                continue
            count = choose(b, there, rows, 0)
            mask = None if count == self.lanes else b.prefix(count, of)
            columns.append(b.load(buffer, place + stride * lane, of, mask))
        return transposed(b, columns)

    def leaf(self, scalar: Scalar) -> Value:
        """What is read, of a tile or as it lies."""
        if isinstance(scalar, Load) and scalar.read in self.turned:
            return loaded(self.builder, self.row[scalar.read], self.loops.view(scalar.read).dtype, self.computed)
        return MapProgram.leaf(self, scalar)
