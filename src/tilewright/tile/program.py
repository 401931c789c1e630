"""Tile programs: values, statements, and what a program takes.

Values are in static single assignment: an instruction is computed where it stands, once, and is its own value. State that a loop
carries is a `Variable`, which `Assign` changes; an instruction reads it as it is where the instruction stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol, TypeAlias

from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation, TileOperation
from tilewright.tile.types import Type


class Maker(Protocol):
    """What operators of values ask for instructions: `builder.Builder`."""

    def apply(self, operation: Operation, *operands: Number) -> Value:
        """An operation whose operands have the type of the result."""

    def compare(self, operation: Operation, left: Value, right: Number) -> Value:
        """A mask."""


@record
class Buffer:
    """Elements that a program reads or writes, from a pointer on; `values` are those of a table that the program brings.

    What it brings without values is scratch memory, whose elements are anything at first.
    """

    name: str
    dtype: str
    is_written: bool = False
    values: tuple[float, ...] | None = None
    elements: IndexLike | None = None
    """How many there are, where that is known: the verifier proves accesses of known positions, the interpreter checks all."""


@record
class Place:
    """Elements of a buffer: lane i lies at `index + i * stride`, row r of a register tile `r * row` behind."""

    buffer: str
    index: IndexLike
    stride: IndexLike = 1
    row: IndexLike = 0


class Value:
    """What instructions compute with. Operators build instructions; numbers become constants of the same type."""

    __slots__ = ("builder", "type")

    type: Type
    builder: Maker

    def __add__(self, other: Number) -> Value:
        return self.builder.apply(Operation.ADD, self, other)

    def __radd__(self, other: Number) -> Value:
        return self.builder.apply(Operation.ADD, other, self)

    def __sub__(self, other: Number) -> Value:
        return self.builder.apply(Operation.SUBTRACT, self, other)

    def __rsub__(self, other: Number) -> Value:
        return self.builder.apply(Operation.SUBTRACT, other, self)

    def __mul__(self, other: Number) -> Value:
        return self.builder.apply(Operation.MULTIPLY, self, other)

    def __rmul__(self, other: Number) -> Value:
        return self.builder.apply(Operation.MULTIPLY, other, self)

    def __truediv__(self, other: Number) -> Value:
        return self.builder.apply(Operation.DIVIDE, self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.builder.apply(Operation.DIVIDE, other, self)

    def __and__(self, other: Number) -> Value:
        return self.builder.apply(Operation.AND, self, other)

    def __or__(self, other: Number) -> Value:
        return self.builder.apply(Operation.OR, self, other)

    def __xor__(self, other: Number) -> Value:
        return self.builder.apply(Operation.XOR, self, other)

    def __lshift__(self, other: Number) -> Value:
        return self.builder.apply(Operation.SHIFT_LEFT, self, other)

    def __rshift__(self, other: Number) -> Value:
        return self.builder.apply(Operation.SHIFT_RIGHT, self, other)

    def __invert__(self) -> Value:
        return self.builder.apply(Operation.NOT, self)

    def __neg__(self) -> Value:
        return self.builder.apply(Operation.NEGATE, self)

    def __lt__(self, other: Number) -> Value:
        return self.builder.compare(Operation.LESS, self, other)

    def __le__(self, other: Number) -> Value:
        return self.builder.compare(Operation.LESS_EQUAL, self, other)

    def __gt__(self, other: Number) -> Value:
        return self.builder.compare(Operation.GREATER, self, other)

    def __ge__(self, other: Number) -> Value:
        return self.builder.compare(Operation.GREATER_EQUAL, self, other)

    def equals(self, other: Number) -> Value:
        """The mask of lanes that are equal."""
        return self.builder.compare(Operation.EQUAL, self, other)

    def differs(self, other: Number) -> Value:
        """The mask of lanes that are not equal; of `x.differs(x)` those that are NaN."""
        return self.builder.compare(Operation.UNEQUAL, self, other)


Number: TypeAlias = Value | float
"""An operand."""


class Constant(Value):
    """A number in every lane; of a mask 1 or 0."""

    __slots__ = ("number",)

    def __init__(self, builder: Maker, value_type: Type, number: float) -> None:
        self.builder, self.type, self.number = builder, value_type, number


class Argument(Value):
    """A scalar, or a vector of a function of values, that the program is given."""

    __slots__ = ("name",)

    def __init__(self, builder: Maker, value_type: Type, name: str) -> None:
        self.builder, self.type, self.name = builder, value_type, name


class Variable(Value):
    """State that `Assign` changes. `number` tells the variables of a program apart."""

    __slots__ = ("number", "version")

    def __init__(self, builder: Maker, value_type: Type, number: int) -> None:
        self.builder, self.type, self.number, self.version = builder, value_type, number, 0


Detail: TypeAlias = "Place | IndexLike | tuple[int, ...] | Operation | TileProgram | None"


class Instruction(Value):
    """An operation on operands. `number` tells the instructions of a program apart, in the order in which they were made."""

    __slots__ = ("detail", "number", "operands", "operation")

    def __init__(
        self, builder: Maker, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail, number: int
    ) -> None:
        self.builder, self.operation, self.type = builder, operation, value_type
        self.operands, self.detail, self.number = operands, detail, number


class Define:
    """A variable begins with a value."""

    __slots__ = ("value", "variable")

    def __init__(self, variable: Variable, value: Value) -> None:
        self.variable, self.value = variable, value


class Assign:
    """A variable gets a value."""

    __slots__ = ("value", "variable")

    def __init__(self, variable: Variable, value: Value) -> None:
        self.variable, self.value = variable, value


class Store:
    """Lanes are written; with a mask, only those that are set, and nothing else is touched.

    `is_streamed`: past the caches where the dialect can; the place is then aligned to the vector.
    """

    __slots__ = ("is_streamed", "mask", "place", "value")

    def __init__(self, place: Place, value: Value, mask: Value | None, is_streamed: bool) -> None:
        self.place, self.value, self.mask, self.is_streamed = place, value, mask, is_streamed


class Prefetch:
    """A cache line is asked for, wherever the place is: it reads nothing, and never faults."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


class Integer:
    """An integer gets a name, for indices behind it."""

    __slots__ = ("name", "operands", "operation")

    def __init__(self, name: str, operation: IntegerOperation, operands: tuple[IndexLike | Value | Place, ...]) -> None:
        self.name, self.operation, self.operands = name, operation, operands


class If:
    """A block runs if an integer is not 0, else the other one."""

    __slots__ = ("body", "condition", "otherwise")

    def __init__(self, condition: IndexLike, body: Block, otherwise: Block) -> None:
        self.condition, self.body, self.otherwise = condition, body, otherwise


class For:
    """A block runs for start, start + step, ... below stop; the step is positive."""

    __slots__ = ("body", "name", "start", "step", "stop")

    def __init__(self, name: str, start: IndexLike, stop: IndexLike, step: int, body: Block) -> None:
        self.name, self.start, self.stop, self.step, self.body = name, start, stop, step, body


class CallStatement:
    """A function of another object is called: a micro kernel, under the C calling convention.

    `arguments` are places of buffers, indices and scalars, in the order of its parameters.
    """

    __slots__ = ("arguments", "symbol")

    def __init__(self, symbol: str, arguments: tuple[Place | IndexLike | Value, ...]) -> None:
        self.symbol, self.arguments = symbol, arguments


class Configure:
    """Register tiles begin, as zeros: variables, each with so many rows and lanes, at most those of its type.

    What has no rows or no lanes is not used.
    """

    __slots__ = ("tiles",)

    def __init__(self, tiles: tuple[tuple[Variable, IndexLike, IndexLike], ...]) -> None:
        self.tiles = tiles


class OnTile:
    """A register tile changes, or is stored. Of `OUTER` operands are vectors, of `PRODUCT` other tiles."""

    __slots__ = ("operands", "operation", "place", "tile")

    def __init__(self, operation: TileOperation, tile: Variable, operands: tuple[Value, ...], place: Place | None) -> None:
        self.operation, self.tile, self.operands, self.place = operation, tile, operands, place


class Release:
    """Register tiles end."""

    __slots__ = ()


Statement: TypeAlias = (
    Instruction | Define | Assign | Store | Prefetch | Integer | If | For | CallStatement | Configure | OnTile | Release
)
Block: TypeAlias = list[Statement]
Parameter: TypeAlias = Buffer | str | Argument
"""A buffer, an integer by its name, or a scalar."""


class TileProgram:
    """A function of buffers, integers and scalars; with a `result`, one of values alone."""

    __slots__ = ("body", "name", "parameters", "result", "tables")

    def __init__(
        self,
        name: str,
        parameters: tuple[Parameter, ...],
        body: Block,
        tables: tuple[Buffer, ...] = (),
        result: Value | None = None,
    ) -> None:
        self.name, self.parameters, self.body, self.tables, self.result = name, parameters, body, tables, result

    def buffers(self) -> dict[str, Buffer]:
        """All buffers and tables, by name."""
        return {one.name: one for one in (*self.parameters, *self.tables) if isinstance(one, Buffer)}


def statements(block: Block) -> Iterator[Statement]:
    """All statements of a block and of blocks in it, in order."""
    for statement in block:
        yield statement
        if isinstance(statement, If):
            yield from statements(statement.body)
            yield from statements(statement.otherwise)
        elif isinstance(statement, For):
            yield from statements(statement.body)


def operands(statement: Statement) -> Iterator[Value]:
    """The values that a statement itself takes."""
    match statement:
        case Instruction():
            yield from statement.operands
        case Define() | Assign():
            yield statement.value
        case Store():
            yield from (one for one in (statement.value, statement.mask) if one is not None)
        case OnTile():
            yield from (statement.tile, *statement.operands)
        case Integer():
            yield from (one for one in statement.operands if isinstance(one, Value))
        case CallStatement():
            yield from (one for one in statement.arguments if isinstance(one, Value))


def users(program: TileProgram) -> Counter[int]:
    """How many operands each value is, by its identity."""
    return Counter(id(one) for statement in statements(program.body) for one in operands(statement))
