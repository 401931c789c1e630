"""Random tile programs: graphs of all operations and types, with loops, last parts under masks, conditions and state.

Each access has an array of its own, which it fills from end to end. What an operation leaves open is never seen: shifts are by
counts below the bits of a lane, NaN is replaced before its bits are looked at, and what becomes a uint64 is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from math import inf, nan
from random import Random
from typing import Any

import numpy as np

from tests.support.tiles import Case
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.lanes import storage
from tilewright.tile.operand_types import is_integer, is_number
from tilewright.tile.operations import COMPARISONS, IntegerOperation, Operation
from tilewright.tile.program import Buffer, Instruction, TileProgram, Value, Variable
from tilewright.tile.rounding import Array, from_bfloat16, to_bfloat16
from tilewright.tile.types import Type, vector

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
ELEMENTS = (*INTEGERS, *FLOATS, "float32", "float64", "int32")
SPECIAL = (0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, 1.5, -2.5, 3.0, 1e-45, -1e-40, 3e-39, 3.4e38, 127.5, 65504.0, -1e10, 5e-324)
TABLE = 64
"""Elements of arrays that are gathered from: positions are the lowest bits of any integers."""
LANES = (1, 2, 4, 8, 8, 16, 16, 32)
RECENT = 10
"""Of the values that there are, those of which most operands are."""
ANY_NUMBER = (Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.SMALLER, Operation.LARGER)
ONE_NUMBER = (Operation.NEGATE, Operation.ABSOLUTE)
THREE_NUMBERS = (Operation.FMA, Operation.MULTIPLY_ADD)
ONE_FLOAT = (
    *(Operation.SQUARE_ROOT, Operation.FLOOR, Operation.CEIL, Operation.TRUNCATE, Operation.ROUND),
    *(Operation.EXPONENT, Operation.MANTISSA, Operation.FRACTION),
)
TWO_INTEGERS = (Operation.QUOTIENT, Operation.REMAINDER, Operation.HIGH_HALF, Operation.AND, Operation.OR, Operation.XOR)
OF_OTHERS = (IntegerOperation.CHOOSE, IntegerOperation.VALUE, IntegerOperation.ADDRESS, IntegerOperation.OPAQUE)
OF_TWO_INDICES = [one for one in IntegerOperation if one not in OF_OTHERS]


def case(seed: int, name: str = "tile", *, stores_all: bool = False) -> Case:
    """A program, and arguments for it. With `stores_all` all of its values are stored: the first that differs is wrong."""
    growing = _Growing(Random(seed), stores_all=stores_all)
    return Case(growing.program(name), tuple(growing.arguments), seed)


def register_case(seed: int, name: str, vector_bits: int) -> Case:
    """A program of whole registers, of elements side by side: most of them are assembled."""
    growing = _OfRegisters(Random(seed), vector_bits)
    return Case(growing.program(name), tuple(growing.arguments), seed)


def numbers(data: np.random.Generator, dtype: str, count: int) -> Array:
    """Elements: of any bits, small numbers, and special ones."""
    kind, bits = storage(dtype), storage(dtype).itemsize * 8
    of_bits = data.integers(0, (1 << bits) - 1, count, f"uint{bits}", endpoint=True).view(kind)
    small = data.integers(-40, 40, count)
    if dtype in FLOATS:
        near, special = small / data.choice((1, 1, 7), count), data.choice(SPECIAL, count)
        if dtype == "bfloat16":
            near, special = to_bfloat16(near), to_bfloat16(special)
    else:
        limits = np.iinfo(dtype)
        near = np.abs(small) if limits.min == 0 else small
        special = data.choice(np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype), count)
    with np.errstate(all="ignore"):
        return np.choose(data.integers(0, 4, count), [of_bits, near.astype(kind), near.astype(kind), special.astype(kind)])


def _used(values: list[Value]) -> set[int]:
    """The identities of all that values are made of."""
    found: set[int] = set()
    rest = list(values)
    while rest:
        one = rest.pop()
        new = [operand for operand in one.operands if id(operand) not in found] if isinstance(one, Instruction) else []
        found.update(map(id, new))
        rest += new
    return found


class _Growing:
    """A program that grows by random instructions: sections of vectors of as many lanes."""

    def __init__(self, random: Random, *, stores_all: bool) -> None:
        self.random, self.stores_all = random, stores_all
        self.data = np.random.default_rng(random.randrange(1 << 30))
        self.b = Builder()
        self.lanes = random.choice(LANES)
        self.strides: tuple[int, ...] = (1, 1, 1, 1, 2, 3, 4, 5, -1)
        self.growers: tuple[Callable[[Any], Value | None], ...] = GROWERS
        self.weights: tuple[int, ...] = WEIGHTS
        self.dtypes = random.sample(ELEMENTS, random.choice((1, 2, 2, 3, 4)))
        self.arguments: list[Array | int] = []
        self.values: list[Value] = []
        self.masks: list[Value] = []
        self.variables: list[Variable] = []
        self.index: IndexLike = 0
        self.trips = 1
        self.prefix: IndexLike | None = None

    def program(self, name: str) -> TileProgram:
        """Some sections, and what variables are behind them."""
        for _ in range(self.random.randrange(3)):
            self._argument()
        for _ in range(self.random.randrange(3)):
            self.variables.append(self.b.variable(self._constant(self._type())))
        for _ in range(self.random.choice((1, 1, 1, 2))):
            self._section()
        for variable in self.variables:
            self._stored(variable)
        return self.b.program(name)

    def _integer(self, number: int) -> IndexLike:
        """A constant, or a parameter that has this value."""
        if self.random.random() < 0.5:
            return number
        self.arguments.append(number)
        return self.b.integer(f"n{len(self.arguments)}")

    def _distance(self, stride: int) -> IndexLike:
        return self._integer(stride)

    def _argument(self) -> None:
        dtype = self.random.choice([one for one in self.dtypes if one not in ("float16", "bfloat16")] or ["float32"])
        self.arguments.append(numbers(self.data, dtype, 1))
        argument = self.b.argument(f"a{len(self.arguments)}", vector(dtype))
        self.values.append(self.b.splat(argument, self.lanes))

    def _buffer(self, dtype: str, count: int, *, is_written: bool = False) -> Buffer:
        self.arguments.append(numbers(self.data, dtype, count))
        known = count if self.random.random() < 0.5 else None
        return self.b.buffer(f"x{len(self.arguments)}", dtype, is_written=is_written, elements=known)

    def _section(self) -> None:
        """A loop over whole vectors, or one vector, of which perhaps only the first lanes are there."""
        before = len(self.values), len(self.masks)
        with ExitStack() as stack:
            if self.random.random() < 0.6:
                self.trips = self.random.randrange(1, 4)
                self.index = stack.enter_context(self.b.loop("i", 0, self._integer(self.trips * self.lanes), self.lanes))
            elif self.random.random() < 0.6:
                self.present = self.random.randrange(self.lanes + 1)
                self.prefix = self._integer(self.present)
            self._grow(self.random.choice((2, 4, 6, 9, 14)))
        del self.values[before[0] :], self.masks[before[1] :]
        self.index, self.trips, self.prefix = 0, 1, None

    def _grow(self, size: int) -> None:
        """Random instructions, and stores of all that nothing else is made of: an array shows what each of them gives."""
        first, first_mask = len(self.values), len(self.masks)
        for _ in range(self.random.randrange(1, 4)):
            self.values.append(self._loaded())
        for _ in range(size):
            made = self.random.choices(self.growers, self.weights)[0](self)
            if made is not None:
                (self.masks if made.type.is_mask else self.values).append(made)
                if self.stores_all and not made.type.is_mask:
                    self._stored(made)
        used = _used([*self.values[first:], *self.masks[first_mask:]])
        for mask in [one for one in self.masks[first_mask:] if id(one) not in used]:
            self._stored(self.b.select(mask, self.b.constant(1, mask.type.of(f"int{mask.type.bits}")), 0))
        for value in [one for one in self.values[first:] if id(one) not in used]:
            self._stored(value)

    # Operands.

    def _type(self, accepts: Callable[[Type], bool] = lambda _: True) -> Type:
        return vector(self.random.choice([one for one in self.dtypes if accepts(vector(one))] or ["float32"]), self.lanes)

    def _constant(self, value_type: Type) -> Value:
        number = numbers(self.data, value_type.dtype, 1)
        return self.b.constant((from_bfloat16(number) if value_type.dtype == "bfloat16" else number).item(), value_type)

    def _value(self, accepts: Callable[[Type], bool] = lambda _: True) -> Value | None:
        """One of those that there are, mostly of the last ones."""
        fit = [one for one in (*self.values, *self.variables) if accepts(one.type)]
        return self.random.choice(fit[-RECENT:] if self.random.random() < 0.8 else fit) if fit else None

    def _like(self, value_type: Type) -> Value:
        """A value of a type: one that there is, or a constant, or one of another type converted."""
        found = self._value(lambda one: one == value_type)
        if found is not None and self.random.random() < 0.85:
            return found
        other = self._value(is_number)
        if other is None or self.random.random() < 0.6:
            return self._constant(value_type)
        return self._converted(other, value_type.dtype)

    def _converted(self, value: Value, dtype: str) -> Value:
        if dtype == "uint64" and value.type.is_float:
            value = self.b.cast(value, "float32")
            value = self.b.apply(Operation.SMALLER, self.b.apply(Operation.LARGER, value, 0.0), 1e9)
        return self.b.cast(value, dtype)

    def _mask(self, value_type: Type) -> Value:
        """A mask for values of a type."""
        if not self.masks:
            return self.b.prefix(self._integer(self.random.randrange(self.lanes + 1)), value_type)
        return self.b.cast(self.random.choice(self.masks[-RECENT:]), value_type.mask.dtype)

    def _without_nan(self, value: Value) -> Value:
        return self.b.select(value.equals(value), value, 1.0) if value.type.is_float else value

    # Growers: each makes a value, or none where there are no operands for it.

    def _loaded(self) -> Value:
        """Lanes at a stride; those of a last part under its mask."""
        wanted, stride = self._type(), self.random.choice(self.strides)
        mask = self._mask_of_access(wanted)
        buffer, index = self._room(wanted.dtype, stride)
        return self.b.load(buffer, index, wanted, mask, self._distance(stride))

    def _mask_of_access(self, value_type: Type) -> Value | None:
        if self.prefix is not None:
            return self.b.prefix(self.prefix, value_type)
        return self._mask(value_type) if self.random.random() < 0.15 else None

    def _room(self, dtype: str, stride: int, *, is_written: bool = False) -> tuple[Buffer, IndexLike]:
        """An array for all lanes of a section, and the place of the first one of a trip."""
        count = self.present if self.prefix is not None else self.trips * self.lanes
        buffer = self._buffer(dtype, max(count - 1, 0) * abs(stride) + (count > 0), is_written=is_written)
        return buffer, self.index * stride + (0 if stride > 0 else max(count - 1, 0) * -stride)

    def _broadcast(self) -> Value | None:
        wanted = self._type()
        narrow = self.random.choice(["uint8", "int8"] if wanted.bits == 32 and is_integer(wanted) else [wanted.dtype])
        count = wanted.bits // vector(narrow).bits
        buffer = self._buffer(narrow, (self.trips - 1) * self.lanes + count)
        return self.b.broadcast(buffer, self.index, wanted)

    def _gathered(self) -> Value | None:
        positions = self._value(lambda one: is_integer(one) and one.bits >= 32)
        if positions is None:
            return None
        wanted, inside = self._type(), positions & (TABLE - 1)
        buffer = self._buffer(wanted.dtype, TABLE)
        if self.random.random() < 0.5:
            return self.b.gather(buffer, 0, inside)
        mask = self._mask(wanted)
        return self.b.gather(buffer, 0, self.b.select(self.b.cast(mask, positions.type.mask.dtype), inside, positions), mask)

    def _arithmetic(self) -> Value:
        wanted = self._type(is_number)
        operation = self.random.choice((*ANY_NUMBER, *ANY_NUMBER, *ONE_NUMBER, *THREE_NUMBERS, *THREE_NUMBERS))
        count = 1 if operation in ONE_NUMBER else 3 if operation in THREE_NUMBERS else 2
        return self.b.apply(operation, *self._operands(wanted, count))

    def _operands(self, wanted: Type, count: int) -> list[Value]:
        return [self._like(wanted) for _ in range(count)]

    def _of_floats(self) -> Value | None:
        wanted = self._type(lambda one: one.is_float and is_number(one))
        if self.random.random() < 0.3:
            return self.b.apply(Operation.DIVIDE, *self._operands(wanted, 2))
        if self.random.random() < 0.2:
            clamped = self.b.apply(Operation.SMALLER, self.b.apply(Operation.LARGER, self._like(wanted), -1200.0), 1200.0)
            if wanted.dtype != "float16":
                clamped = self.b.apply(Operation.MULTIPLY, clamped, self.random.choice((1.0, 0.1)))
            return self.b.apply(Operation.SCALE, self._like(wanted), clamped)
        if self.random.random() < 0.1:
            number = self.b.apply(Operation.SMALLER, 60000.0, self.b.apply(Operation.LARGER, 1e-7, self._like(wanted)))
            positive = self.b.select(number.equals(number), number, 1.0)
            return self.b.apply(self.random.choice((Operation.CENTRED_EXPONENT, Operation.CENTRED_MANTISSA)), positive)
        return self.b.apply(self.random.choice(ONE_FLOAT), self._like(wanted))

    def _of_integers(self) -> Value | None:
        wanted = self._type(is_integer)
        if not is_integer(wanted):
            wanted = wanted.of("int32")
        left, right = self._operands(wanted, 2)
        if self.random.random() < 0.3:
            count = right & (wanted.bits - 1) if self.random.random() < 0.4 else self.random.randrange(wanted.bits)
            return self.b.apply(self.random.choice((Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT)), left, count)
        two = (*TWO_INTEGERS, *([Operation.WITH_SIGN] if wanted.is_signed else []))
        return ~left if self.random.random() < 0.1 else self.b.apply(self.random.choice(two), left, right)

    def _compared(self) -> Value | None:
        wanted = self._type(is_number)
        return self.b.compare(self.random.choice(sorted(COMPARISONS)), *self._operands(wanted, 2))

    def _of_masks(self) -> Value | None:
        wanted = self._type()
        left, right = self._mask(wanted), self._mask(wanted)
        return (
            ~left
            if self.random.random() < 0.2
            else self.b.apply(self.random.choice((Operation.AND, Operation.OR, Operation.XOR)), left, right)
        )

    def _selected(self) -> Value | None:
        wanted = self._type()
        return self.b.instruction(Operation.SELECT, wanted, (self._mask(wanted), *self._operands(wanted, 2)))

    def _cast(self) -> Value | None:
        value = self._value()
        return None if value is None else self._converted(value, self._type().dtype)

    def _saturated(self) -> Value | None:
        value, wanted = self._value(), self._type(is_integer)
        return None if value is None or not is_integer(wanted) else self.b.saturate(value, wanted.dtype)

    def _bits(self) -> Value | None:
        """As another type of as many bits, or as more or fewer lanes of which each is changed."""
        value = self._value(is_number)
        if value is None:
            return None
        value = self._without_nan(value)
        dtype = self.random.choice([one for one in (*INTEGERS, *FLOATS) if vector(one).bits <= value.type.size_bits])
        other = vector(dtype, value.type.size_bits // vector(dtype).bits)
        seen = self.b.bitcast(value, other)
        if other.lanes == self.lanes:
            return seen
        changed = self.b.bitcast(seen, other.integer) ^ 1
        return self.b.bitcast(changed, value.type.integer)

    def _dots(self) -> Value | None:
        """Products of the bits of lanes as narrower ones."""
        sums = self.random.choice(("int32", "int32", "float32"))
        left, right, total = (self._bits_of("int32") for _ in range(3))
        narrow = self.random.choice((("int8", "uint8"), ("int16",), ("uint16", "int16"))) if sums == "int32" else ("bfloat16",)
        pair = [
            self.b.bitcast(one, vector(dtype := self.random.choice(narrow), one.type.size_bits // vector(dtype).bits))
            for one in (left, right)
        ]
        return self.b.dot(pair[0], pair[1], total if sums == "int32" else self._like(vector(sums, self.lanes)))

    def _bits_of(self, dtype: str) -> Value:
        return self._without_nan(self._like(vector(dtype, self.lanes)))

    def _pairs(self) -> Value | None:
        left, right = (self._bits_of("int16") for _ in range(2))
        narrow = [self.b.bitcast(one, vector(dtype, 2 * self.lanes)) for one, dtype in ((left, "uint8"), (right, "int8"))]
        return self.b.instruction(Operation.PAIRS, vector("int16", self.lanes), tuple(narrow))

    def _shuffled(self) -> Value | None:
        value = self._value()
        if value is None:
            return None
        operands = [value, *(self._like(value.type) for _ in range(self.random.randrange(2)))]
        count = self.lanes * len(operands)
        step, first = self.random.choice((1, 2, -1, 3)), self.random.randrange(count)
        regular = [(first + step * lane) % count for lane in range(self.lanes)]
        kinds = (regular, [self.random.randrange(-1, count) for _ in range(self.lanes)])
        return self.b.shuffle(operands, self.random.choice(kinds))

    def _reduced(self) -> Value | None:
        value = self._value(is_number)
        if value is None:
            return None
        operations = [Operation.ADD, Operation.SMALLER, Operation.LARGER, Operation.MULTIPLY]
        operations += [Operation.AND, Operation.OR, Operation.XOR] if is_integer(value.type) else []
        return self.b.splat(self.b.reduce(self.random.choice(operations), value), self.lanes)

    def _counted(self) -> Value | None:
        if self.random.random() < 0.5:
            return self.b.iota(self._type(is_number))
        return self.b.splat(self.b.index_value(self._index()), self.lanes)

    def _index(self) -> IndexLike:
        """An integer of integers, or of whether any lane of a mask is set."""
        left, right = self.index * 2 - 3, self._integer(self.random.randrange(1, 9))
        if self.masks and self.random.random() < 0.4:
            left = self.b.define(IntegerOperation.VALUE, self._any(self.random.choice(self.masks)))
        if self.random.random() < 0.2:
            return self.b.define(IntegerOperation.CHOOSE, left, right, self.index)
        return self.b.define(self.random.choice(OF_TWO_INDICES), left, right)

    def _any(self, mask: Value) -> Value:
        return self.b.instruction(Operation.ANY, vector("int32"), (mask,))

    def _called(self) -> Value | None:
        """A program of values, or one of scalars for lanes that a mask has."""
        value = self._value(is_number)
        if value is None:
            return None
        per_lane, inner = self.random.random() < 0.5, Builder()
        argument = inner.argument("x", value.type.scalar if per_lane else value.type)
        result: Value = argument
        for _ in range(self.random.randrange(1, 4)):
            result = inner.apply(self.random.choice(ANY_NUMBER), *self.random.sample((result, argument), 2))
        program = inner.program(f"inner{self.random.randrange(1 << 30)}", result)
        if per_lane:
            return self.b.per_lane(program, [value], self._like(value.type), self._mask(value.type))
        return self.b.instruction(Operation.CALL, value.type, (value,), program)

    def _assigned(self) -> Value | None:
        """State changes, perhaps on a condition."""
        if not self.variables:
            return None
        variable = self.random.choice(self.variables)
        if self.random.random() < 0.5:
            self.b.assign(variable, self._like(variable.type))
            return None
        with self.b.when(self._index()):
            self._change(variable)
        if self.random.random() < 0.5:
            with self.b.otherwise():
                self._change(variable)
        return None

    def _change(self, variable: Variable) -> None:
        made = self._arithmetic()
        self.values.append(made)
        self.b.assign(variable, self._like(variable.type))
        self.values.remove(made)

    def _stored(self, value: Value) -> None:
        """Lanes go to an array of their own."""
        stride = self.random.choice(self.strides)
        mask = self._mask_of_access(value.type)
        buffer, index = self._room(value.type.dtype, stride, is_written=True)
        streams = mask is None and stride == 1 and self.random.random() < 0.1
        self.b.store(buffer, index, value, mask, stride if streams else self._distance(stride), is_streamed=streams)
        if self.random.random() < 0.05:
            self.b.prefetch(buffer, self.index + 12345)


GROWERS: tuple[Callable[[_Growing], Value | None], ...] = (
    _Growing._arithmetic,
    _Growing._of_floats,
    _Growing._of_integers,
    _Growing._compared,
    _Growing._of_masks,
    _Growing._selected,
    _Growing._cast,
    _Growing._saturated,
    _Growing._bits,
    _Growing._dots,
    _Growing._pairs,
    _Growing._shuffled,
    _Growing._reduced,
    _Growing._counted,
    _Growing._called,
    _Growing._assigned,
    _Growing._loaded,
    _Growing._broadcast,
    _Growing._gathered,
)
WEIGHTS = (12, 5, 5, 3, 2, 3, 4, 2, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1)


class _OfRegisters(_Growing):
    """Of what assembly takes: lanes of 32 or 64 bits in one or two registers, and operations that are instructions."""

    def __init__(self, random: Random, vector_bits: int) -> None:
        super().__init__(random, stores_all=False)
        bits = random.choice((32, 32, 64))
        self.lanes, self.strides = vector_bits // bits * random.choice((1, 1, 2)), (1,)
        kinds = [one for one in set(ELEMENTS) if vector(one).bits == bits]
        self.dtypes = random.sample(sorted(kinds), random.choice((1, 2)))
        taken = {**OF_REGISTERS, **(WITH_MASKS if vector_bits == 512 else {})}
        self.growers, self.weights = tuple(taken), tuple(taken.values())

    def _argument(self) -> None:
        """Programs that take scalars are not assembled."""

    def _distance(self, stride: int) -> IndexLike:
        return stride

    def _of_floats(self) -> Value | None:
        wanted = self._type(lambda one: one.is_float)
        if wanted.dtype not in self.dtypes:
            return None
        return self.b.apply(self.random.choice((Operation.SQUARE_ROOT, Operation.FLOOR, Operation.ROUND)), self._like(wanted))


OF_REGISTERS: Mapping[Callable[[_OfRegisters], Value | None], int] = {
    _OfRegisters._arithmetic: 8,
    _OfRegisters._of_floats: 1,
    _OfRegisters._assigned: 2,
    _OfRegisters._loaded: 2,
    _OfRegisters._broadcast: 2,
}
WITH_MASKS: Mapping[Callable[[_OfRegisters], Value | None], int] = {_OfRegisters._compared: 2, _OfRegisters._selected: 3}
"""Where masks have registers of their own."""
