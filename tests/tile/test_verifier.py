"""What the verifier of tile programs refuses, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.errors import InternalError
from tilewright.tile.builder import Builder
from tilewright.tile.index import named
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Assign, Buffer, Place, Value, Variable
from tilewright.tile.types import Type, vector
from tilewright.tile.verifier import verify

T = vector("float32", 4)


class _Programs:
    """Wrong programs: each method builds one; its docstring is the end of the message."""

    def __init__(self) -> None:
        self.b = Builder()
        self.x, self.y = self.b.buffer("x", "float32", elements=8), self.b.buffer("y", "float32", is_written=True)
        self.bytes = self.b.buffer("bytes", "uint8")
        self.value = self.b.load(self.x, 0, T)
        self.whole = self.b.cast(self.value, "int32")

    def make(self, operation: Operation, result: Type, *operands: Value, detail: object = None) -> None:
        self.b.instruction(operation, result, operands, detail)  # type: ignore[arg-type]

    def lanes(self) -> None:
        """v2 = add v0, v1: float32x4: operand 1 is int32x4, not float32x4"""
        self.make(Operation.ADD, T, self.value, self.whole)

    def bits_of_floats(self) -> None:
        """and does not give float32x4"""
        self.make(Operation.AND, T, self.value, self.value)

    def shift(self) -> None:
        """lanes of 32 bits are shifted by 32"""
        self.b.apply(Operation.SHIFT_LEFT, self.whole, 32)

    def mask(self) -> None:
        """operand 0 is mask64x4, not mask32x4"""
        self.b.select(self.b.cast(self.value < 0.0, "mask64"), self.value, self.value)

    def comparison(self) -> None:
        """it gives mask32x4, not mask8x4"""
        self.make(Operation.LESS, vector("mask8", 4), self.value, self.value)

    def bfloat16(self) -> None:
        """add does not give bfloat16x4"""
        half = self.b.cast(self.value, "bfloat16")
        self.make(Operation.ADD, half.type, half, half)

    def cast(self) -> None:
        """mask32x4 does not become float32x4"""
        self.b.cast(self.value < 0.0, "float32")

    def bitcast(self) -> None:
        """the bits of float32x4 are not float64x4"""
        self.b.bitcast(self.value, vector("float64", 4))

    def dot(self) -> None:
        """float32x4 and int32x4 are not multiplied into int32x4"""
        self.b.dot(self.value, self.whole, self.whole)

    def shuffle(self) -> None:
        """there is no lane 4 of 4"""
        self.b.shuffle([self.value], [0, 4])

    def reduce(self) -> None:
        """3 lanes have no halves"""
        self.b.reduce(Operation.ADD, self.b.shuffle([self.value], [0, 1, 2]))

    def reduced(self) -> None:
        """divide does not reduce float32x4"""
        self.b.reduce(Operation.DIVIDE, self.value)

    def constant(self) -> None:
        """300 is no constant of uint8x4"""
        self.b.apply(Operation.ADD, self.b.cast(self.whole, "uint8"), 300)

    def splat(self) -> None:
        """operand 0 is float32x4, not float32x1"""
        self.b.splat(self.value, 4)

    def tile(self) -> None:
        """add is of no register tile"""
        self.make(Operation.ADD, Type("float32", 4, 4), self.value, self.value)

    def no_type(self) -> None:
        """float8 is no type of lanes"""
        self.b.cast(self.value, "float8")

    def read(self) -> None:
        """there is no buffer z"""
        self.b.load(Buffer("z", "float32"), 0, T)

    def element_type(self) -> None:
        """bytes is of uint8"""
        self.b.load(self.bytes, 0, T)

    def broadcast(self) -> None:
        """bytes is of uint8"""
        self.b.broadcast(self.bytes, 0, vector("int8", 4))

    def positions(self) -> None:
        """positions are integers"""
        self.b.gather(self.x, 0, self.value)

    def written(self) -> None:
        """store x[0] = v0: x is not written"""
        self.b.store(self.x, 0, self.value)

    def stored(self) -> None:
        """int32x4 into y of float32"""
        self.b.store(self.y, 0, self.whole)

    def one_place(self) -> None:
        """all lanes go to one place"""
        self.b.store(self.y, 0, self.value, stride=0)

    def store_mask(self) -> None:
        """the mask is not mask32x4"""
        self.b.store(self.y, 0, self.value, self.b.prefix(2, vector("float32", 8)))

    def behind(self) -> None:
        """it reaches 1 elements too far in x"""
        self.b.load(self.x, 5, T)

    def before(self) -> None:
        """it reaches element -1 of x"""
        self.b.load(self.x, 2, T, stride=-1)

    def behind_in_loop(self) -> None:
        """it reaches 4 elements too far in x"""
        with self.b.loop("i", 0, 10, 4) as i:
            self.b.load(self.x, i, T)

    def behind_in_table(self) -> None:
        """it reaches 3 elements too far in table"""
        self.b.load(self.b.table("table", "float32", [1.0]), 0, T)

    def integer(self) -> None:
        """m is no integer that is defined here"""
        self.b.load(self.x, named("m"), T)

    def loop(self) -> None:
        """i is no integer that is defined here"""
        with self.b.loop("i", 0, 2) as i:
            pass
        self.b.prefetch(self.x, i)

    def step(self) -> None:
        """the step is not positive"""
        with self.b.loop("i", 0, 2, -1):
            pass

    def inside(self) -> None:
        """v2 is not made before, in a block that is around"""
        with self.b.when(1):
            inner = self.value + 1.0
        self.b.store(self.y, 0, inner)

    def variable(self) -> None:
        """the variable s7 is not defined here"""
        self.b.store(self.y, 0, Variable(self.b, T, 7))

    def assigned(self) -> None:
        """the variable is float32x4, the value int32x4"""
        self.b.assign(self.b.variable(self.value), self.whole)

    def argument(self) -> None:
        """z is no parameter"""
        self.b.store(self.y, 0, Builder().argument("z", T))

    def divisor(self) -> None:
        """the divisor is 0"""
        self.b.define(IntegerOperation.FLOOR_DIVIDE, 3, 0)

    def integer_of_lanes(self) -> None:
        """int32x4 is no integer"""
        self.b.define(IntegerOperation.VALUE, self.whole)

    def call(self) -> None:
        """float32x4 is no scalar"""
        self.b.call("f", self.value)

    def parameters(self) -> None:
        """its parameters: x is there twice"""
        self.b.integer("x")

    def nested(self) -> None:
        """it is of a program with a result"""
        self.make(Operation.CALL, T, self.value, detail=Builder().program("none"))

    def nested_argument(self) -> None:
        """operand 0 is float32x4, not float32x8"""
        inner = Builder()
        self.make(Operation.CALL, T, self.value, detail=inner.program("f", inner.argument("x", vector("float32", 8))))

    def nested_program(self) -> None:
        """half: v0 = and a, a: float32x4: and does not give float32x4"""
        inner = Builder()
        argument = inner.argument("a", T)
        found = inner.instruction(Operation.AND, T, (argument, argument))
        self.make(Operation.CALL, T, self.value, detail=inner.program("half", found))

    def rare(self) -> None:
        """the program is not one of scalars"""
        inner = Builder()
        program = inner.program("f", inner.argument("x", T) * 2.0)
        self.b.per_lane(program, [self.value], self.value, self.value < 0.0)


WRONG = [method for name, method in vars(_Programs).items() if name[0] != "_" and name != "make"]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda method: method.__name__)
def test_refused(wrong: Callable[[_Programs], None]) -> None:
    programs = _Programs()
    wrong(programs)
    with pytest.raises(InternalError) as problem:
        verify(programs.b.program("wrong"))
    assert problem.value.message.endswith(wrong.__doc__ or "no docstring")
    assert problem.value.dump


def test_accesses_that_may_not_run_are_left_alone() -> None:
    b = Builder()
    n, x = b.integer("n"), b.buffer("x", "float32", elements=8, is_written=True)
    with b.when(n):
        b.load(x, 9, T)
    with b.loop("i", 0, n) as i:
        b.load(x, 9 + i, T)
    with b.loop("j", 4, 4):
        b.load(x, 9, T)
    b.load(x, n, T)
    b.load(x, 6, T, b.prefix(2, T))
    verify(b.program("right"))


def test_sizes_of_parameters() -> None:
    b = Builder()
    n = b.integer("n")
    x = b.buffer("x", "float32", elements=n * 4)
    with b.loop("i", 0, 3) as i:
        b.load(x, (n + 1) * 4 - 12 + i * 4, T)
    with pytest.raises(InternalError, match="it reaches 4 elements too far in x"):
        verify(b.program("wrong"))


def test_variables_of_loops() -> None:
    b = Builder()
    y = b.buffer("y", "float32", is_written=True)
    with b.loop("i", 0, 3) as i:
        total = b.variable(b.constant(0.0, T))
        with b.loop("j", 0, 3):
            b.assign(total, total + 1.0)
        b.store(y, i * 4, total)
    program = verify(b.program("right"))
    program.body.append(Assign(total, total))
    with pytest.raises(InternalError, match="the variable s0 is not defined here"):
        verify(program)


def test_places_of_calls() -> None:
    b = Builder()
    b.call("f", Place("x", 0))
    with pytest.raises(InternalError, match="there is no buffer x"):
        verify(b.program("wrong"))
