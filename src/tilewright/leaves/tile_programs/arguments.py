"""Parameters of tile programs, and what block programs pass for them: buffers from an offset on, and integers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from operator import add, mul

from tilewright.block.integers import Function, IntegerExpression, Operation
from tilewright.block.memory import BufferName, Gather, View
from tilewright.leaves.declaration import CALLER, LoweredTile, PlaceArgument, TileArgument
from tilewright.leaves.tile_programs.reports import reports
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.program import Buffer
from tilewright.tile.types import element_type

NAME = "leaf"
"""Of every program of a leaf: names say nothing, so that equal leaves are equal programs."""


class Arguments:
    """The parameters of a tile program in the order in which they are met, each with what is passed for it.

    A buffer begins where its only view does, or at its first element where it has views at several places.
    """

    def __init__(self, builder: Builder, operands: Iterable[View | Gather], written: Collection[BufferName]) -> None:
        """Of a program that reads or writes through these operands."""
        self._builder, self._written = builder, frozenset(written)
        self._offsets: dict[tuple[BufferName, str], set[IntegerExpression]] = {}
        for operand in operands:
            self._offsets.setdefault((operand.buffer, operand.dtype), set()).add(operand.offset)
        self._buffers: dict[tuple[BufferName, str], Buffer] = {}
        self._integers: dict[IntegerExpression, IndexLike] = {}
        self._passed: list[TileArgument] = []
        self._caller: Buffer | None = None

    def buffer(self, operand: View | Gather) -> tuple[Buffer, IndexLike]:
        """The buffer of an operand, and where in it the operand begins."""
        key = operand.buffer, operand.dtype
        is_only = self.begins_at_view(operand)
        if key not in self._buffers:
            self._buffers[key] = self._new_buffer(element_type(operand.dtype), is_written=operand.buffer in self._written)
            self._passed.append(PlaceArgument(operand.buffer, operand.offset if is_only else 0, operand.dtype))
        return self._buffers[key], 0 if is_only else self.index(operand.offset)

    def index(self, value: IntegerExpression) -> IndexLike:
        """An integer of the block program: sums and products are of the program, all else is passed."""
        if isinstance(value, int):
            return value
        if isinstance(value, Operation) and value.function in POLYNOMIAL:
            parts = [self.index(operand) for operand in value.operands]
            return reduce(POLYNOMIAL[value.function], parts)
        if value not in self._integers:
            self._integers[value] = self._builder.integer(f"n{len(self._integers)}")
            self._passed.append(value)
        return self._integers[value]

    def origin(self, operand: View | Gather) -> IndexLike:
        """The element of its tensor that the buffer of an operand begins with."""
        return self.index(operand.offset) if self.begins_at_view(operand) else 0

    def begins_at_view(self, operand: View | Gather) -> bool:
        """Whether the buffer of an operand begins where the operand does."""
        return len(self._offsets[operand.buffer, operand.dtype]) == 1

    def caller(self) -> Buffer:
        """What reports are made to."""
        if self._caller is None:
            self._caller = self._builder.buffer("caller", "int8")
            self._passed.append(CALLER)
        return self._caller

    def lowered(self) -> LoweredTile:
        """The finished program, with what is passed."""
        program = self._builder.program(NAME)
        return LoweredTile(program, tuple(self._passed), tuple(reports(program.body)))

    def _new_buffer(self, dtype: str, *, is_written: bool) -> Buffer:
        return self._builder.buffer(f"p{len(self._buffers)}", dtype, is_written=is_written)


POLYNOMIAL = {Function.ADD: add, Function.SUBTRACT: lambda value, part: value - part, Function.MULTIPLY: mul}
