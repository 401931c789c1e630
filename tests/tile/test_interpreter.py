"""The interpreter of tile programs: what operations give, checked against numbers that are known otherwise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tilewright.errors import InternalError
from tilewright.tile.builder import Builder
from tilewright.tile.interpreter import interpret
from tilewright.tile.lanes import storage
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Place
from tilewright.tile.rounding import Array, fma
from tilewright.tile.types import Type, vector

SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -3e-39, 1.0, -3.5, 3e38, 0.1)


def of(operation: Operation, result: Type, *operands: Array, detail: object = None, dtypes: tuple[str, ...] = ()) -> Array:
    """What an operation gives, of arrays of lanes."""
    b = Builder()
    names = dtypes or tuple(one.dtype.name for one in operands)
    arguments = [b.argument(f"x{i}", vector(names[i], one.size)) for i, one in enumerate(operands)]
    found = interpret(b.program("one", b.instruction(operation, result, tuple(arguments), detail)), *operands)  # type: ignore[arg-type]
    assert found is not None
    assert found.dtype == storage(result.dtype)
    return found


def f32(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def test_fma_is_rounded_once() -> None:
    random = np.random.default_rng(0)
    for dtype in (np.float16, np.float32, np.float64):
        a, b = (random.standard_normal(200).astype(dtype) for _ in range(2))
        c = (-(a * b) * dtype(1 + 3 * np.finfo(dtype).eps)).astype(dtype)
        for term in (c, random.standard_normal(200).astype(dtype), np.full(200, np.finfo(dtype).smallest_subnormal)):
            exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, term, strict=True)]
            for got, want in zip(fma(a, b, term), exact, strict=True):
                near = [dtype(got), np.nextafter(dtype(got), dtype(np.inf)), np.nextafter(dtype(got), dtype(-np.inf))]
                assert min(abs(Fraction(float(one)) - want) for one in near) == abs(Fraction(float(got)) - want)


def test_fma_of_special_numbers() -> None:
    one = np.array([np.inf, 1.0, -0.0, 1e308, -1e-200, 0.0])
    two = np.array([1.0, 1.0, 1.0, 1e308, 1e-200, np.inf])
    plus = np.array([-np.inf, np.inf, -0.0, -np.inf, 0.0, 1.0])
    with np.errstate(all="ignore"):
        found = fma(one, two, plus)
    assert [str(x) for x in found] == ["nan", "inf", "-0.0", "-inf", "-0.0", "nan"]


def test_multiply_add_is_the_dialects() -> None:
    b = Builder()
    x = b.argument("x", vector("float32", 1))
    program = b.program("step", b.multiply_add(x, x, b.constant(-1.0, x.type)))
    given = f32(1 + 2.0**-12)
    fused, apart = (interpret(program, given, fuses=fuses) for fuses in (True, False))
    assert fused is not None
    assert apart is not None
    assert (float(fused[0]), float(apart[0])) == (2.0**-11 + 2.0**-24, 2.0**-11)


def test_exponents_and_mantissas() -> None:
    x = f32(*SPECIAL)
    exponents, mantissas = of(Operation.EXPONENT, vector("float32", 11), x), of(Operation.MANTISSA, vector("float32", 11), x)
    assert [str(e) for e in exponents[:6]] == ["-inf", "-inf", "inf", "inf", "nan", "-149.0"]
    assert [str(m) for m in mantissas[:6]] == ["1.0", "-1.0", "1.0", "-1.0", "nan", "1.0"]
    assert (mantissas[5:] * 2.0 ** exponents[5:].astype(np.float64) == x[5:]).all()


def test_scales_are_rounded_once() -> None:
    found = of(Operation.SCALE, vector("float32", 6), f32(1, -1, 3, 1.5, np.inf, 0), f32(1.7, -0.3, -150, -149, -np.inf, np.inf))
    assert [str(x) for x in found] == ["2.0", "-0.5", str(np.float32(2.0**-148)), str(np.float32(2.0**-148)), "nan", "nan"]


def test_fractions_are_below_1() -> None:
    x = f32(1.25, -1.25, -1e-30, 3, -math.inf, math.nan, -0.11374613)
    found = of(Operation.FRACTION, vector("float32", 7), x)
    assert [str(one) for one in found[:6]] == ["0.25", "0.75", str(np.float32(1 - 2.0**-24)), "-0.0", "0.0", "nan"]
    exact = 1 + Fraction(float(x[6]))
    assert 0 < exact - Fraction(float(found[6])) < Fraction(1, 2**24)


def test_quotients_go_toward_zero() -> None:
    left, right = np.array([7, -7, 7, -7, 5, -128], np.int8), np.array([2, 2, -2, -2, 0, -1], np.int8)
    assert of(Operation.QUOTIENT, vector("int8", 6), left, right).tolist() == [3, -3, -3, 3, 0, -128]
    assert of(Operation.REMAINDER, vector("int8", 6), left, right).tolist() == [1, -1, 1, -1, 0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "int64"])
def test_high_halves(dtype: str) -> None:
    limits = np.iinfo(dtype)
    left, right = (np.random.default_rng(i).integers(limits.min, limits.max, 50, dtype, endpoint=True) for i in range(2))
    found = of(Operation.HIGH_HALF, vector(dtype, 50), left, right)
    assert found.tolist() == [int(a) * int(b) >> limits.bits for a, b in zip(left, right, strict=True)]


def test_saturated_numbers() -> None:
    x = f32(*SPECIAL, 0.5, 1.5, 2.5, 254.5, -0.6, 1e19)
    assert of(Operation.SATURATE, vector("uint8", 17), x).tolist() == [0, 0, 255, 0, 0, 0, 0, 1, 0, 255, 0, 0, 2, 2, 254, 0, 255]
    assert of(Operation.SATURATE, vector("int64", 17), x)[-1] == 2**63 - 1
    whole = np.array([-(2**63), 2**63 - 1, 200, -200], np.int64)
    assert of(Operation.SATURATE, vector("int8", 4), whole).tolist() == [-128, 127, 127, -128]
    assert of(Operation.SATURATE, vector("uint64", 4), whole).tolist() == [0, 2**63 - 1, 200, 0]


def test_casts_are_rounded_once() -> None:
    wide = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1e39, -0.0])
    assert [hex(x) for x in of(Operation.CAST, vector("bfloat16", 4), wide)] == ["0x3f81", "0x3f80", "0x7f80", "0x8000"]
    whole = np.array([(1 << 30) + (1 << 22) + 1, (1 << 30) + (1 << 22)], np.int32)
    assert [hex(x) for x in of(Operation.CAST, vector("bfloat16", 2), whole)] == ["0x4e81", "0x4e80"]
    assert of(Operation.CAST, vector("uint8", 2), np.array([-1, 300], np.int32)).tolist() == [255, 44]


def test_casts_of_what_no_integer_is() -> None:
    x = f32(-2.9, 3e9, math.nan, -math.inf, 255.9)
    assert of(Operation.CAST, vector("int32", 5), x).tolist() == [-2, -(2**31), -(2**31), -(2**31), 255]
    assert of(Operation.CAST, vector("uint8", 5), x).tolist() == [254, 0, 0, 0, 255]
    assert of(Operation.CAST, vector("uint32", 5), x).tolist() == [2**32 - 2, 3_000_000_000, 0, 0, 255]
    assert of(Operation.CAST, vector("int64", 5), x).tolist() == [-2, 3_000_000_000, -(2**63), -(2**63), 255]
    assert of(Operation.CAST, vector("uint64", 2), f32(1e19, 1.5)).tolist() == [int(np.float32(1e19)), 1]


def test_bits() -> None:
    assert of(Operation.BITCAST, vector("uint8", 8), np.array([1, 256], np.int32)).tolist() == [1, 0, 0, 0, 0, 1, 0, 0]
    assert of(Operation.BITCAST, vector("uint16", 2), np.array([True, False]), dtypes=("mask16",)).tolist() == [65535, 0]
    assert of(Operation.BITCAST, vector("mask8", 2), np.array([0, 255], np.uint8)).tolist() == [False, True]
    with pytest.raises(InternalError, match=r"\[1 0\] is no mask"):
        of(Operation.BITCAST, vector("mask8", 2), np.array([1, 0], np.uint8))


def test_dots() -> None:
    left, right = np.array([255, 1, 2, 3], np.uint8), np.array([-128, 1, -1, 2], np.int8)
    assert of(Operation.DOT, vector("int32", 1), left, right, np.array([5], np.int32)).tolist() == [255 * -128 + 1 - 2 + 6 + 5]
    assert of(Operation.PAIRS, vector("int16", 2), left, right).tolist() == [255 * -128 + 1, 4]


def test_memory_and_control() -> None:
    b, t = Builder(), vector("int32", 4)
    n, x, y = b.integer("n"), b.buffer("x", "int32"), b.buffer("y", "int32", is_written=True)
    total = b.variable(b.constant(0, t))
    with b.loop("i", 0, n, 4) as i:
        mask = b.prefix(n - i, t)
        b.assign(total, total + b.load(x, i, t, mask))
        with b.when(b.define(IntegerOperation.LESS, n, i + 4)):
            b.store(y, i, b.gather(x, i, b.iota(t), mask), mask)
        with b.otherwise():
            b.store(y, 3 + i, b.load(x, i, t), stride=-1)
    b.store(y, 6, b.reduce(Operation.ADD, total))
    written = np.zeros(7, np.int32)
    interpret(b.program("sum"), 6, np.arange(1, 7, dtype=np.int32), written)
    assert written.tolist() == [4, 3, 2, 1, 5, 6, 21]


@pytest.mark.parametrize("index", [-1, 2])
def test_accesses_are_checked(index: int) -> None:
    b, t = Builder(), vector("float32", 4)
    x = b.buffer("x", "float32", is_written=True)
    b.store(x, index, b.constant(1, t))
    with pytest.raises(InternalError, match="outside of 5 elements"):
        interpret(b.program("wrong"), np.zeros(5, np.float32))
    b, array = Builder(), np.zeros(5, np.float32)
    x = b.buffer("x", "float32", is_written=True)
    mask = b.compare(Operation.EQUAL, b.iota(vector("int32", 4)), 1)
    b.store(x, index, b.constant(1, t), mask)
    interpret(b.program("right"), array)
    assert array[index + 1] == 1
    assert array.sum() == 1


def test_programs_in_programs() -> None:
    inner = Builder()
    x = inner.argument("x", vector("float32", 1))
    halved = inner.program("halved", x * 0.5)
    b, t = Builder(), vector("float32", 4)
    value = b.argument("value", t)
    found = b.instruction(Operation.PER_LANE, t, (value, value + 1.0, value > 2.0), halved)
    result = interpret(b.program("rare", found), f32(1, 2, 3, 4))
    assert result is not None
    assert result.tolist() == [2, 3, 1.5, 2]


def test_calls_of_other_objects() -> None:
    b = Builder()
    b.buffer("x", "float32", is_written=True)
    b.call("fill", Place("x", 2), b.integer("n"), b.constant(7.0, vector("float32", 1)))

    def fill(target: Array, count: int, value: float) -> None:
        target[:count] = value

    array = np.zeros(5, np.float32)
    interpret(b.program("filled"), array, 2, functions={"fill": fill})
    assert array.tolist() == [0, 0, 7, 7, 0]
