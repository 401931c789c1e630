"""Micro kernels as tile programs: of one shape for the linker, or of several with the function that chooses among them."""

from __future__ import annotations

from itertools import product as pairs
from typing import Protocol

from tilewright.kernels.contract import Along, Epilogue
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import with_vectors
from tilewright.tile.index import IndexLike
from tilewright.tile.printer import printed
from tilewright.tile.products.arithmetic import Arithmetic
from tilewright.tile.products.blocks import BlockTile
from tilewright.tile.products.tile import Finish, Options, ProductTile, Shape
from tilewright.tile.program import Buffer, TileProgram, Value
from tilewright.tile.types import element_type


class ShapeProgram(Protocol):
    """What makes the function of a shape; equal ones are equal objects."""

    @property
    def suffix(self) -> str:
        """Part of its name."""

    @property
    def is_apart(self) -> bool:
        """Whether it is never inlined."""

    def program(self, name: str) -> TileProgram:
        """The function under a name."""


@record
class Programs:
    """Functions of a kernel, one of each shape; of a whole kernel with C of the function that chooses among them."""

    name: str
    vectors: VectorDialect
    features: frozenset[str]
    """What the kernel needs besides the dialect's."""
    shapes: tuple[ShapeProgram, ...]
    choice: str = ""

    @property
    def dialect(self) -> Dialect:
        """The instructions of its programs."""
        vectors = self.vectors
        return with_vectors(vectors.architecture, vectors.features | self.features, vectors.vector_bits)

    def programs(self) -> list[TileProgram]:
        """All of them."""
        return [one.program(f"{self.name}_{one.suffix}") for one in self.shapes]

    def apart(self) -> frozenset[str]:
        """The names of functions that are never inlined."""
        return frozenset(f"{self.name}_{one.suffix}" for one in self.shapes if one.is_apart)

    def printed(self) -> str:
        """Of `TileSource.printed`."""
        return "\n".join([*map(printed, self.programs()), self.choice])


@record
class RegisterTile:
    """A shape of a product: its sums stay in registers."""

    arithmetic: Arithmetic
    shape: Shape
    options: Options

    @property
    def suffix(self) -> str:
        """Part of its name."""
        return self.shape.suffix

    @property
    def is_apart(self) -> bool:
        """It may be inlined."""
        return False

    def program(self, name: str) -> TileProgram:
        """The function under a name."""
        tile = BlockTile if self.options.in_blocks else ProductTile
        return tile(self.arithmetic, self.shape, self.options).program(name)


@record
class ProgramEnding:
    """An epilogue of tile programs."""

    epilogue: Epilogue

    def declared(self, builder: Builder, lanes: int) -> Finish:
        """Of `tile.products.tile.Ending`."""
        operands = []
        for number, along in enumerate(self.epilogue.operands):
            buffer = builder.buffer(f"e{number}", element_type(along.element_type))
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

    def value(self, builder: Builder, total: Value, place: tuple[IndexLike, int], count: IndexLike | None) -> Value:
        """Of `tile.products.tile.Finish`."""
        given = []
        for buffer, row, along in self.operands:
            elements = total.type.of(buffer.dtype)
            if along.columns:
                mask = None if count is None else builder.prefix(count, elements)
                given.append(builder.load(buffer, row * place[0] + place[1] * self.lanes, elements, mask))
            else:
                given.append(builder.broadcast(buffer, row * place[0], elements))
        assert self.epilogue.values is not None
        return self.epilogue.values.value(builder, total, given)
