"""Bytes, cube instructions and buffers of a plan, by closed formulas of extents and tiles.

All hold exactly, also for extents that are no multiples of tiles: tiles are multiples of 16, so that the blocks of an extent,
each filled up to whole blocks of 16, are together as long as the extent filled up. Every figure may be an array, for many
candidates. A DMA counts the elements that it reads: memory has no filling, L1, L0 and L0C have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from tilewright.arrays import Count, either, maximum, minimum
from tilewright.backends.npu_simulator.figures import FRACTAL, L0A, L0B, L0C, L1, LANES, MEMORY, UB
from tilewright.backends.npu_simulator.shape import ChainShape, Stage, converted, in_place
from tilewright.backends.npu_simulator.tiles import Extents, Order, Tiles, blocks_of, filled
from tilewright.graph.types import Access, Chain, Operator, element_bytes
from tilewright.records import record

SHORT, LONG = 2, 4
"""Bytes of an operand and of a sum."""


@record
class Moved:
    """What DMA moves of a tensor, of all cores together."""

    phase: int
    """The part of a block in which it does so: see `price.py`."""
    tensor: str
    source: str
    target: str
    size_bytes: Count


@record
class Computed:
    """What computes in a part of a block, of all cores together."""

    phase: int
    cubes: Count = 0
    """Cube instructions of 16 x 16 x 16."""
    products: Count = 0
    """Calls of `mad`."""
    vector_bytes: Count = 0
    """Float32 elements that pass the vector unit, as often as they do."""
    vectors: Count = 0
    """Vector operators on a block."""


@record
class Work:
    """The work of a chain, or of one block of it."""

    chain: Chain
    shape: ChainShape
    extents: Extents
    tiles: Tiles

    @property
    def row_blocks(self) -> Count:
        """Blocks of rows."""
        return blocks_of(self.extents.rows, self.tiles.rows)

    @property
    def column_blocks(self) -> Count:
        """Blocks of the first product's columns."""
        return blocks_of(self.extents.columns, self.tiles.columns)

    @property
    def second_blocks(self) -> Count:
        """Blocks of the second product's columns."""
        return blocks_of(self.extents.second, self.tiles.second)

    @property
    def again(self) -> Count:
        """How often the first product is computed."""
        return self.second_blocks if self.tiles.order is Order.STREAM else 1

    @property
    def dealt(self) -> Count:
        """Blocks that are dealt to cores."""
        of_columns = self.column_blocks if self.tiles.order in (Order.TILE, Order.VECTORS) else 1
        return self.extents.outer * self.row_blocks * of_columns * self.again

    def block(self) -> Work:
        """The largest block that a core gets."""
        e, t = self.extents, self.tiles
        rows, columns, second = minimum(t.rows, e.rows), e.columns, e.second
        if t.order in (Order.TILE, Order.VECTORS):
            columns = minimum(t.columns, e.columns)
        if t.order is Order.STREAM:
            second = minimum(t.second, e.second)
        return replace(self, extents=Extents(1, rows, columns, e.depth, second))

    def moved(self) -> Iterator[Moved]:
        """All that DMA moves."""
        if self.shape.first.product is not None:
            yield from self._first()
        if len(self.shape.stages) == 2:
            yield from self._second()
        yield from self._results()

    def computed(self) -> Iterator[Computed]:
        """All that computes."""
        e, t = self.extents, self.tiles
        rows = e.outer * filled(e.rows)
        if self.shape.first.product is not None:
            cubes = rows * filled(e.depth) * filled(e.columns) * self.again // (FRACTAL * LANES)
            calls = e.outer * self.row_blocks * self.column_blocks * blocks_of(e.depth, t.depth) * self.again
            yield Computed(0, cubes=cubes, products=calls)
        if len(self.shape.stages) == 2:
            cubes = rows * filled(e.columns) * filled(e.second) // (FRACTAL * LANES)
            calls = e.outer * self.row_blocks * self.second_blocks * self._second_slices()
            yield Computed(2 if t.order is Order.RESIDENT else 0, cubes=cubes, products=calls)
        for number, stage in enumerate(self.shape.stages):
            for operator in vector_operators(stage):
                points = self._boxes(number, operator.axis_names)
                runs = self._boxes(number, frozenset())
                yield Computed(self._vector_phase(number), vector_bytes=points * passes(operator) * LONG, vectors=runs)

    def bytes_of(self, space: str) -> Count:
        """What the buffers of a core take of a space, those that exist twice included."""
        return sum((elements * size * copies for elements, size, copies in self._buffers(space)), start=0)

    # DMA

    def _first(self) -> Iterator[Moved]:
        """Operands and sums of the first product."""
        product, e, t = self.shape.first.product, self.extents, self.tiles
        assert product is not None
        again, last = self.again * e.outer, t.order is Order.TILE
        loads = self.column_blocks if last else either(t.keeps_left > 0, 1, self.column_blocks)
        left, right, sums = product.left.tensor, product.right.tensor, product.operator.write.tensor
        yield Moved(0, left, MEMORY, L1, e.rows * e.depth * loads * again * SHORT)
        yield Moved(0, right, MEMORY, L1, e.depth * e.columns * self.row_blocks * again * SHORT)
        yield Moved(0, left, L1, L0A, filled(e.rows) * filled(e.depth) * self.column_blocks * again * SHORT)
        yield Moved(0, right, L1, L0B, filled(e.depth) * filled(e.columns) * self.row_blocks * again * SHORT)
        yield Moved(1 if last else 0, sums, L0C, UB, filled(e.rows) * filled(e.columns) * again * LONG)

    def _second(self) -> Iterator[Moved]:
        """Operands and sums of the second product."""
        product, e = self.shape.last.product, self.extents
        assert product is not None
        left, right, sums = product.left.tensor, product.right.tensor, product.operator.write.tensor
        is_resident = self.tiles.order is Order.RESIDENT
        inside, end = (2, 2) if is_resident else (0, 1)
        yield Moved(self._vector_phase(0), left, UB, L1, e.outer * e.rows * e.columns * self.again * SHORT)
        yield Moved(inside, left, L1, L0A, e.outer * filled(e.rows) * filled(e.columns) * self.second_blocks * SHORT)
        yield Moved(inside, right, MEMORY, L1, e.outer * e.columns * e.second * self.row_blocks * SHORT)
        yield Moved(inside, right, L1, L0B, e.outer * filled(e.columns) * filled(e.second) * self.row_blocks * SHORT)
        yield Moved(end, sums, L0C, UB, e.outer * filled(e.rows) * filled(e.second) * LONG)

    def _results(self) -> Iterator[Moved]:
        """What vector operators load, and the output."""
        last = len(self.shape.stages) - 1
        for number, stage in enumerate(self.shape.stages):
            for access in loaded(self.chain, stage):
                size = element_bytes(self.chain.tensor(access.tensor).dtype)
                phase = 0 if self.tiles.order is Order.VECTORS else self._vector_phase(number)
                yield Moved(phase, access.tensor, MEMORY, UB, self._boxes(number, access.axes()) * size)
        write = self.shape.last.last.write
        size = element_bytes(self.shape.last.result_type)
        phase = 2 if self.tiles.order is Order.VECTORS else self._vector_phase(last)
        yield Moved(phase, write.tensor, UB, MEMORY, self._boxes(last, write.axes()) * size)

    def _boxes(self, number: int, axes: frozenset[str]) -> Count:
        """The points along these axes of all blocks on which the vector operators of a stage run."""
        stage, e = self.shape.stages[number], self.extents
        columns, blocks = (e.second, self.second_blocks) if number else (e.columns, self.column_blocks)
        is_whole = not number and (self.tiles.order is Order.ROWS or (self.tiles.order is Order.RESIDENT and stage.has_rows))
        along_rows = e.rows if stage.row in axes else self.row_blocks
        along_columns = columns if stage.column in axes else 1 if is_whole else blocks
        again = 1 if number else self.again
        return e.outer * along_rows * along_columns * again

    def _vector_phase(self, number: int) -> int:
        """The part of a block in which the vector operators of a stage run."""
        match self.tiles.order:
            case Order.STREAM:
                return number
            case Order.RESIDENT:
                return 2 if number else int(self.shape.first.has_rows)
        return 1

    def _second_slices(self) -> Count:
        """Slices of the second product's depth, of a block of rows and second columns."""
        e, t = self.extents, self.tiles
        if t.order is Order.RESIDENT:
            return blocks_of(e.columns, t.second_depth)
        rest = e.columns - (self.column_blocks - 1) * t.columns
        return (self.column_blocks - 1) * blocks_of(t.columns, t.second_depth) + blocks_of(rest, t.second_depth)

    # Buffers

    def _buffers(self, space: str) -> Iterator[tuple[Count, int, Count]]:
        """(elements, bytes of an element, copies) of every buffer in a space."""
        e, t = self.extents, self.tiles
        first, second = self.shape.first.product is not None, len(self.shape.stages) == 2
        passing = t.outer if t.order is Order.TILE else t.middle
        ending = t.outer if t.order is Order.STREAM else t.middle
        if space == UB:
            yield from self._vector_buffers()
        elif space == L0C:
            yield from self._sums(passing, ending) if first else ()
        elif first:
            yield from self._operands(space)
            if second and space == L1:
                depth, copies = (t.columns, t.middle) if t.order is Order.STREAM else (filled(e.columns), t.outer)
                yield t.rows * depth, SHORT, copies

    def _operands(self, space: str) -> Iterator[tuple[Count, int, Count]]:
        """Slices of operands, in L1, L0A or L0B: those of both products take turns in the same places."""
        e, t, second = self.extents, self.tiles, len(self.shape.stages) == 2
        left, right, steps = t.rows * t.depth, t.columns * t.depth, t.second_depth
        if space == L1:
            kept = t.keeps_left > 0 if t.order is not Order.TILE else False
            yield t.rows * either(kept, filled(e.depth), t.depth), SHORT, either(kept, t.outer, t.slices)
        if space == L0A:
            yield maximum(left, t.rows * steps) if second else left, SHORT, t.slices
        if space in (L1, L0B):
            yield maximum(right, t.second * steps) if second else right, SHORT, t.slices

    def _sums(self, passing: Count, ending: Count) -> Iterator[tuple[Count, int, Count]]:
        """Sums in L0C: those of the second product lie where the first one's did if they follow them, else beside."""
        t = self.tiles
        first, second = t.rows * t.columns, t.rows * t.second
        if len(self.shape.stages) == 1:
            yield first, LONG, passing
        elif t.order is Order.RESIDENT:
            yield maximum(first, second), LONG, t.middle
        else:
            yield first, LONG, passing
            yield second, LONG, ending

    def _vector_buffers(self) -> Iterator[tuple[Count, int, Count]]:
        """The unified buffer of every stage."""
        e, t = self.extents, self.tiles
        for number, stage in enumerate(self.shape.stages):
            if number:
                columns, extent, copies = t.second, e.second, t.outer if t.order is Order.STREAM else t.middle
            elif t.order is Order.ROWS or (t.order is Order.RESIDENT and stage.has_rows):
                columns, extent, copies = filled(e.columns), e.columns, t.outer
            else:
                is_inside = t.order in (Order.STREAM, Order.RESIDENT)
                columns, extent, copies = t.columns, e.columns, t.middle if is_inside else t.outer
            rows, few = minimum(t.rows, e.rows), minimum(columns, extent)
            if stage.product is not None:
                yield filled(rows) * columns, LONG, copies
            for access, size in held(self.chain, stage):
                has_row, has_column = stage.row is not None and stage.row in access.axes(), stage.column in access.axes()
                along = columns if has_row and has_column else few if has_column else 1
                yield (rows if has_row else 1) * along, size, copies


def vector_operators(stage: Stage) -> tuple[Operator, ...]:
    """What the vector unit computes: the stage's operators, or the conversion of sums."""
    return (converted(stage),) if stage.converts else stage.vectors


def passes(operator: Operator) -> int:
    """How often the vector unit passes over the points of an operator: once for every function, an estimate of its cost."""
    states = len(operator.reduction.states) if operator.reduction is not None else 0
    return max(1, len(operator.functions()) + states)


def loaded(chain: Chain, stage: Stage) -> tuple[Access, ...]:
    """What the vector operators of a stage load from memory, each box once."""
    reads = (access for operator in stage.vectors for access in operator.reads if access.tensor in chain.inputs)
    return tuple(dict.fromkeys(reads))


def held(chain: Chain, stage: Stage) -> Iterator[tuple[Access, int]]:
    """(access, bytes of an element) of every buffer of a stage in the unified buffer, but for that of the sums."""
    yield from ((access, element_bytes(chain.tensor(access.tensor).dtype)) for access in loaded(chain, stage))
    for operator in vector_operators(stage):
        is_last = operator.write.tensor == stage.last.write.tensor
        size = element_bytes(stage.result_type) if is_last else LONG
        if size == SHORT or in_place(chain, operator) is None:
            yield operator.write, size


def once_bytes(chain: Chain) -> int:
    """What memory delivers and takes at least: every input and the output once."""
    return sum(_tensor_bytes(chain, name) for name in (*chain.inputs, chain.output))


def _tensor_bytes(chain: Chain, name: str) -> int:
    tensor = chain.tensor(name)
    return prod(extent for extent in tensor.shape if isinstance(extent, int)) * tensor.element_bytes


def moved_by_way(moved: Iterator[Moved]) -> Mapping[tuple[str, str], Count]:
    """Bytes by tensor and way."""
    found: dict[tuple[str, str], Count] = {}
    for one in moved:
        key = (one.tensor, f"{one.source}>{one.target}")
        found[key] = found.get(key, 0) + one.size_bytes
    return found
