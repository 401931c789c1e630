"""Tile programs of one operation each: every operation, type and number of lanes, on numbers of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product

import numpy as np

from tests.support.random.tiles import FLOATS, INTEGERS, numbers
from tests.support.tiles import Case
from tilewright.tile.builder import Builder
from tilewright.tile.lanes import storage
from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.program import Value
from tilewright.tile.rounding import Array, from_bfloat16
from tilewright.tile.types import BITS, Type, vector

TRIPS = 12
"""Vectors of a case."""
COMPUTED = ("float32", "float64", "float16")
STRIDES = (2, 3, 4, 5, -1, -2, 0)
Making = Callable[[Builder, Sequence[Value]], Value]


def cases(lanes: int) -> list[Case]:
    """All of them for vectors of so many lanes; names are those of operations and types."""
    return [make(name) for name, make in (*_of_values(lanes), *_of_memory(lanes))]


def _of_values(lanes: int) -> Iterator[tuple[str, Callable[[str], Case]]]:
    for name, types, making, spared in (*_arithmetic(lanes), *_casts(lanes), *_shuffles(lanes), *_masks(lanes), *_dots(lanes)):
        full = f"{name}_{lanes}".replace(" ", "_").replace("-", "_")
        yield full, partial(_case, types=types, making=making, spared=spared)


Row = tuple[str, list[Type], Making, Callable[[list[Array]], None] | None]


def _row(operation: Operation, result: Type, types: list[Type], spared: Callable[[list[Array]], None] | None = None) -> Row:
    name = "_".join([operation, *(one.dtype for one in types), result.dtype])
    return name, types, lambda b, values: b.instruction(operation, result, tuple(values)), spared


def _arithmetic(lanes: int) -> Iterator[Row]:
    two = [Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.SMALLER, Operation.LARGER]
    for dtype in (*COMPUTED, *INTEGERS):
        t = vector(dtype, lanes)
        own = [Operation.DIVIDE] if t.is_float else [Operation.QUOTIENT, Operation.REMAINDER, Operation.HIGH_HALF]
        own += [Operation.WITH_SIGN] if t.is_signed else []
        bitwise = [] if t.is_float else [Operation.AND, Operation.OR, Operation.XOR]
        for operation in (*two, *own, *bitwise):
            yield _row(operation, t, [t, t])
        for operation in (Operation.FMA, Operation.MULTIPLY_ADD):
            yield _row(operation, t, [t, t, t])
        for operation in sorted(COMPARISONS):
            yield _row(operation, t.mask, [t, t])
        one = [Operation.NEGATE, Operation.ABSOLUTE, *(_ONE_FLOAT if t.is_float else [Operation.NOT])]
        for operation in one:
            yield _row(operation, t, [t])
        if t.is_float:
            yield _row(Operation.SCALE, t, [t, t], _small_steps)
            yield _row(Operation.CENTRED_EXPONENT, t, [t], _positive)
            yield _row(Operation.CENTRED_MANTISSA, t, [t], _finite)
        else:
            yield from (_row(one, t, [t, t], _counts) for one in (Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT))
            yield f"shift_{dtype}", [t], lambda b, values: (values[0] << 3) + (values[0] >> 2), None


_ONE_FLOAT = [
    *(Operation.SQUARE_ROOT, Operation.FLOOR, Operation.CEIL, Operation.TRUNCATE, Operation.ROUND),
    *(Operation.EXPONENT, Operation.MANTISSA),
]


def _small_steps(arrays: list[Array]) -> None:
    """Powers of two by which something is left; of NaN and an infinite power anything comes."""
    arrays[1][:] = np.clip(np.nan_to_num(arrays[1]), -300, 300)


def _positive(arrays: list[Array]) -> None:
    """Or 0, or NaN: what has a logarithm."""
    arrays[0][:] = np.abs(arrays[0])


def _finite(arrays: list[Array]) -> None:
    """And positive: what has a mantissa."""
    size = np.abs(arrays[0])
    arrays[0][:] = np.where(np.isfinite(size) & (size > 0), size, 1)


def _counts(arrays: list[Array]) -> None:
    """Below the bits of a lane."""
    arrays[1][:] = np.abs(arrays[1].astype(np.int64)) % (8 * arrays[1].itemsize)


def _casts(lanes: int) -> Iterator[Row]:
    for source, dtype in permutations((*FLOATS, *INTEGERS), 2):
        t, result = vector(source, lanes), vector(dtype, lanes)
        spared = _fit_uint64 if dtype == "uint64" and t.is_float else None
        yield _row(Operation.CAST, result, [t], spared)
        if dtype in INTEGERS:
            yield _row(Operation.SATURATE, result, [t])
    for source, dtype in permutations(("uint8", "int16", "int32", "int64", "float32", "float64"), 2):
        t = vector(source, lanes)
        if t.size_bits % BITS[dtype] == 0 and not vector(dtype).is_float:
            yield _row(Operation.BITCAST, vector(dtype, t.size_bits // BITS[dtype]), [t])


def _fit_uint64(arrays: list[Array]) -> None:
    """Of what has no uint64, any comes."""
    values = from_bfloat16(arrays[0]) if arrays[0].dtype == np.uint16 else arrays[0]
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
    arrays[0][~((wide > -1) & (wide < 2.0**64))] = 0


def _shuffles(lanes: int) -> Iterator[Row]:
    for dtype in (*FLOATS, *INTEGERS):
        t = vector(dtype, lanes)
        mixed = [(7 * lane + 3) % (2 * lanes) if lane % 5 else -1 for lane in range(lanes)]
        yield f"select_{dtype}", [t.mask, t, t], lambda b, values: b.select(*values), None
        if lanes > 1:
            yield f"mixed_{dtype}", [t, t], lambda b, values, mixed=mixed: b.shuffle(values, mixed), None  # type: ignore[misc]
            yield f"odd_{dtype}", [t], lambda b, values: b.shuffle(values, range(lanes - 1, -1, -2)), None
            operations = (Operation.ADD, Operation.LARGER) if dtype != "bfloat16" else ()
            for one in operations:
                yield f"reduce_{one}_{dtype}", [t], lambda b, values, one=one: b.reduce(one, values[0]), None  # type: ignore[misc]
        if dtype != "bfloat16":
            yield f"iota_{dtype}", [t], lambda b, values: values[0] + b.iota(values[0].type), None
            yield f"splat_{dtype}", [t.scalar, t], lambda b, values: b.splat(values[0], lanes) + values[1], None


def _masks(lanes: int) -> Iterator[Row]:
    for bits in (8, 16, 32, 64):
        mask = vector(f"mask{bits}", lanes)
        for operation in (Operation.AND, Operation.OR, Operation.XOR):
            yield _row(operation, mask, [mask, mask])
        yield _row(Operation.NOT, mask, [mask])
        yield _row(Operation.ANY, vector("int32"), [mask])
        yield f"any_not_{bits}", [mask], lambda b, values: b.instruction(Operation.ANY, vector("int32"), (~values[0],)), None
        yield from (_row(Operation.CAST, vector(f"mask{other}", lanes), [mask]) for other in (8, 16, 32, 64) if other != bits)


def _dots(lanes: int) -> Iterator[Row]:
    total = vector("int32", lanes)
    for left, right in (*product(("int8", "uint8"), repeat=2), *product(("int16", "uint16"), repeat=2)):
        each = 32 // BITS[left]
        yield _row(Operation.DOT, total, [vector(left, each * lanes), vector(right, each * lanes), total])
    pair = vector("bfloat16", 2 * lanes)
    yield _row(Operation.DOT, vector("float32", lanes), [pair, pair, vector("float32", lanes)])
    yield _row(Operation.PAIRS, vector("int16", lanes), [vector("uint8", 2 * lanes), vector("int8", 2 * lanes)])


def _stored(t: Type) -> Type:
    """Masks lie in arrays as bytes."""
    return t.of("uint8") if t.is_mask else t


def _case(name: str, types: list[Type], making: Making, spared: Callable[[list[Array]], None] | None) -> Case:
    b, data = Builder(), np.random.default_rng(sum(name.encode()))
    arrays = [numbers(data, _stored(one).dtype, TRIPS * one.lanes) for one in types]
    if spared is not None:
        spared(arrays)
    for one, array in zip(types, arrays, strict=True):
        if one.is_mask:
            array &= 1
    buffers = [b.buffer(f"x{i}", _stored(one).dtype) for i, one in enumerate(types)]
    result = making(Builder(), [Builder().argument("x", one) for one in types]).type
    y = b.buffer("y", _stored(result).dtype, is_written=True)
    with b.loop("i", 0, TRIPS) as i:
        values = [b.load(x, i * one.lanes, _stored(one)) for x, one in zip(buffers, types, strict=True)]
        values = [b.cast(v.differs(0), one.dtype) if one.is_mask else v for v, one in zip(values, types, strict=True)]
        made = making(b, values)
        if result.is_mask:
            made = b.select(b.cast(made, "mask8"), b.constant(1, _stored(result)), 0)
        b.store(y, i * result.lanes, made)
    return Case(b.program(name), (*arrays, np.zeros(TRIPS * result.lanes, storage(_stored(result).dtype))))


def _of_memory(lanes: int) -> Iterator[tuple[str, Callable[[str], Case]]]:
    if lanes == 1:
        return
    for dtype, stride, mask in product((*FLOATS, *INTEGERS), STRIDES, ("none", "prefix", "any")):
        full = f"memory_{dtype}_{lanes}_{'back' * (stride < 0)}{abs(stride)}_{mask}"
        yield full, partial(_memory_case, t=vector(dtype, lanes), stride=stride, mask_kind=mask)


def _memory_case(name: str, t: Type, stride: int, mask_kind: str) -> Case:
    """A load and a store at a stride, and a store side by side, under a mask."""
    b, data = Builder(), np.random.default_rng(sum(name.encode()))
    each = (t.lanes - 1) * abs(stride) + 1
    x, marks = b.buffer("x", t.dtype), b.buffer("marks", "uint8") if mask_kind == "any" else None
    z = b.buffer("z", t.dtype, is_written=True)
    y = b.buffer("y", t.dtype, is_written=True) if stride else None
    with b.loop("i", 0, TRIPS) as i:
        mask = None
        if mask_kind == "prefix":
            mask = b.prefix(i * t.lanes - 4 * t.lanes + i, t) if t.lanes > 4 else b.prefix(i - 2, t)
        elif marks is not None:
            mask = b.cast(b.load(marks, i * t.lanes, t.of("uint8")).differs(0), t.mask.dtype)
        start = i * each + (each - 1 if stride < 0 else 0)
        value = b.load(x, start, t, mask, stride)
        if y is not None:
            b.store(y, start, value, mask, stride)
        b.store(z, i * t.lanes, value, mask)
    kind = storage(t.dtype)
    arrays = [numbers(data, t.dtype, TRIPS * each)]
    if marks is not None:
        arrays.append(data.integers(0, 2, TRIPS * t.lanes, np.uint8))
    arrays += [np.zeros(TRIPS * t.lanes, kind), *([np.zeros(TRIPS * each, kind)] if stride else [])]
    return Case(b.program(name), tuple(arrays))
