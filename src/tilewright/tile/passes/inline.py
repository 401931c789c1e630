"""A tile program as part of another one: its parameters become places and integers of that, and what is known is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.errors import InternalError
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import Index, IndexLike, substituted
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import (
    Assign,
    Block,
    Buffer,
    Constant,
    Define,
    For,
    If,
    Instruction,
    Integer,
    Place,
    Prefetch,
    Statement,
    Store,
    TileProgram,
    Value,
    Variable,
)


@record
class Passed:
    """What a buffer of the program is: elements of another one from an offset on."""

    buffer: Buffer
    offset: IndexLike = 0


def inline(builder: Builder, program: TileProgram, buffers: Mapping[str, Passed], integers: Mapping[str, IndexLike]) -> None:
    """Add the statements of a program of buffers and integers, whose parameters are given by name.

    >>> from tilewright.tile.printer import printed
    >>> from tilewright.tile.types import vector
    >>> inner, t = Builder(), vector("float32", 8)
    >>> n, x = inner.integer("n"), inner.buffer("x", "float32", is_written=True)
    >>> with inner.when(n):
    ...     inner.store(x, n, inner.load(x, 0, t) + 1.0)
    >>> outer = Builder()
    >>> y = outer.buffer("y", "float32", is_written=True)
    >>> inline(outer, inner.program("inner"), {"x": Passed(y, 3)}, {"n": 8})
    >>> print(printed(outer.program("outer")))
    outer(y: float32 written)
      v0 = load y[3]: float32x8
      v1 = add v0, 1.0: float32x8
      store y[11] = v1
    """
    if program.tables or program.result is not None:
        raise InternalError(f"{program.name} is more than statements")
    with builder.apart():
        _Inlined(builder, buffers, integers).block(program.body)


def repeated(
    builder: Builder, name: str, start: IndexLike, stop: IndexLike, body: Callable[[IndexLike], None], step: int = 1
) -> None:
    """A loop, unless it is known to run once or never."""
    length = stop - start
    if not isinstance(length, int) or length > step:
        with builder.loop(name, start, stop, step) as at:
            body(at)
    elif length > 0:
        body(start)


def conditional(
    builder: Builder, condition: IndexLike, body: Callable[[], None], otherwise: Callable[[], None] | None = None
) -> None:
    """One of two blocks by whether an integer is 0, where that is known without a condition."""
    if isinstance(condition, int):
        chosen = body if condition else otherwise
        if chosen is not None:
            chosen()
        return
    with builder.when(condition):
        body()
    if otherwise is not None:
        with builder.otherwise():
            otherwise()


def computed(builder: Builder, operation: IntegerOperation, *operands: IndexLike | Value | Place) -> IndexLike:
    """An integer that no polynomial is: a number, where the operands are known.

    >>> computed(Builder(), IntegerOperation.FLOOR_DIVIDE, 7, 2)
    3
    """
    known = [one for one in operands if isinstance(one, int)]
    if len(known) == len(operands) and operation in KNOWN:
        return int(KNOWN[operation](*known))
    return builder.define(operation, *operands)


class _Inlined:
    def __init__(self, builder: Builder, buffers: Mapping[str, Passed], integers: Mapping[str, IndexLike]) -> None:
        self.builder, self.buffers = builder, buffers
        self.integers = dict(integers)
        self.values: dict[int, Value] = {}

    def block(self, block: Block) -> None:
        """Statements, in order."""
        for statement in block:
            self.statement(statement)

    def index(self, index: IndexLike) -> IndexLike:
        """A polynomial in the integers of the whole."""
        return substituted(index, self.integers)

    def place(self, place: Place) -> Place:
        """Where elements lie."""
        passed = self.buffers[place.buffer]
        return Place(passed.buffer.name, self.index(place.index) + passed.offset, self.index(place.stride), self.index(place.row))

    def value(self, value: Value) -> Value:
        """What stands for a value."""
        return self.builder.constant(value.number, value.type) if isinstance(value, Constant) else self.values[id(value)]

    def variable(self, variable: Variable) -> Variable:
        """What stands for a variable."""
        found = self.values[id(variable)]
        assert isinstance(found, Variable)
        return found

    def statement(self, statement: Statement) -> None:
        """One of them."""
        b = self.builder
        match statement:
            case Instruction():
                self.values[id(statement)] = self.instruction(statement)
            case Define():
                self.values[id(statement.variable)] = b.variable(self.value(statement.value))
            case Assign():
                b.assign(self.variable(statement.variable), self.value(statement.value))
            case Store():
                to, buffer = self.place(statement.place), self.buffers[statement.place.buffer].buffer
                mask = None if statement.mask is None else self.value(statement.mask)
                b.store(buffer, to.index, self.value(statement.value), mask, to.stride, is_streamed=statement.is_streamed)
            case Prefetch():
                b.prefetch(self.buffers[statement.place.buffer].buffer, self.place(statement.place).index)
            case Integer():
                self.integers[statement.name] = self.integer(statement)
            case If():
                self.condition(statement)
            case For():
                self.loop(statement)
            case _:
                raise InternalError(f"{type(statement).__name__} is not inlined")

    def instruction(self, made: Instruction) -> Value:
        """What stands for an instruction."""
        detail = made.detail
        if isinstance(detail, Place):
            detail = self.place(detail)
        elif isinstance(detail, Index):
            detail = self.index(detail)
        return self.builder.instruction(made.operation, made.type, tuple([self.value(one) for one in made.operands]), detail)

    def integer(self, statement: Integer) -> IndexLike:
        """An integer that no polynomial is, unless its operands are known."""
        operands = [
            self.place(one) if isinstance(one, Place) else self.value(one) if isinstance(one, Value) else self.index(one)
            for one in statement.operands
        ]
        return computed(self.builder, statement.operation, *operands)

    def condition(self, statement: If) -> None:
        """The block that runs, where that is known."""
        otherwise = (lambda: self.block(statement.otherwise)) if statement.otherwise else None
        conditional(self.builder, self.index(statement.condition), lambda: self.block(statement.body), otherwise)

    def loop(self, loop: For) -> None:
        """A loop, unless it runs once or never."""

        def body(at: IndexLike) -> None:
            self.integers[loop.name] = at
            self.block(loop.body)

        repeated(self.builder, loop.name, self.index(loop.start), self.index(loop.stop), body, loop.step)


KNOWN: dict[IntegerOperation, Callable[..., int]] = {
    IntegerOperation.MINIMUM: min,
    IntegerOperation.MAXIMUM: max,
    IntegerOperation.FLOOR_DIVIDE: lambda left, right: left // right,
    IntegerOperation.REMAINDER: lambda left, right: left % right,
    IntegerOperation.LESS: lambda left, right: left < right,
    IntegerOperation.EQUAL: lambda left, right: left == right,
    IntegerOperation.CHOOSE: lambda condition, yes, no: yes if condition else no,
}
"""Operations of numbers that are known."""
