"""Legalisation: a tile program in the registers and instructions of a dialect.

Values wider than a register become several, so that programs which mix widths are written once; operations that a dialect has no
instruction for become others, of the same bits (`expansions`). What is narrower than a register stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tilewright.errors import InternalError
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.index import Index, IndexLike, named
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.passes import expansions, support, widths
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.passes.widths import Parts
from tilewright.tile.program import (
    Argument,
    Assign,
    Block,
    Buffer,
    CallStatement,
    Configure,
    Constant,
    Define,
    Detail,
    For,
    If,
    Instruction,
    Integer,
    OnTile,
    Place,
    Prefetch,
    Release,
    Statement,
    Store,
    TileProgram,
    Value,
    Variable,
)
from tilewright.tile.types import Type


def legalise(program: TileProgram, dialect: Dialect) -> TileProgram:
    """The program in what a dialect has. Its buffers and integers stay; arguments wider than a register become several.

    >>> from tilewright.tile.builder import Builder
    >>> from tilewright.tile.dialects.registry import dialects
    >>> from tilewright.tile.printer import printed
    >>> from tilewright.tile.types import vector
    >>> b = Builder()
    >>> x, y = b.buffer("x", "uint8"), b.buffer("y", "int32", is_written=True)
    >>> b.store(y, 0, b.cast(b.load(x, 0, vector("uint8", 16)), "int32"))
    >>> print(printed(legalise(b.program("widen"), dialects()["avx2"])))
    widen(x: uint8, y: int32 written)
      v0 = load x[0]: uint8x16
      v1 = shuffle v0, (0, 1, 2, 3, 4, 5, 6, 7): uint8x8
      v2 = shuffle v0, (8, 9, 10, 11, 12, 13, 14, 15): uint8x8
      v3 = cast v1: int32x8
      v4 = cast v2: int32x8
      store y[0] = v3
      store y[8] = v4
    """
    return Copier(Legaliser(dialect)).program(program)


class Legaliser(DialectBuilder):
    """A builder whose instructions are those of a dialect; values wider than a register are `Parts`."""

    def instruction(self, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail = None) -> Value:
        """The value of an operation, by whatever the dialect has."""
        bits = self.dialect.vector_bits
        if value_type.size_bits > bits or any(isinstance(one, Parts) or one.type.size_bits > bits for one in operands):
            return widths.cut(self, operation, value_type, operands, detail)
        if not support.is_supported(self.dialect, operation, value_type, operands):
            expansion = expansions.EXPANSIONS.get(operation)
            if expansion is not None and (found := expansion(self, value_type, operands, detail)) is not None:
                return found
        return super().instruction(operation, value_type, operands, detail)

    def take(self, buffer: Buffer) -> None:
        """A parameter of another program."""
        self._parameters.append(buffer)
        self._versions[buffer.name] = 0

    def integer_statement(self, name: str, operation: IntegerOperation, operands: tuple[IndexLike | Value | Place, ...]) -> None:
        """An integer under the name that it has."""
        self._integers.add(name)
        self._block.append(Integer(name, operation, operands))

    @contextmanager
    def loop(self, name: str, start: IndexLike, stop: IndexLike, step: int = 1) -> Iterator[Index]:
        """A loop whose name is free, as it is that of another program's."""
        body: Block = []
        with self._inside(body):
            yield named(name)
        self._block.append(For(name, start, stop, step, body))

    def argument(self, name: str, value_type: Type) -> Value:  # type: ignore[override]
        """A parameter; several of a wide type."""
        parts = widths.part_types(value_type, self.dialect.vector_bits)
        if len(parts) == 1:
            return super().argument(name, value_type)
        return Parts(self, value_type, tuple(super(Legaliser, self).argument(f"{name}_{i}", one) for i, one in enumerate(parts)))

    def variable(self, value: Value) -> Value:  # type: ignore[override]
        """State that begins with a value."""
        parts = [super(Legaliser, self).variable(one) for one in widths.parts_of(self, value)]
        return parts[0] if len(parts) == 1 else Parts(self, value.type, tuple(parts))

    def assign(self, variable: Value, value: Value) -> None:
        """Change state, part by part."""
        targets = variable.parts if isinstance(variable, Parts) else (variable,)
        for target, part in zip(targets, widths.parts_of(self, value), strict=True):
            assert isinstance(target, Variable)
            super().assign(target, part)

    def store(
        self,
        buffer: Buffer,
        index: IndexLike,
        value: Value,
        mask: Value | None = None,
        stride: IndexLike = 1,
        *,
        is_streamed: bool = False,
    ) -> None:
        """Write lanes, part by part."""
        parts = widths.parts_of(self, value)
        masks: Sequence[Value | None] = [None] * len(parts) if mask is None else widths.pieces(self, mask, len(parts))
        lanes = parts[0].type.lanes
        for number, (part, its_mask) in enumerate(zip(parts, masks, strict=True)):
            super().store(buffer, index + stride * (number * lanes), part, its_mask, stride, is_streamed=is_streamed)


class Copier:
    """Copies a program through a builder, statement by statement."""

    def __init__(self, builder: Legaliser, values: Mapping[int, Value] | None = None) -> None:
        """What stands for values of the program, by their identities."""
        self.builder = builder
        self.values: dict[int, Value] = dict(values or {})

    def program(self, program: TileProgram) -> TileProgram:
        """The whole program."""
        self.buffers = program.buffers()
        for parameter in program.parameters:
            match parameter:
                case str():
                    self.builder.integer(parameter)
                case Buffer():
                    self.builder.take(parameter)
                case Argument():
                    self.values[id(parameter)] = self.builder.argument(parameter.name, parameter.type)
        for table in program.tables:
            self.builder.bring(table)
        self.block(program.body)
        result = None if program.result is None else self.value(program.result)
        return self.builder.program(program.name, result)

    def value(self, value: Value) -> Value:
        """What stands for a value."""
        found = self.values.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Constant):
            return self.builder.constant(value.number, value.type)
        raise InternalError(f"{value} is used before it is defined")

    def operand(self, operand: Place | IndexLike | Value) -> Place | IndexLike | Value:
        """Of a statement: values change."""
        return self.value(operand) if isinstance(operand, Value) else operand

    def block(self, block: Block) -> None:
        """Statements, in order."""
        for statement in block:
            self.statement(statement)

    def instruction(self, made: Instruction) -> Value:
        """What stands for an instruction: never a variable, which may change behind it. Wide values go into no function."""
        operands = tuple([self.value(one) for one in made.operands])
        is_wide = any(one.type.size_bits > self.builder.dialect.vector_bits for one in (made, *operands))
        if made.operation is Operation.CALL and is_wide:
            assert isinstance(made.detail, TileProgram)
            return self.inlined(made.detail, operands)
        found = self.builder.instruction(made.operation, made.type, operands, made.detail)
        if isinstance(found, Parts):
            return Parts(self.builder, found.type, tuple(map(self.unchanging, found.parts)))
        return self.unchanging(found)

    def unchanging(self, value: Value) -> Value:
        """A value as it is here."""
        if not isinstance(value, Variable):
            return value
        same = Operation.AND if value.type.is_mask else Operation.BITCAST
        return self.builder.left_alone(same, value.type, (value,) * (1 + value.type.is_mask))

    def inlined(self, program: TileProgram, operands: tuple[Value, ...]) -> Value:
        """The result of a program of values, which has no loops of its own."""
        given = {id(one): operand for one, operand in zip(program.parameters, operands, strict=True)}
        inner = Copier(self.builder, given)
        inner.buffers = program.buffers()
        for table in program.tables:
            self.builder.bring(table)
        inner.block(program.body)
        assert program.result is not None
        return inner.value(program.result)

    def statement(self, statement: Statement) -> None:
        """One of them."""
        b, value = self.builder, self.value
        match statement:
            case Instruction():
                self.values[id(statement)] = self.instruction(statement)
            case Define():
                self.values[id(statement.variable)] = b.variable(value(statement.value))
            case Assign():
                b.assign(value(statement.variable), value(statement.value))
            case Store(place=place):
                mask = None if statement.mask is None else value(statement.mask)
                buffer, is_streamed = self.buffers[place.buffer], statement.is_streamed
                b.store(buffer, place.index, value(statement.value), mask, place.stride, is_streamed=is_streamed)
            case Prefetch(place=place):
                b.prefetch(self.buffers[place.buffer], place.index)
            case Integer():
                operands_left = tuple([value(one) if isinstance(one, Value) else one for one in statement.operands])
                b.integer_statement(statement.name, statement.operation, operands_left)
            case CallStatement():
                b.call(statement.symbol, *(self.operand(one) for one in statement.arguments))
            case Configure(tiles=tiles):
                made = b.tiles(*((tile.type, rows, lanes) for tile, rows, lanes in tiles))
                self.values |= {id(tile): one for (tile, _, _), one in zip(tiles, made, strict=True)}
            case OnTile():
                tile = value(statement.tile)
                assert isinstance(tile, Variable)
                b.on_tile(statement.operation, tile, tuple(map(value, statement.operands)), statement.place)
            case Release():
                b.release()
            case If():
                with b.when(statement.condition):
                    self.block(statement.body)
                if statement.otherwise:
                    with b.otherwise():
                        self.block(statement.otherwise)
            case For():
                with b.loop(statement.name, statement.start, statement.stop, statement.step):
                    self.block(statement.body)
