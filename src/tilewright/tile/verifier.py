"""Verifier of tile programs: types, what is defined before it is used, buffers, and places that are known.

An error says which statement is wrong and why. The interpreter checks what depends on numbers that a call gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite

from tilewright.errors import InternalError
from tilewright.tile.index import Index, IndexLike, substituted, terms_of
from tilewright.tile.operand_types import fault_of, is_integer, tile_fault_of
from tilewright.tile.operations import IntegerOperation, Operation, TileOperation
from tilewright.tile.printer import printed, printed_statement
from tilewright.tile.program import (
    Argument,
    Assign,
    Block,
    Buffer,
    CallStatement,
    Configure,
    Constant,
    Define,
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
from tilewright.tile.types import BITS, Type


def verify(program: TileProgram) -> TileProgram:
    """The program itself; raises `InternalError` where it means nothing.

    >>> from tilewright.tile.builder import Builder
    >>> from tilewright.tile.types import vector
    >>> b = Builder()
    >>> x = b.buffer("x", "float32", elements=8)
    >>> b.store(x, 0, b.load(x, 0, vector("float32", 8)))
    >>> verify(b.program("wrong"))
    Traceback (most recent call last):
    ...
    tilewright.errors.InternalError: wrong: store x[0] = v0: x is not written
    This is a bug of Tilewright. Please report it together with the text below.
    wrong(x: float32[8])
      v0 = load x[0]: float32x8
      store x[0] = v0
    """
    _Verifier(program).verify()
    return program


INTEGER_OPERANDS = {
    IntegerOperation.VALUE: 1,
    IntegerOperation.ADDRESS: 1,
    IntegerOperation.OPAQUE: 1,
    IntegerOperation.CHOOSE: 3,
}
"""How many an integer is defined by; others by two."""


class _Refused(Exception):
    """Why a statement is wrong."""


def _need(holds: bool, why: str) -> None:
    if not holds:
        raise _Refused(why)


class _Verifier:
    """What is known at a place of a program."""

    def __init__(self, program: TileProgram) -> None:
        self.program = program
        self.buffers = program.buffers()
        self.values: set[int] = set()
        self.variables: set[int] = set()
        self.tiles: set[int] = set()
        """Those of the variables that are register tiles."""
        self.ranges: dict[str, tuple[int, int] | None] = {}
        """Of integers that are defined: the first and the last, where both are known."""
        self.conditions = 0
        """How many blocks around may not run: what lies in them need not lie inside of buffers."""

    def verify(self) -> None:
        try:
            self._head()
        except _Refused as problem:
            raise self._error("its parameters", problem) from None
        self._statements(self.program.body)
        if self.program.result is not None:
            try:
                self._value(self.program.result)
            except _Refused as problem:
                raise self._error("its result", problem) from None

    def _head(self) -> None:
        """Parameters and tables."""
        names: set[str] = set()
        for one in (*self.program.parameters, *self.program.tables):
            name = one if isinstance(one, str) else one.name
            _need(name not in names, f"{name} is there twice")
            names.add(name)
            if isinstance(one, str):
                self.ranges[one] = None
            elif isinstance(one, Argument):
                _need_type(one.type)
                self.values.add(id(one))
            else:
                _need(one.dtype in BITS and not one.dtype.startswith("mask"), f"{name} has no elements of {one.dtype}")
        for one in self.program.parameters:
            if isinstance(one, Buffer) and one.elements is not None:
                self._index(one.elements)

    # Blocks.

    def _block(self, block: Block) -> None:
        """What a block defines is unknown behind it."""
        before = self.values.copy(), self.variables.copy(), self.ranges.copy()
        self._statements(block)
        self.values, self.variables, self.ranges = before

    def _statements(self, block: Block) -> None:
        for statement in block:
            try:
                self._statement(statement)
            except _Refused as problem:
                raise self._error(printed_statement(statement), problem) from None

    def _error(self, where: str, problem: _Refused) -> InternalError:
        return InternalError(f"{self.program.name}: {where}: {problem}", dump=printed(self.program))

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Instruction():
                self._instruction(statement)
            case Define(variable=variable, value=value):
                self._value(value)
                _need(variable.type.rows == 1, "register tiles are configured")
                _need(variable.type == value.type, f"the variable is {variable.type}, the value {value.type}")
                _need(id(variable) not in self.variables, "the variable is defined already")
                self.variables.add(id(variable))
            case Assign(variable=variable, value=value):
                self._values((variable, value))
                _need(variable.type.rows == 1, "register tiles are not assigned")
                _need(variable.type == value.type, f"the variable is {variable.type}, the value {value.type}")
            case Store():
                self._store(statement)
            case Prefetch(place=place):
                self._buffer(place)
                self._place(place)
            case Integer():
                self._integer(statement)
            case If():
                self._index(statement.condition)
                self.conditions += 1
                self._block(statement.body)
                self._block(statement.otherwise)
                self.conditions -= 1
            case For():
                self._loop(statement)
            case CallStatement(arguments=arguments):
                self._arguments(arguments)
            case Configure():
                self._configure(statement)
            case OnTile():
                self._on_tile(statement)
            case Release():
                self.variables -= self.tiles

    def _configure(self, statement: Configure) -> None:
        for tile, rows, lanes in statement.tiles:
            _need(tile.type.rows > 1 and not tile.type.is_mask, f"{tile.type} is no register tile")
            _need(id(tile) not in self.variables, f"s{tile.number} is defined already")
            for extent, most in ((rows, tile.type.rows), (lanes, tile.type.lanes)):
                self._index(extent)
                _need(not isinstance(extent, int) or 0 <= extent <= most, f"{tile.type} has no {extent} rows or lanes")
            self.tiles.add(id(tile))
        self.variables |= {id(tile) for tile, _, _ in statement.tiles}

    def _on_tile(self, statement: OnTile) -> None:
        self._values((statement.tile, *statement.operands))
        if fault := tile_fault_of(statement):
            raise _Refused(fault)
        if statement.place is not None:
            buffer, place = self._buffer(statement.place), statement.place
            self._place(place)
            _need(place.stride == 1, "lanes of a row lie side by side")
            _need(buffer.dtype == statement.tile.type.dtype, f"{buffer.name} is of {buffer.dtype}")
            _need(buffer.is_written or statement.operation is TileOperation.LOAD, f"{buffer.name} is not written")

    def _loop(self, loop: For) -> None:
        self._index(loop.start)
        self._index(loop.stop)
        _need(isinstance(loop.step, int) and loop.step > 0, "the step is not positive")
        _need(loop.name not in self.ranges, f"{loop.name} is a name already")
        start, stop = self._range(loop.start), self._range(loop.stop)
        runs = range(start[0], stop[1], loop.step) if start and stop and start[0] == start[1] and stop[0] == stop[1] else None
        before = self.ranges.copy()
        self.ranges[loop.name] = (runs[0], runs[-1]) if runs else None
        self.conditions += not runs
        self._block(loop.body)
        self.conditions -= not runs
        self.ranges = before

    def _integer(self, integer: Integer) -> None:
        operands, operation = integer.operands, integer.operation
        _need(integer.name not in self.ranges, f"{integer.name} is a name already")
        count = INTEGER_OPERANDS.get(operation, 2)
        _need(len(operands) == count, f"it has {len(operands)} operands, not {count}")
        for one in operands:
            _need(isinstance(one, Value) is (operation is IntegerOperation.VALUE), f"{operation} is of other operands")
            _need(isinstance(one, Place) is (operation is IntegerOperation.ADDRESS), f"{operation} is of other operands")
            if isinstance(one, Value):
                self._value(one)
                _need(one.type.lanes == 1 and not one.type.is_mask, f"{one.type} is no integer")
            elif isinstance(one, Place):
                self._buffer(one)
                self._place(one)
            else:
                self._index(one)
        if operation in (IntegerOperation.FLOOR_DIVIDE, IntegerOperation.REMAINDER):
            _need(not isinstance(operands[1], int) or operands[1] > 0, f"the divisor is {operands[1]}")
        self.ranges[integer.name] = None

    def _arguments(self, arguments: Iterable[Place | IndexLike | Value]) -> None:
        for one in arguments:
            if isinstance(one, Place):
                self._buffer(one)
                self._place(one)
            elif isinstance(one, Value):
                self._value(one)
                _need(one.type.lanes == 1, f"{one.type} is no scalar")
            else:
                self._index(one)

    # Values.

    def _instruction(self, made: Instruction) -> None:
        _need_type(made.type)
        self._values(made.operands)
        if fault := fault_of(made):
            raise _Refused(fault)
        _need(id(made) not in self.values, "it is made twice")
        self.values.add(id(made))
        if isinstance(made.detail, Place):
            self._read(made, made.detail)
        elif isinstance(made.detail, int | Index):
            self._index(made.detail)
        elif isinstance(made.detail, TileProgram):
            verify(made.detail)

    def _values(self, values: Iterable[Value]) -> None:
        for one in values:
            self._value(one)

    def _value(self, value: Value) -> None:
        """That it has been made, in a block that is around."""
        match value:
            case Constant():
                _need_type(value.type)
                _need(_is_constant(value), f"{value.number} is no constant of {value.type}")
            case Variable():
                _need(id(value) in self.variables, f"the variable s{value.number} is not defined here")
            case Argument():
                _need(id(value) in self.values, f"{value.name} is no parameter")
            case Instruction():
                _need(id(value) in self.values, f"v{value.number} is not made before, in a block that is around")

    def _index(self, index: IndexLike) -> None:
        for names, _ in terms_of(index):
            for name in names:
                _need(name in self.ranges, f"{name} is no integer that is defined here")

    # Memory.

    def _buffer(self, place: Place) -> Buffer:
        _need(place.buffer in self.buffers, f"there is no buffer {place.buffer}")
        return self.buffers[place.buffer]

    def _place(self, place: Place) -> None:
        for index in (place.index, place.stride, place.row):
            self._index(index)

    def _read(self, made: Instruction, place: Place) -> None:
        buffer = self._buffer(place)
        self._place(place)
        wide = made.type.bits // BITS[buffer.dtype]
        if made.operation is Operation.LOAD and wide > 1:
            _need(not made.type.is_float, f"{buffer.name} is of {buffer.dtype}")
            _need(place.stride == 1, "lanes of several elements lie side by side")
            of_elements = Type(buffer.dtype, made.type.lanes * wide)
            if not made.operands:
                self._bounds(place, buffer, of_elements)
            return
        if made.operation is Operation.BROADCAST:
            _need(made.type.bits % BITS[buffer.dtype] == 0, f"{buffer.name} is of {buffer.dtype}")
            _need(made.type.bits != BITS[buffer.dtype] or made.type.dtype == buffer.dtype, f"{buffer.name} is of {buffer.dtype}")
            self._bounds(place, buffer, Type(buffer.dtype, made.type.bits // BITS[buffer.dtype]))
        else:
            _need(made.type.dtype == buffer.dtype, f"{buffer.name} is of {buffer.dtype}")
        if made.operation is not Operation.LOAD:
            _need(place.stride == 1 and place.row == 0, "it has no stride")
        elif not made.operands:
            self._bounds(place, buffer, made.type)

    def _store(self, store: Store) -> None:
        self._values((store.value, *(() if store.mask is None else (store.mask,))))
        buffer, stored = self._buffer(store.place), store.value.type
        self._place(store.place)
        _need(buffer.is_written, f"{buffer.name} is not written")
        _need(stored.rows == 1, "a register tile is stored as a whole")
        _need(buffer.dtype == stored.dtype, f"{stored} into {buffer.name} of {buffer.dtype}")
        _need(store.mask is None or store.mask.type == stored.mask, f"the mask is not {stored.mask}")
        _need(stored.lanes == 1 or store.place.stride != 0, "all lanes go to one place")
        if store.mask is None:
            self._bounds(store.place, buffer, stored)

    def _bounds(self, place: Place, buffer: Buffer, of: Type) -> None:
        """Where all integers are known, in what runs for certain: every lane lies inside of its buffer."""
        if buffer.elements is None or self.conditions:
            return
        last = place.index + (of.lanes - 1) * place.stride
        lowest = min(self._least(end) for end in (place.index, last))
        room = min(self._least(buffer.elements - end - 1) for end in (place.index, last))
        _need(lowest >= 0, f"it reaches element {lowest} of {buffer.name}")
        _need(room >= 0, f"it reaches {-room} elements too far in {buffer.name}")

    def _least(self, index: IndexLike) -> float:
        """The smallest that a polynomial becomes; infinity where that is unknown. Loops are at any of their numbers."""
        found = self._range(index)
        return inf if found is None else found[0]

    def _range(self, index: IndexLike) -> tuple[int, int] | None:
        """The smallest and the largest number that a linear polynomial becomes; None where that is unknown."""
        fixed = {name: known[0] for name, known in self.ranges.items() if known and known[0] == known[1]}
        low = high = 0
        for names, factor in terms_of(substituted(index, fixed)):
            if not names:
                low, high = low + factor, high + factor
                continue
            known = self.ranges[names[0]]
            if len(names) > 1 or known is None:
                return None
            ends = sorted((known[0] * factor, known[1] * factor))
            low, high = low + ends[0], high + ends[1]
        return low, high


def _need_type(value_type: Type) -> None:
    _need(value_type.dtype in BITS, f"{value_type.dtype} is no type of lanes")
    _need(value_type.lanes > 0 and value_type.rows > 0, f"{value_type} has no lanes")


def _is_constant(constant: Constant) -> bool:
    """Whether lanes hold the number: integers wrap, from both sides of 0."""
    number, bits = constant.number, constant.type.bits
    if constant.type.is_mask:
        return number in (0, 1)
    if not is_integer(constant.type):
        return True
    return isfinite(number) and number == int(number) and -(1 << bits - 1) <= number < 1 << bits
