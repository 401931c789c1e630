"""The builder of tile programs: it numbers values as they are made.

Loops of known extent that are to be unrolled are loops of Python. Equal instructions of a block, and of blocks around it, are
one value: no pass has to find them. What reads a variable or a written buffer is equal only as long as neither changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from tilewright.errors import InternalError
from tilewright.tile.index import Index, IndexLike, named
from tilewright.tile.operations import READS, IntegerOperation, Operation, TileOperation
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
    Number,
    OnTile,
    Parameter,
    Place,
    Prefetch,
    Release,
    Store,
    TileProgram,
    Value,
    Variable,
)
from tilewright.tile.types import BITS, INDEX, Type, vector


class Builder:
    """Makes one tile program, statement by statement.

    >>> from tilewright.tile.printer import printed
    >>> from tilewright.tile.types import vector
    >>> b, t = Builder(), vector("float32", 8)
    >>> n, x, y = b.integer("n"), b.buffer("x", "float32"), b.buffer("y", "float32", is_written=True)
    >>> with b.loop("i", 0, n, 8) as i:
    ...     b.store(y, i, b.load(x, i, t) * 2.0)
    >>> print(printed(b.program("twice")))
    twice(n, x: float32, y: float32 written)
      for i from 0 to n by 8
        v0 = load x[i]: float32x8
        v1 = multiply v0, 2.0: float32x8
        store y[i] = v1
    """

    def __init__(self) -> None:
        """An empty program."""
        self._parameters: list[Parameter] = []
        self._tables: dict[str, Buffer] = {}
        self._block: Block = []
        self._known: list[dict[Hashable, Value]] = [{}]
        self._versions: dict[str, int] = {}
        self._variables: list[Variable] = []
        self._integers: set[str] = set()
        self._count = 0

    # What a program takes.

    def integer(self, name: str) -> Index:
        """A parameter: a size or a stride."""
        self._integers.add(name)
        self._parameters.append(name)
        return named(name)

    def buffer(self, name: str, dtype: str, *, is_written: bool = False, elements: IndexLike | None = None) -> Buffer:
        """A parameter: a pointer to elements."""
        buffer = Buffer(name, dtype, is_written, None, elements)
        self._parameters.append(buffer)
        self._versions[name] = 0
        return buffer

    def argument(self, name: str, value_type: Type) -> Argument:
        """A parameter: a value."""
        argument = Argument(self, value_type, name)
        self._parameters.append(argument)
        return argument

    def table(self, name: str, dtype: str, values: Sequence[float]) -> Buffer:
        """Constants in memory; equal names must have equal values."""
        return self.bring(Buffer(name, dtype, False, tuple(values), len(values)))

    def scratch(self, name: str, dtype: str, elements: int) -> Buffer:
        """Memory of the program's own, from a whole cache line on.

        >>> import numpy as np
        >>> from tilewright.tile.interpreter import interpret
        >>> from tilewright.tile.types import vector
        >>> b, t = Builder(), vector("int32", 2)
        >>> x, memory = b.buffer("x", "int32", is_written=True), b.scratch("kept", "int32", 4)
        >>> for i in (0, 2):
        ...     b.store(memory, i, b.load(x, i, t))
        >>> with b.loop("i", 0, 2) as i:
        ...     b.store(x, i * 2, b.load(memory, i, t, stride=2))
        >>> interpret(b.program("turned"), array := np.arange(4, dtype=np.int32))
        >>> array.tolist()
        [0, 2, 1, 3]
        """
        return self.bring(Buffer(name, dtype, True, None, elements))

    def bring(self, own: Buffer) -> Buffer:
        """A table, or scratch memory."""
        if own.is_written:
            self._versions.setdefault(own.name, 0)
        return self._tables.setdefault(own.name, own)

    def element_bits(self, name: str) -> int:
        """Of the elements of a buffer or a table."""
        buffers = (*self._parameters, *self._tables.values())
        return next(BITS[one.dtype] for one in buffers if isinstance(one, Buffer) and one.name == name)

    def program(self, name: str, result: Value | None = None) -> TileProgram:
        """What has been built."""
        return TileProgram(name, tuple(self._parameters), self._block, tuple(self._tables.values()), result)

    # Values.

    def constant(self, number: float, value_type: Type) -> Constant:
        """A number in every lane."""
        key = ("constant", repr(number), value_type)
        found = self._known[0].get(key)
        if found is None:
            found = self._known[0][key] = Constant(self, value_type, number)
        assert isinstance(found, Constant)
        return found

    def operand(self, number: Number, value_type: Type) -> Value:
        """A value, or a number as a constant of a type."""
        return number if isinstance(number, Value) else self.constant(number, value_type)

    def instruction(self, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail = None) -> Value:
        """The value of an operation: one that was made before, where nothing that it reads has changed since."""
        key = (operation, value_type, detail, *[self._key(one) for one in operands])
        if operation in READS:
            assert isinstance(detail, Place)
            key = (*key, self._versions.get(detail.buffer, 0))
        for known in reversed(self._known):
            if (found := known.get(key)) is not None:
                return found
        made = Instruction(self, operation, value_type, operands, detail, self._count)
        self._count += 1
        self._block.append(made)
        self._known[-1][key] = made
        return made

    def apply(self, operation: Operation, *operands: Number) -> Value:
        """An operation whose operands have the type of the result."""
        value_type = next(one.type for one in operands if isinstance(one, Value))
        return self.instruction(operation, value_type, tuple([self.operand(one, value_type) for one in operands]))

    def compare(self, operation: Operation, left: Value, right: Number) -> Value:
        """A mask."""
        return self.instruction(operation, left.type.mask, (left, self.operand(right, left.type)))

    def select(self, mask: Value, yes: Number, no: Number) -> Value:
        """Lanes of one value where a mask is set, of another elsewhere."""
        value_type = next(one.type for one in (yes, no) if isinstance(one, Value))
        return self.instruction(Operation.SELECT, value_type, (mask, self.operand(yes, value_type), self.operand(no, value_type)))

    def fma(self, left: Value, right: Number, total: Number) -> Value:
        """`left * right + total`, rounded once."""
        return self.apply(Operation.FMA, left, right, total)

    def multiply_add(self, left: Number, right: Number, total: Value) -> Value:
        """A step of a sum: rounded once or twice, as the dialect says."""
        return self.apply(Operation.MULTIPLY_ADD, left, right, total)

    def dot(self, left: Value, right: Value, total: Value) -> Value:
        """A step of a sum of narrower lanes."""
        return self.instruction(Operation.DOT, total.type, (left, right, total))

    def pairs(self, unsigned: Value, signed: Value) -> Value:
        """Products of bytes, neighbours added in 16 bits."""
        return self.instruction(Operation.PAIRS, vector("int16", unsigned.type.lanes // 2), (unsigned, signed))

    def scale(self, value: Value, power: Number, *, is_near: bool = False) -> Value:
        """`value * 2**floor(power)`; `is_near` promises what `Operation` says of a detail."""
        return self.instruction(Operation.SCALE, value.type, (value, self.operand(power, value.type)), 1 if is_near else None)

    def cast(self, value: Value, dtype: str) -> Value:
        """The nearest value of another element type; the value itself if it has that."""
        if value.type.dtype == dtype:
            return value
        return self.instruction(Operation.CAST, value.type.of(dtype), (value,))

    def saturate(self, value: Value, dtype: str) -> Value:
        """The nearest value that an integer type has."""
        return self.instruction(Operation.SATURATE, value.type.of(dtype), (value,))

    def bitcast(self, value: Value, value_type: Type) -> Value:
        """The same bits as another type."""
        return value if value.type is value_type else self.instruction(Operation.BITCAST, value_type, (value,))

    def splat(self, value: Value, lanes: int) -> Value:
        """A scalar in all lanes."""
        return self.instruction(Operation.SPLAT, vector(value.type.dtype, lanes), (value,))

    def iota(self, value_type: Type) -> Value:
        """0, 1, 2, ..."""
        return self.instruction(Operation.IOTA, value_type, ())

    def prefix(self, count: IndexLike, value_type: Type) -> Value:
        """A mask of the first lanes of values of a type."""
        return self.instruction(Operation.PREFIX, value_type.mask, (), count)

    def index_value(self, index: IndexLike) -> Value:
        """An index as a scalar of int64."""
        return self.instruction(Operation.INDEX, INDEX, (), index)

    def shuffle(self, values: Sequence[Value], lanes: Sequence[int]) -> Value:
        """Lanes of one or two values behind each other, by number; -1 is a zero."""
        value_type, first = vector(values[0].type.dtype, len(lanes)), values[0]
        if isinstance(first, Constant) and first.number == 0 and all(one is first for one in values):
            return self.constant(0, value_type)
        return self.instruction(Operation.SHUFFLE, value_type, tuple(values), tuple(lanes))

    def reduce(self, operation: Operation, value: Value) -> Value:
        """All lanes by halves, as a scalar."""
        return self.instruction(Operation.REDUCE, value.type.scalar, (value,), operation)

    def per_lane(self, program: TileProgram, arguments: Sequence[Value], otherwise: Value, mask: Value) -> Value:
        """A program with a result of each lane where a mask is set, another value elsewhere."""
        return self.instruction(Operation.PER_LANE, otherwise.type, (*arguments, otherwise, mask), program)

    # Memory.

    def load(self, buffer: Buffer, index: IndexLike, value_type: Type, mask: Value | None = None, stride: IndexLike = 1) -> Value:
        """Lanes at a stride from a place on; lanes that a mask leaves out read nothing, and are 0."""
        place = Place(buffer.name, index, stride)
        return self.instruction(Operation.LOAD, value_type, () if mask is None else (mask,), place)

    def broadcast(self, buffer: Buffer, index: IndexLike, value_type: Type) -> Value:
        """As many consecutive elements as a lane holds, in every lane."""
        return self.instruction(Operation.BROADCAST, value_type, (), Place(buffer.name, index))

    def gather(self, buffer: Buffer, index: IndexLike, positions: Value, mask: Value | None = None) -> Value:
        """For every lane the element at a place plus its position."""
        operands = (positions,) if mask is None else (positions, mask)
        return self.instruction(Operation.GATHER, positions.type.of(buffer.dtype), operands, Place(buffer.name, index))

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
        """Write lanes."""
        self._block.append(Store(Place(buffer.name, index, stride), value, mask, is_streamed))
        self._versions[buffer.name] += 1

    def prefetch(self, buffer: Buffer, index: IndexLike) -> None:
        """Ask for a cache line."""
        self._block.append(Prefetch(Place(buffer.name, index)))

    def call(self, symbol: str, *arguments: Place | IndexLike | Value) -> None:
        """Call a function of another object."""
        self._block.append(CallStatement(symbol, arguments))
        self._change_all()

    # Register tiles.

    def tiles(self, *tiles: tuple[Type, IndexLike, IndexLike]) -> list[Variable]:
        """Register tiles of zeros: types, and how many rows and lanes there are."""
        numbers = range(len(self._variables), len(self._variables) + len(tiles))
        made = [Variable(self, one[0], number) for number, one in zip(numbers, tiles, strict=True)]
        self._variables += made
        self._block.append(Configure(tuple((one, rows, lanes) for one, (_, rows, lanes) in zip(made, tiles, strict=True))))
        return made

    def zero(self, tile: Variable) -> None:
        """A register tile is cleared."""
        self.on_tile(TileOperation.ZERO, tile)

    def load_tile(self, tile: Variable, buffer: Buffer, index: IndexLike, row: IndexLike) -> None:
        """A register tile is read, rows at a distance."""
        self.on_tile(TileOperation.LOAD, tile, place=Place(buffer.name, index, row=row))

    def store_tile(self, buffer: Buffer, index: IndexLike, row: IndexLike, tile: Variable) -> None:
        """A register tile is written, rows at a distance."""
        self.on_tile(TileOperation.STORE, tile, place=Place(buffer.name, index, row=row))

    def add_product(self, tile: Variable, left: Value, right: Value) -> None:
        """A register tile gets larger: by the product of two tiles, or by the outer product of two vectors."""
        operation = TileOperation.PRODUCT if isinstance(left, Variable) and left.type.rows > 1 else TileOperation.OUTER
        self.on_tile(operation, tile, (left, right))

    def release(self) -> None:
        """All register tiles end."""
        self._block.append(Release())

    def on_tile(
        self, operation: TileOperation, tile: Variable, operands: tuple[Value, ...] = (), place: Place | None = None
    ) -> None:
        """A statement of a register tile."""
        self._block.append(OnTile(operation, tile, operands, place))
        if operation is TileOperation.STORE and place is not None:
            self._versions[place.buffer] += 1

    # State and control.

    def variable(self, value: Value) -> Variable:
        """State that begins with a value."""
        variable = Variable(self, value.type, len(self._variables))
        self._variables.append(variable)
        self._block.append(Define(variable, value))
        return variable

    def assign(self, variable: Variable, value: Value) -> None:
        """Change state."""
        self._block.append(Assign(variable, value))
        variable.version += 1

    def define(self, operation: IntegerOperation, *operands: IndexLike | Value | Place) -> Index:
        """An integer that no polynomial is."""
        key = ("integer", operation, *(self._key(one) if isinstance(one, Value) else one for one in operands))
        for known in reversed(self._known):
            if (found := known.get(key)) is not None:
                return named(found)  # type: ignore[arg-type]
        name = self._fresh("n")
        self._block.append(Integer(name, operation, operands))
        self._known[-1][key] = name  # type: ignore[assignment]
        return named(name)

    @contextmanager
    def loop(self, name: str, start: IndexLike, stop: IndexLike, step: int = 1) -> Iterator[Index]:
        """A loop that runs when the program does; for one of known extent that is to be unrolled use Python's."""
        if name in self._integers:
            name = self._fresh(name)
        self._integers.add(name)
        body: Block = []
        with self._inside(body):
            yield named(name)
        self._block.append(For(name, start, stop, step, body))

    @contextmanager
    def when(self, condition: IndexLike) -> Iterator[None]:
        """A block that runs if an integer is not 0."""
        body: Block = []
        with self._inside(body):
            yield
        self._block.append(If(condition, body, []))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """What runs where the condition of the `when` just before does not hold."""
        last = self._block[-1]
        if not isinstance(last, If):
            raise InternalError("there is no condition before")
        with self._inside(last.otherwise):
            yield

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is computed inside is computed anew behind it: no register holds it until then."""
        self._known.append({})
        yield
        self._known.pop()

    @contextmanager
    def _inside(self, body: Block) -> Iterator[None]:
        """Statements go into a block. What it changes is unknown at its start, which a loop comes back to, and behind it."""
        outer, self._block = self._block, body
        self._change_all()
        self._known.append({})
        yield
        self._known.pop()
        self._block = outer
        self._change_all()

    def _change_all(self) -> None:
        for name in self._versions:
            self._versions[name] += 1
        for variable in self._variables:
            variable.version += 1

    def _fresh(self, prefix: str) -> str:
        number = sum(1 for name in self._integers if name.startswith(prefix))
        while (name := f"{prefix}_{number}") in self._integers:
            number += 1
        self._integers.add(name)
        return name

    @staticmethod
    def _key(value: Value) -> Hashable:
        return (id(value), value.version) if isinstance(value, Variable) else id(value)
