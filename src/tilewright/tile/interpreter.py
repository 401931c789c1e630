"""NumPy interpreter of tile programs: the oracle, whose bits every rendering has.

A program becomes functions once, a step for every statement, which run on a frame; lanes are NumPy vectors. Every access is
checked against the elements that there are, and lanes that a mask leaves out touch nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InternalError
from tilewright.tile.index import IndexLike, terms_of
from tilewright.tile.lanes import constant, function_of, storage
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
)
from tilewright.tile.register_tiles import sums_of
from tilewright.tile.rounding import Array
from tilewright.tile.types import Type

Integers: TypeAlias = dict[str, int]
Given: TypeAlias = Array | float
Functions: TypeAlias = Mapping[str, Callable[..., None]]
"""What stands for functions of other objects, by symbol: of places (elements from there on), integers and NumPy scalars."""


class _Frame:
    """A call of a program: what its values, integers and buffers are."""

    __slots__ = ("buffers", "integers", "values")

    def __init__(self, values: list[Array], integers: Integers, buffers: dict[str, Array]) -> None:
        self.values, self.integers, self.buffers = values, integers, buffers


Step: TypeAlias = Callable[[_Frame], None]


def interpret(program: TileProgram, *given: Given, fuses: bool = True, functions: Functions | None = None) -> Array | None:
    """Run a program on arrays, which are written to, and numbers, in the order of its parameters; its result, if it has one.

    >>> from tilewright.tile.builder import Builder
    >>> from tilewright.tile.types import vector
    >>> b, t = Builder(), vector("float32", 4)
    >>> x = b.buffer("x", "float32", is_written=True)
    >>> b.store(x, 1, b.load(x, 0, t) + 1.0)
    >>> array = np.zeros(5, np.float32)
    >>> interpret(b.program("step"), array)
    >>> array.tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0]
    """
    return Interpreted(program, fuses=fuses, functions=functions)(*given)


class Interpreted:
    """A program that can be called, any number of times, with arrays, integers and numbers in the order of its parameters."""

    def __init__(self, program: TileProgram, *, fuses: bool = True, functions: Functions | None = None) -> None:
        """`fuses` is the dialect's: whether a `MULTIPLY_ADD` rounds once."""
        self.program, self._fuses, self._functions = program, fuses, functions or {}
        self._first: list[Array] = []
        self._slots: dict[int, int] = {}
        self._tables = {one.name: _own(one) for one in program.tables}
        self._arguments = {one.name: self._slot(one) for one in program.parameters if isinstance(one, Argument)}
        self._body = self._block(program.body)
        self._result = None if program.result is None else self._slot(program.result)

    def __call__(self, *given: Given) -> Array | None:
        """Buffers are contiguous arrays, those of bfloat16 of that type or of its bits."""
        if len(given) != len(self.program.parameters):
            raise InternalError(f"{self.program.name} takes {len(self.program.parameters)} arguments, not {len(given)}")
        frame = _Frame(self._first.copy(), {}, dict(self._tables))
        for parameter, argument in zip(self.program.parameters, given, strict=True):
            if isinstance(parameter, Buffer):
                frame.buffers[parameter.name] = _elements(argument, parameter)
            elif isinstance(parameter, Argument):
                frame.values[self._arguments[parameter.name]] = _lanes(argument, parameter.type)
            else:
                frame.integers[parameter] = int(argument)
        with np.errstate(all="ignore"):
            self._body(frame)
        return None if self._result is None else frame.values[self._result]

    def _slot(self, value: Value) -> int:
        """Where a frame has a value; constants are there from the start."""
        slot = self._slots.get(id(value))
        if slot is None:
            slot = self._slots[id(value)] = len(self._first)
            self._first.append(constant(value.number if isinstance(value, Constant) else 0, value.type))
        return slot

    # Statements.

    def _block(self, block: Block) -> Step:
        steps = [step for one in block if (step := self._statement(one)) is not None]

        def run(frame: _Frame) -> None:
            for step in steps:
                step(frame)

        return run

    def _statement(self, statement: Statement) -> Step | None:
        match statement:
            case Instruction():
                return self._instruction(statement)
            case Define() | Assign():
                return self._move(self._slot(statement.variable), self._slot(statement.value))
            case Store():
                return self._store(statement)
            case Integer():
                return self._integer(statement)
            case For():
                return self._loop(statement)
            case If():
                return self._branch(statement)
            case CallStatement():
                return self._call(statement)
            case Configure():
                return self._configure(statement)
            case OnTile():
                return self._on_tile(statement)
            case Prefetch() | Release():
                return None

    @staticmethod
    def _move(target: int, source: int) -> Step:
        def step(frame: _Frame) -> None:
            frame.values[target] = frame.values[source]

        return step

    def _loop(self, loop: For) -> Step:
        name, start, stop, by, body = (
            loop.name,
            index_function(loop.start),
            index_function(loop.stop),
            loop.step,
            self._block(loop.body),
        )

        def step(frame: _Frame) -> None:
            integers = frame.integers
            for number in range(start(integers), stop(integers), by):
                integers[name] = number
                body(frame)

        return step

    def _branch(self, branch: If) -> Step:
        condition, body, otherwise = index_function(branch.condition), self._block(branch.body), self._block(branch.otherwise)

        def step(frame: _Frame) -> None:
            (body if condition(frame.integers) else otherwise)(frame)

        return step

    def _integer(self, integer: Integer) -> Step:
        name, compute = integer.name, INTEGER_FUNCTIONS[integer.operation]
        operands = [self._integer_operand(one) for one in integer.operands]

        def step(frame: _Frame) -> None:
            frame.integers[name] = compute(*[operand(frame) for operand in operands])

        return step

    def _integer_operand(self, operand: IndexLike | Value | Place) -> Callable[[_Frame], int]:
        if isinstance(operand, Place):
            name, start = operand.buffer, index_function(operand.index)
            return lambda frame: frame.buffers[name].ctypes.data + start(frame.integers) * frame.buffers[name].itemsize
        if isinstance(operand, Value):
            slot = self._slot(operand)
            return lambda frame: int(frame.values[slot][0])
        index = index_function(operand)
        return lambda frame: index(frame.integers)

    def _call(self, call: CallStatement) -> Step:
        if call.symbol not in self._functions:
            raise InternalError(f"{self.program.name} calls {call.symbol}, which nothing stands for")
        function, arguments = self._functions[call.symbol], [self._argument(one, call) for one in call.arguments]

        def step(frame: _Frame) -> None:
            function(*[argument(frame) for argument in arguments])

        return step

    def _argument(self, argument: Place | IndexLike | Value, call: CallStatement) -> Callable[[_Frame], Any]:
        if isinstance(argument, Value):
            slot = self._slot(argument)
            return lambda frame: frame.values[slot][0]
        if not isinstance(argument, Place):
            index = index_function(argument)
            return lambda frame: index(frame.integers)
        name, start = argument.buffer, index_function(argument.index)

        def elements(frame: _Frame) -> Array:
            first, array = start(frame.integers), frame.buffers[name]
            if not 0 <= first <= array.size:
                raise self._outside(call, array, first)
            return array[first:]

        return elements

    # Register tiles.

    def _configure(self, statement: Configure) -> Step:
        tiles = [(self._slot(one), one.type, index_function(rows), index_function(lanes)) for one, rows, lanes in statement.tiles]

        def step(frame: _Frame) -> None:
            for slot, tile, rows, lanes in tiles:
                extents = rows(frame.integers), lanes(frame.integers)
                if not (0 <= extents[0] <= tile.rows and 0 <= extents[1] <= tile.lanes):
                    raise InternalError(f"{self.program.name}: {extents} are no extents of {tile}", dump=printed(self.program))
                frame.values[slot] = np.zeros(extents, storage(tile.dtype))

        return step

    def _on_tile(self, statement: OnTile) -> Step:
        operation, slot = statement.operation, self._slot(statement.tile)
        if statement.place is not None:
            return self._moved_tile(statement, statement.place)
        if operation is TileOperation.ZERO:
            return lambda frame: frame.values.__setitem__(slot, np.zeros_like(frame.values[slot]))
        left, right = map(self._slot, statement.operands)
        add = sums_of(operation, statement.tile.type, statement.operands[0].type)

        def step(frame: _Frame) -> None:
            frame.values[slot] = add(frame.values[left], frame.values[right], frame.values[slot])

        return step

    def _moved_tile(self, statement: OnTile, place: Place) -> Step:
        slot, start, row = self._slot(statement.tile), index_function(place.index), index_function(place.row)
        is_stored = statement.operation is TileOperation.STORE

        def step(frame: _Frame) -> None:
            rows, lanes = frame.values[slot].shape
            array, first = frame.buffers[place.buffer], start(frame.integers)
            places = first + np.arange(rows)[:, None] * row(frame.integers) + np.arange(lanes)
            self._check(statement, array, places)
            if is_stored:
                array[places] = frame.values[slot]
            else:
                frame.values[slot] = array[places]

        return step

    # Memory.

    def _places(self, place: Place, value_type: Type, where: Statement) -> Callable[[_Frame], Array]:
        """The numbers of the elements of all lanes, before anything is checked."""
        start, stride, lanes = index_function(place.index), index_function(place.stride), np.arange(value_type.lanes)

        def places(frame: _Frame) -> Array:
            return start(frame.integers) + lanes * stride(frame.integers)

        return places

    def _store(self, store: Store) -> Step:
        name, source = store.place.buffer, self._slot(store.value)
        if store.mask is None and store.place.stride == 1:
            return self._store_of_consecutive(store)
        places = self._places(store.place, store.value.type, store)
        mask = None if store.mask is None else self._slot(store.mask)

        def step(frame: _Frame) -> None:
            to, array, lanes = places(frame), frame.buffers[name], frame.values[source]
            if mask is not None:
                to, lanes = to[frame.values[mask]], lanes[frame.values[mask]]
            self._check(store, array, to)
            array[to] = lanes

        return step

    def _store_of_consecutive(self, store: Store) -> Step:
        name, source, start, lanes = (
            store.place.buffer,
            self._slot(store.value),
            index_function(store.place.index),
            store.value.type.lanes,
        )

        def step(frame: _Frame) -> None:
            first, array = start(frame.integers), frame.buffers[name]
            if first < 0 or first + lanes > array.size:
                raise self._outside(store, array, first)
            array[first : first + lanes] = frame.values[source]

        return step

    def _check(self, where: Statement, array: Array, places: Array) -> None:
        if places.size and (places.min() < 0 or places.max() >= array.size):
            raise self._outside(where, array, int(places.min()), int(places.max()))

    def _outside(self, where: Statement, array: Array, *places: int) -> InternalError:
        at = " to ".join(map(str, places))
        what = f"{self.program.name}: {printed_statement(where)} is at {at}, outside of {array.size} elements"
        return InternalError(what, dump=printed(self.program))

    # Instructions.

    def _instruction(self, made: Instruction) -> Step:
        match made.operation:
            case Operation.LOAD:
                return self._load(made)
            case Operation.BROADCAST:
                return self._broadcast(made)
            case Operation.GATHER:
                return self._gather(made)
            case Operation.CALL | Operation.PER_LANE:
                return self._nested(made)
            case Operation.INDEX | Operation.PREFIX:
                return self._of_index(made)
        return self._of_values(made)

    def _load(self, load: Instruction) -> Step:
        place, slot = load.detail, self._slot(load)
        assert isinstance(place, Place)
        elements = self._elements_of_lane(load, place)
        if not load.operands and place.stride == 1:
            kind = storage(load.type.dtype)
            made = (lambda found: found) if elements == 1 else (lambda found: found.view(kind))
            return self._load_of_consecutive(load, place, load.type.lanes * elements, made)
        if elements > 1:
            return self._load_some_wide_lanes(load, place, elements)
        places, name, empty = self._places(place, load.type, load), place.buffer, constant(0, load.type)
        mask = self._slot(load.operands[0]) if load.operands else None

        def step(frame: _Frame) -> None:
            of, array = places(frame), frame.buffers[name]
            if mask is None:
                self._check(load, array, of)
                frame.values[slot] = array[of]
            else:
                self._check(load, array, of[frame.values[mask]])
                found = empty.copy()
                found[frame.values[mask]] = array[of[frame.values[mask]]]
                frame.values[slot] = found

        return step

    def _load_some_wide_lanes(self, load: Instruction, place: Place, elements: int) -> Step:
        slot, mask, name, start = self._slot(load), self._slot(load.operands[0]), place.buffer, index_function(place.index)
        offsets, kind = np.arange(load.type.lanes * elements), storage(load.type.dtype)

        def step(frame: _Frame) -> None:
            array = frame.buffers[name]
            chosen = frame.values[mask].repeat(elements)
            of = start(frame.integers) + offsets
            self._check(load, array, of[chosen])
            found = np.zeros(of.size, array.dtype)
            found[chosen] = array[of[chosen]]
            frame.values[slot] = found.view(kind)

        return step

    def _elements_of_lane(self, made: Instruction, place: Place) -> int:
        return storage(made.type.dtype).itemsize // storage(self.program.buffers()[place.buffer].dtype).itemsize

    def _load_of_consecutive(self, load: Instruction, place: Place, count: int, made: Callable[[Array], Array]) -> Step:
        name, start, slot = place.buffer, index_function(place.index), self._slot(load)

        def step(frame: _Frame) -> None:
            first, array = start(frame.integers), frame.buffers[name]
            if first < 0 or first + count > array.size:
                raise self._outside(load, array, first)
            frame.values[slot] = made(array[first : first + count].copy())

        return step

    def _broadcast(self, broadcast: Instruction) -> Step:
        place, lanes, kind = broadcast.detail, broadcast.type.lanes, storage(broadcast.type.dtype)
        assert isinstance(place, Place)
        count = self._elements_of_lane(broadcast, place)
        return self._load_of_consecutive(broadcast, place, count, lambda found: found.view(kind).repeat(lanes))

    def _gather(self, gather: Instruction) -> Step:
        place, slot, positions = gather.detail, self._slot(gather), self._slot(gather.operands[0])
        assert isinstance(place, Place)
        name, start, empty = place.buffer, index_function(place.index), constant(0, gather.type)
        mask = self._slot(gather.operands[1]) if len(gather.operands) > 1 else None

        def step(frame: _Frame) -> None:
            lanes = slice(None) if mask is None else frame.values[mask]
            array, of = frame.buffers[name], frame.values[positions][lanes].astype(np.int64) + start(frame.integers)
            self._check(gather, array, of)
            found = empty.copy()
            found[lanes] = array[of]
            frame.values[slot] = found

        return step

    def _of_index(self, made: Instruction) -> Step:
        index, slot, lanes = index_function(made.detail), self._slot(made), np.arange(made.type.lanes)

        def prefix(frame: _Frame) -> None:
            frame.values[slot] = lanes < index(frame.integers)

        def value(frame: _Frame) -> None:
            frame.values[slot] = np.array([index(frame.integers)], np.int64)

        return prefix if made.operation is Operation.PREFIX else value

    def _nested(self, made: Instruction) -> Step:
        assert isinstance(made.detail, TileProgram)
        function = Interpreted(made.detail, fuses=self._fuses, functions=self._functions)
        slot, operands = self._slot(made), [self._slot(one) for one in made.operands]

        def call(frame: _Frame) -> None:
            frame.values[slot] = function(*[frame.values[one] for one in operands])  # type: ignore[assignment]

        def per_lane(frame: _Frame) -> None:
            *arguments, otherwise, mask = [frame.values[one] for one in operands]
            found = otherwise.copy()
            for lane in np.flatnonzero(mask):
                found[lane : lane + 1] = function(*[one[lane : lane + 1] for one in arguments])
            frame.values[slot] = found

        return call if made.operation is Operation.CALL else per_lane

    def _of_values(self, made: Instruction) -> Step:
        """What depends on nothing but its operands."""
        slot, function, operands = self._slot(made), self._function(made), [self._slot(one) for one in made.operands]

        def of_one(frame: _Frame) -> None:
            values = frame.values
            values[slot] = function(values[first])

        def of_two(frame: _Frame) -> None:
            values = frame.values
            values[slot] = function(values[first], values[second])

        def of_any(frame: _Frame) -> None:
            values = frame.values
            values[slot] = function(*[values[one] for one in operands])

        first, second = (*operands, -1, -1)[:2]
        return {1: of_one, 2: of_two}.get(len(operands), of_any)

    def _function(self, made: Instruction) -> Callable[..., Array]:
        kind, lanes, detail = storage(made.type.dtype), made.type.lanes, made.detail
        match made.operation:
            case Operation.SPLAT:
                return lambda x: x.repeat(lanes)
            case Operation.IOTA:
                numbers = np.arange(lanes).astype(kind)
                return lambda: numbers
            case Operation.BITCAST:
                return _bitcast(storage(f"int{made.operands[0].type.bits}"), kind)
            case Operation.SHUFFLE:
                assert isinstance(detail, tuple)
                return _shuffle(detail, kind)
            case Operation.SCALE if detail is not None:
                return _scale_near
            case Operation.REDUCE:
                assert isinstance(detail, Operation)
                return _reduction(function_of(detail, made.type, (made.type, made.type), fuses=self._fuses))
        return function_of(made.operation, made.type, tuple([one.type for one in made.operands]), fuses=self._fuses)


def _scale_near(x: Array, power: Array) -> Array:
    """By two powers of two, if these do what was promised."""
    half = np.floor(power / 2)
    with_half = np.ldexp(x, np.nan_to_num(half).astype(np.int32))
    size, least = np.abs(with_half), np.finfo(x.dtype).smallest_normal
    is_easy = ~np.isfinite(x) | (x == 0) | (power == 0) | np.isnan(power)
    kept = ((size >= least) & (power == np.floor(power)) & np.isfinite(size)) | is_easy
    if not kept.all():
        raise InternalError(f"{x[~kept][0]} * 2**{power[~kept][0]} is not what was promised")
    return np.where(np.isnan(power), power, np.ldexp(x, np.nan_to_num(power).astype(np.int32)))


def _bitcast(of: np.dtype[Any], to: np.dtype[Any]) -> Callable[[Array], Array]:
    """Masks are -1 and 0 of signed integers of as many bits."""

    def bitcast(x: Array) -> Array:
        x = -x.astype(of) if x.dtype.kind == "b" else x
        if to.kind != "b":
            return x.view(to)
        whole = x.view(of)
        if not ((whole == 0) | (whole == -1)).all():
            raise InternalError(f"{whole} is no mask")
        return np.asarray(whole != 0)

    return bitcast


def _shuffle(lanes: tuple[int, ...], kind: np.dtype[Any]) -> Callable[..., Array]:
    """A zero stands behind the operands: the lane of number -1."""
    numbers, zero = np.array(lanes), np.zeros(1, kind)
    return lambda *operands: np.concatenate([*operands, zero])[numbers]


def _reduction(function: Callable[..., Array]) -> Callable[[Array], Array]:
    def reduce(x: Array) -> Array:
        while x.size > 1:
            x = function(x[: x.size // 2], x[x.size // 2 :])
        return x

    return reduce


def _own(memory: Buffer) -> Array:
    """A table, or scratch memory with what nobody should read."""
    kind = storage(memory.dtype)
    if memory.values is not None:
        return np.array(memory.values, kind)
    assert isinstance(memory.elements, int)
    return np.full(memory.elements * kind.itemsize, 0xA5, np.uint8).view(kind)


def _elements(given: Given, buffer: Buffer) -> Array:
    """The memory of an array, as the program has its elements."""
    kind = storage(buffer.dtype)
    if not isinstance(given, np.ndarray) or not given.flags.c_contiguous or given.dtype.itemsize != kind.itemsize:
        raise InternalError(f"the buffer {buffer.name} is given {given!r}: no contiguous array of {buffer.dtype}")
    return given.reshape(-1).view(kind)


def _lanes(given: Given, value_type: Type) -> Array:
    return given.view(storage(value_type.dtype)) if isinstance(given, np.ndarray) else constant(given, value_type)


@cache
def index_function(index: IndexLike) -> Callable[[Integers], int]:
    """What computes a polynomial from the integers of a frame.

    >>> from tilewright.tile.index import named
    >>> index_function(named("i") * 4 + 3)({"i": 2})
    11
    """
    terms = ["*".join([str(factor), *(f"n[{name!r}]" for name in names)]) for names, factor in terms_of(index)]
    function: Callable[[Integers], int] = eval(f"lambda n: {' + '.join(terms) or 0}")
    return function


INTEGER_FUNCTIONS: Mapping[IntegerOperation, Callable[..., int]] = {
    IntegerOperation.MINIMUM: min,
    IntegerOperation.MAXIMUM: max,
    IntegerOperation.FLOOR_DIVIDE: lambda left, right: left // right,
    IntegerOperation.REMAINDER: lambda left, right: left % right,
    IntegerOperation.LESS: lambda left, right: int(left < right),
    IntegerOperation.EQUAL: lambda left, right: int(left == right),
    IntegerOperation.BOTH: lambda left, right: int(bool(left) and bool(right)),
    IntegerOperation.EITHER: lambda left, right: int(bool(left) or bool(right)),
    IntegerOperation.CHOOSE: lambda condition, yes, no: yes if condition else no,
    IntegerOperation.VALUE: int,
    IntegerOperation.ADDRESS: int,
    IntegerOperation.OPAQUE: int,
}
