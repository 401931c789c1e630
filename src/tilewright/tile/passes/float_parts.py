"""Signs, exponents and mantissas of floats by the operations of their bits, and roundings to integers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from tilewright.tile.operations import NORMAL, Operation
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.program import Constant, Detail, Value
from tilewright.tile.types import Type, vector

MANTISSA_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
LARGEST_EXPONENT = {"float32": 127, "float64": 1023}
BEYOND = {"float32": 278, "float64": 2100}
"""A power of two by which every number becomes 0 or infinite."""
LEAST_CENTRED = {"float32": 0x3F3504F4, "float64": 0x3FE6A09E667F3BCE}
"""The bits of the least number above sqrt(1/2), half the least above what sqrt(2) is rounded to."""
UPWARD = {"float32": 32, "float64": 64}
"""A power of two that makes denormal numbers normal."""


def unsigned(value_type: Type) -> Type:
    """Unsigned integers of as many bits."""
    return vector(f"uint{value_type.bits}", value_type.lanes)


def on_bits(b: DialectBuilder, x: Value, change: Callable[[Value], Value]) -> Value:
    """A float whose bits, as an unsigned integer, are changed."""
    return b.bitcast(change(b.bitcast(x, unsigned(x.type))), x.type)


def absolute(b: DialectBuilder, x: Value) -> Value:
    """Without the sign."""
    return on_bits(b, x, lambda bits: bits & (1 << x.type.bits - 1) - 1)


def sign(b: DialectBuilder, x: Value) -> Value:
    """The sign alone, as bits."""
    return b.bitcast(x, unsigned(x.type)) & 1 << x.type.bits - 1


def bits_of(number: float, dtype: str) -> int:
    """Those of a float32 or float64.

    >>> hex(bits_of(1.0, "float32"))
    '0x3f800000'
    """
    code, integer = ("f", "I") if dtype == "float32" else ("d", "Q")
    found: int = struct.unpack(integer, struct.pack(code, number))[0]
    return found


def rounded(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """To the nearest integer, ties to even: numbers between 2^23 and 2^24 have no fractions."""
    (x,) = operands
    size, limit = absolute(b, x), 2.0 ** MANTISSA_BITS[t.dtype]
    near = b.select(size < limit, (size + limit) - limit, size)
    return on_bits(b, near, lambda bits: bits | sign(b, x))


def floor(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """The nearest integer, less one where that is larger."""
    (x,) = operands
    near = rounded(b, t, operands, detail)
    return near - b.select(near > x, b.constant(1.0, t), 0.0)


def ceil(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Of -0.5 it is -0."""
    return -floor(b, t, (-operands[0],), detail)


def truncated(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """The floor of the size."""
    (x,) = operands
    return on_bits(b, floor(b, t, (absolute(b, x),), detail), lambda bits: bits | sign(b, x))


def rounded_to_odd(b: DialectBuilder, total: Value, error: Value) -> Value:
    """What is nearest to an exact sum, and the error of that, as the sum rounded to odd: where it is inexact and even, the
    neighbour on the side of the error. The last of two roundings is then the only one [S. Boldo, G. Melquiond, 2008]."""
    bits = b.bitcast(total, total.type.integer)
    towards = b.select((error > 0.0) ^ (total < 0.0), b.constant(1, bits.type), -1)
    moves = ((error > 0.0) | (error < 0.0)) & (absolute(b, total) < math.inf)
    is_even = b.select((bits & 1).equals(0), towards, 0)
    return b.bitcast(bits + b.select(moves, is_even, 0), total.type)


def _normal(b: DialectBuilder, x: Value) -> tuple[Value, Value]:
    """A number whose exponent is in its bits, and the mask of those that were denormal."""
    dtype = x.type.dtype
    is_small = absolute(b, x) < 2.0 ** (1 - LARGEST_EXPONENT[dtype])
    return b.select(is_small, x * 2.0 ** UPWARD[dtype], x), is_small


def exponent(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """The exponent's bits become a float where they are the mantissa of 2^23, or of 2^52."""
    (x,) = operands
    shift, bias, size = MANTISSA_BITS[t.dtype], LARGEST_EXPONENT[t.dtype], absolute(b, x)
    near, is_small = _normal(b, x)
    stored = (b.bitcast(near, unsigned(t)) << 1) >> shift + 1
    number = b.bitcast(stored | bits_of(2.0**shift, t.dtype), t) - b.select(
        is_small, b.constant(2.0**shift + bias + UPWARD[t.dtype], t), 2.0**shift + bias
    )
    return b.select(size < math.inf, b.select(size.equals(0.0), b.constant(-math.inf, t), number), size)


def mantissa(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """The exponent of 1 in the place of the own one."""
    (x,) = operands
    near, _ = _normal(b, x)
    kept = 1 << t.bits - 1 | (1 << MANTISSA_BITS[t.dtype]) - 1
    return b.select(x.equals(x), on_bits(b, near, lambda bits: bits & kept | bits_of(1.0, t.dtype)), x)


def centred_exponent(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Of whole instructions, where there are some, else as `exponent` from what `_from_center` has."""
    (x,) = operands
    if b.dialect.entry(Operation.EXPONENT, t.dtype):
        number = b.instruction(Operation.EXPONENT, t, (x,))
        return b.select(_is_above(b, x), number + 1.0, number)
    shift, is_small, distance = MANTISSA_BITS[t.dtype], _is_denormal(x), _from_center(b, x)
    stored = b.bitcast(distance >> shift | bits_of(2.0**shift, t.dtype), t)
    offset = 2.0**shift + 2 ** (t.bits - 2 - shift)
    number = stored - b.select(is_small, b.constant(offset + UPWARD[t.dtype], t), offset)
    return b.select(x < math.inf, b.select(x.equals(0.0), -math.inf, number), x)


def centred_mantissa(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Of whole instructions, where there are some, else from what `_from_center` has."""
    (x,) = operands
    if b.dialect.entry(Operation.EXPONENT, t.dtype):
        number = b.instruction(Operation.MANTISSA, t, (x,))
        return b.select(_is_above(b, x), number * 0.5, number)
    return b.bitcast((_from_center(b, x) & (1 << MANTISSA_BITS[t.dtype]) - 1) + LEAST_CENTRED[t.dtype], t)


def _is_above(b: DialectBuilder, x: Value) -> Value:
    return b.instruction(Operation.MANTISSA, x.type, (x,)) > math.sqrt(2.0)


def _is_denormal(x: Value) -> Value:
    return x < 2.0 ** (1 - LARGEST_EXPONENT[x.type.dtype])


def _from_center(b: DialectBuilder, x: Value) -> Value:
    """The bits of a positive number, made normal, less those of the least centred mantissa, plus as much as keeps a sign away."""
    near = b.select(_is_denormal(x), x * 2.0 ** UPWARD[x.type.dtype], x)
    return b.bitcast(near, unsigned(x.type)) + ((1 << x.type.bits - 2) - LEAST_CENTRED[x.type.dtype])


def fraction(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """What the difference has been rounded up by is taken off: the bit before, as it is positive then."""
    (x,) = operands
    below = b.apply(Operation.FLOOR, x)
    near = x - below
    part = near - x
    error = (x - (near - part)) + (b.constant(0.0, t) - below - part)
    bits = b.bitcast(near, unsigned(t))
    found = b.bitcast(b.select(error < 0.0, bits - 1, bits), t)
    found = b.select(near.equals(0.0), b.constant(-0.0, t), found)
    return b.select(absolute(b, x).equals(math.inf), 0.0, found)


def scaled(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """By three powers of two, of which the last takes what it can: should one before it be inexact, the result is 0."""
    x, by = operands
    if detail is not None:
        return (_scaled_normal if detail == NORMAL else _scaled_near)(b, x, by)
    largest, beyond = LARGEST_EXPONENT[t.dtype], BEYOND[t.dtype]
    steps = _between(b, b.instruction(Operation.FLOOR, t, (by,)), -beyond, beyond)
    last = _between(b, steps, 1 - largest, largest)
    rest = steps - last
    first = _between(b, rest, 1 - largest, largest)
    of_infinite = b.apply(Operation.LARGER, b.constant(0.0, t), by)
    power = b.select(absolute(b, by) < math.inf, _power(b, last), of_infinite)
    return x * _power(b, first) * _power(b, rest - first) * power


def _scaled_near(b: DialectBuilder, x: Value, by: Value) -> Value:
    """By two halves of the power: the low bits of a sum with 1.5 * 2^23 are an integer with a sign, here with two biases."""
    t, shift = x.type, MANTISSA_BITS[x.type.dtype]
    twice = b.bitcast(by + (1.5 * 2.0**shift + 2 * LARGEST_EXPONENT[t.dtype]), unsigned(t))
    half = twice >> 1
    return x * b.bitcast(half << shift, t) * b.bitcast((twice - half) << shift, t)


def _scaled_normal(b: DialectBuilder, x: Value, by: Value) -> Value:
    """By one power of two; a constant power of two is another bias."""
    if isinstance(x, Constant):
        significand, power = math.frexp(x.number)
        if significand == 0.5:
            return _power(b, by, power - 1)
    return x * _power(b, by)


def _between(b: DialectBuilder, x: Value, least: float, most: float) -> Value:
    return b.apply(Operation.SMALLER, b.apply(Operation.LARGER, x, least), most)


def _power(b: DialectBuilder, steps: Value, more: int = 0) -> Value:
    """2 to an integer that is a float, plus another: the low bits of a sum with 1.5 * 2^23, shifted to the exponent's place."""
    t, shift = steps.type, MANTISSA_BITS[steps.type.dtype]
    stored = b.bitcast(steps + (1.5 * 2.0**shift + LARGEST_EXPONENT[t.dtype] + more), unsigned(t))
    return b.bitcast(stored << shift, t)


def dot_of_pairs(b: DialectBuilder, left: Value, right: Value, total: Value) -> Value:
    """Pairs of bfloat16 numbers, the second product first; denormal numbers are zeros before and behind each step."""
    for place in (1, 0):
        one, other = (_flushed(b, _of_pair(b, pair, total.type, place)) for pair in (left, right))
        total = _flushed(b, b.fma(one, other, _flushed(b, total)))
    return total


def _of_pair(b: DialectBuilder, pair: Value, t: Type, place: int) -> Value:
    bits = b.bitcast(pair, unsigned(t))
    return b.bitcast(bits & 0xFFFF0000 if place else bits << 16, t)


def _flushed(b: DialectBuilder, x: Value) -> Value:
    return b.select(absolute(b, x) < 2.0**-126, b.bitcast(sign(b, x), x.type), x)
