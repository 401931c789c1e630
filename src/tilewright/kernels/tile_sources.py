"""Micro kernels of one shape as tile programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache
from itertools import product as pairs

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import Along, Epilogue
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.index import IndexLike
from tilewright.tile.printer import printed
from tilewright.tile.products.arithmetic import Arithmetic
from tilewright.tile.products.tile import Finish, Options, Shape, product
from tilewright.tile.program import Buffer, TileProgram, Value


@record
class ProductSource:
    """The register tile of a product."""

    name: str
    dialect: Dialect
    arithmetic: Arithmetic
    shape: Shape
    options: Options
    otherwise: Callable[[], KernelSource] = field(compare=False)
    """The same function in C, for what assembly cannot render."""

    def program(self) -> TileProgram:
        """Of `TileSource.program`."""
        return product(self.name, self.arithmetic, self.shape, self.options)

    def printed(self) -> str:
        """Of `TileSource.printed`."""
        return printed(self.program())


@record
class ProgramEnding:
    """An epilogue of tile programs."""

    epilogue: Epilogue

    def declared(self, builder: Builder, lanes: int) -> Finish:
        """Of `tile.products.tile.Ending`."""
        operands = []
        for number, along in enumerate(self.epilogue.operands):
            buffer = builder.buffer(f"e{number}", along.element_type)
            operands.append((buffer, builder.integer(f"e{number}_row") if along.rows else 0, along))
        return _Finish(self.epilogue, operands, lanes)


@record(eq=False)
class _Finish:
    epilogue: Epilogue
    operands: list[tuple[Buffer, IndexLike, Along]]
    lanes: int

    def fetch(self, builder: Builder, shape: Shape) -> None:
        """What only this tile reads of the operands, the line that a row ends in included."""
        columns = [*range(0, shape.vectors * self.lanes, self.lanes), shape.vectors * self.lanes - 1]
        for buffer, row, along in self.operands:
            if along.is_far and along.rows and along.columns:
                for i, column in pairs(range(shape.rows), columns):
                    builder.prefetch(buffer, row * i + column)

    def value(self, builder: Builder, total: Value, place: tuple[int, int], mask: Value | None) -> Value:
        """Of `tile.products.tile.Finish`."""
        assert self.epilogue.values is not None
        given = []
        for buffer, row, along in self.operands:
            if along.columns:
                given.append(builder.load(buffer, row * place[0] + place[1] * self.lanes, total.type, mask))
            else:
                given.append(builder.broadcast(buffer, row * place[0], total.type))
        return self.epilogue.values.value(builder, total, given)


def is_of_tiles(epilogue: Epilogue | None, total: str) -> bool:
    """Whether tile programs end so: with nothing, or with operations whose operands have the type of sums, stored as such."""
    if epilogue is None:
        return True
    is_plain = not (epilogue.non_temporal or epilogue.element_type) and all(
        one.element_type == total for one in epilogue.operands
    )
    return epilogue.values is not None and is_plain


@cache
def tile_dialect(dialect: VectorDialect, features: frozenset[str]) -> Dialect:
    """A dialect of vectors as tile programs know it, with what a kernel needs besides."""
    of_tiles = dialect.name, dialect.architecture, dialect.features | features, dialect.vector_bits, dialect.registers
    return Dialect(*of_tiles, has_mask_registers=dialect.vector_bits == 512)


def tile_source(
    function: str,
    dialect: VectorDialect,
    arithmetic: Arithmetic,
    shape: Shape,
    options: Options,
    otherwise: Callable[[], KernelSource],
    features: frozenset[str] = frozenset(),
) -> KernelSource:
    """A tile for the linker."""
    source = ProductSource(function, tile_dialect(dialect, features), arithmetic, shape, options, otherwise)
    return KernelSource(SourceKind.TILE, source, joins=True)
