"""All tiles of a block as one tile program: loops over panels and rows, with the register tile of each shape inside.

Where calls of tiles would cost too much (`plan/decisions/inlined_kernels.py`), extents that are known are numbers in the tiles,
and a tile's stores overlap the next one's loads, as where compilers inline a tile (`loops.py`); but no compiler reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

from tilewright.block.statements import MatrixTiles
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.tile_sources import Programs, RegisterTile
from tilewright.leaves.declaration import CFile
from tilewright.leaves.matrix_tiles.epilogues import kernel_epilogue, kernel_name, operand_steps
from tilewright.leaves.matrix_tiles.loops import (
    constants_of,
    known_depth,
    line_elements,
    lines_of_tile,
    may_inline,
    panels_of,
    tiles_name,
    values_of,
)
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.passes.inline import Passed, computed, conditional, inline, repeated
from tilewright.tile.products.tile import Shape
from tilewright.tile.program import Buffer, TileProgram

MOST_PROGRAMS = 256
"""Tiles that are remembered."""


@record
class Panel:
    """So many columns, and the rows of its tiles: those of the largest one, and of all that occur."""

    columns: int
    step: int
    pieces: tuple[int, ...]


@record
class BlockOfTiles:
    """The function of a call: what is known of it, and what it is given."""

    suffix: str
    """Part of its name."""
    tile: RegisterTile
    """Of any shape."""
    summing: RegisterTile
    """The tile of slices of a panel before the last: it only adds up."""
    lanes: int
    columns: int
    """Of a whole panel."""
    panels: tuple[Panel, ...]
    constants: tuple[tuple[str, int], ...]
    given: tuple[str, ...]
    """Parameters, in order."""
    moves: tuple[bool, ...]
    """Whether each operand of the epilogue moves with columns."""
    slice_steps: int = 0
    depth: int = 0
    """Where tiles ask for what comes next: the steps of a slice of a panel, and all."""
    most_rows: int = 0
    line: int = 0
    """Of the block, and elements of a cache line."""

    @property
    def is_apart(self) -> bool:
        """It may be inlined."""
        return False

    def program(self, name: str) -> TileProgram:
        """The function under a name."""
        return _Block(self).program(name)


def is_compiled(file: CFile, kernel: MicroKernel, call: MatrixTiles) -> bool:
    """Whether a C file holds or calls the tiles of a call, one by one.

    So it is where tiles are linked anyway or are no such programs, where shapes are not known, and where tiles fetch for later
    blocks.
    """
    if not (file.links_kernels and call.inlined and may_inline(kernel, [call])):
        return True
    if call.shapes is None or call.software_prefetches or call.ahead is not None or kernel.interleave > 1:
        return True
    programs = _programs(kernel, call)
    if programs is None or programs.vectors.vector_bits != file.dialect.vector_bits:
        return True
    tile = programs.shapes[0]
    return not isinstance(tile, RegisterTile) or tile.options.in_blocks


def block_source(kernel: MicroKernel, call: MatrixTiles) -> KernelSource:
    """The function of a call that is not compiled, by the name of `loops.tiles_name`."""
    programs, summing = _programs(kernel, call), _programs(kernel, replace(call, epilogue=None))
    assert programs is not None
    assert summing is not None
    assert call.shapes is not None
    constants = constants_of(call)
    name = kernel_name(call)
    block = BlockOfTiles(
        tiles_name(call).removeprefix(f"{name}_"),
        _first(programs),
        _first(summing),
        kernel.lanes,
        kernel.columns,
        tuple(Panel(columns, kernel.rows_for(columns), tuple(pieces)) for columns, pieces in panels_of(kernel, call)),
        tuple(constants.items()),
        tuple(name for name in values_of(call) if name not in constants),
        tuple(operand_steps(call, operand)[1] for operand in call.operands),
        call.panel_slice_steps,
        known_depth(call) if call.panel_slice_steps else 0,
        max(rows for rows, _ in call.shapes),
        line_elements(call) if call.panel_slice_steps else 0,
    )
    return KernelSource(SourceKind.TILE, Programs(name, programs.vectors, programs.features, (block,)), joins=True)


def _programs(kernel: MicroKernel, call: MatrixTiles) -> Programs | None:
    """Tiles of a call, of some shapes."""
    variants = frozenset({(1 if call.known is None else len(call.known), 1)})
    source = kernel.source(kernel_name(call), variants, kernel_epilogue(call), prefetching=call.prefetching, known=call.known)
    return source.content if isinstance(source.content, Programs) else None


def _first(programs: Programs) -> RegisterTile:
    """A tile, as all are but for the shape."""
    tile = programs.shapes[0]
    assert isinstance(tile, RegisterTile)
    return tile


@lru_cache(MOST_PROGRAMS)
def _program(tile: RegisterTile, shape: Shape) -> TileProgram:
    return replace(tile, shape=shape).program("tile")


class _Block:
    """The program while it is built."""

    def __init__(self, source: BlockOfTiles) -> None:
        self.source, self.builder = source, Builder()
        first = source.panels[0]
        buffers = _program(source.tile, self.shape(first.pieces[0], first.columns)).buffers()
        self.integers: dict[str, IndexLike] = dict(source.constants)
        self.buffers: dict[str, Buffer] = {}
        for name in source.given:
            if name in buffers:
                self.buffers[name] = self.builder.buffer(name, buffers[name].dtype, is_written=buffers[name].is_written)
            else:
                self.integers[name] = self.builder.integer(name)

    def program(self, name: str) -> TileProgram:
        """Panel by panel, the widest first."""
        n, whole = self.integers["n"], self.source.columns
        is_first_whole = self.source.panels[0].columns == whole
        count = self.quotient(n, whole) if is_first_whole else 0
        for panel in self.source.panels:
            if panel.columns == whole:
                repeated(self.builder, "panel", 0, count, partial(self.slices, panel))
            else:
                self.where(n - count * whole, panel.columns, partial(self.slices, panel, count))
        return self.builder.program(name)

    def slices(self, panel: Panel, number: IndexLike) -> None:
        """All rows over a panel; where tiles ask for what comes next, over one slice of it after the other."""
        steps, accumulate = self.source.slice_steps, self.integers["accumulate"]
        if not steps:
            self.rows(panel, number, self.source.tile, 0, self.integers["k"], accumulate)
            return
        last = -(-self.source.depth // steps) - 1

        def summed(at: IndexLike, accumulate: IndexLike) -> None:
            self.rows(panel, number, self.source.summing, at, steps, accumulate)

        if last > 0:
            summed(0, accumulate)
            repeated(self.builder, "slice", steps, last * steps, lambda at: summed(at, 1), steps)
        rest = self.source.depth - last * steps
        self.rows(panel, number, self.source.tile, last * steps, rest, 1 if last else accumulate)

    def rows(
        self, panel: Panel, number: IndexLike, tile: RegisterTile, first: IndexLike, steps: IndexLike, accumulate: IndexLike
    ) -> None:
        """All rows over so many steps of a panel from the first on."""
        m = self.integers["m"]
        count = self.quotient(m, panel.step) if panel.step in panel.pieces else 0

        def put(rows: int, at: IndexLike) -> None:
            shape, place = self.shape(rows, panel.columns), (number, at, first)
            integers = {**self.integers, "k": steps, "accumulate": accumulate, "last": panel.columns % self.source.lanes}
            if self.source.slice_steps:
                integers["lines"] = self.lines(panel, steps)[1]
                integers["next_step"] = integers["lines"] * self.source.line
            inline(self.builder, _program(tile, shape), self.passed(panel, place, steps), integers)

        for piece in panel.pieces:
            if piece == panel.step:
                repeated(self.builder, "rows", 0, count, partial(put, piece))
            else:
                self.where(m - count * panel.step, piece, partial(put, piece, count))

    def passed(self, panel: Panel, place: tuple[IndexLike, IndexLike, IndexLike], steps: IndexLike) -> dict[str, Passed]:
        """What the operands of a tile are: in a panel by its number, in a block of rows, from a step on."""
        number, rows, first = place
        i, j, of = rows * panel.step, number * self.source.columns, self.integers
        right = number * of["b_panel"]
        found = {
            "a": Passed(self.buffers["a"], i * of["a_row"] + first * of["a_column"]),
            "b": Passed(self.buffers["b"], right + first * of["b_row"]),
            "c": Passed(self.buffers["c"], i * of["c_row"] + j),
        }
        for operand, moves in enumerate(self.source.moves):
            row = of.get(f"e{operand}_row", 0)
            found[f"e{operand}"] = Passed(self.buffers[f"e{operand}"], i * row + (j if moves else 0))
        if self.source.slice_steps:
            ahead = rows * (self.lines(panel, steps)[0] * self.source.line)
            found["next"] = Passed(self.buffers["b"], right + (first + steps) * of["b_row"] + ahead)
        return found

    def lines(self, panel: Panel, steps: IndexLike) -> tuple[int, int]:
        """What a tile asks for of the next slice, in all and at once."""
        assert isinstance(steps, int)
        return lines_of_tile(steps, self.source.columns, self.source.most_rows, panel.step, self.source.line)

    def shape(self, rows: int, columns: int) -> Shape:
        """Of a tile."""
        lanes = self.source.lanes
        return Shape(rows, -(-columns // lanes), lanes, bool(columns % lanes))

    def quotient(self, number: IndexLike, divisor: int) -> IndexLike:
        """How often a divisor fits."""
        return computed(self.builder, IntegerOperation.FLOOR_DIVIDE, number, divisor)

    def where(self, number: IndexLike, value: int, body: Callable[[], None]) -> None:
        """A block that runs if an integer has this value."""
        conditional(self.builder, computed(self.builder, IntegerOperation.EQUAL, number, value), body)
