"""Operations as others, of the same bits, for dialects that have no instruction for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.passes import conversions, float_parts, integer_arithmetic, strides
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.passes.float_parts import on_bits
from tilewright.tile.program import Detail, Value
from tilewright.tile.types import Type

Expansion: TypeAlias = "Callable[[DialectBuilder, Type, tuple[Value, ...], Detail], Value | None]"
"""None leaves an operation to the renderer, which takes lanes apart."""

UNWIDENED = (Operation.NEGATE, Operation.ABSOLUTE, Operation.FMA, Operation.MULTIPLY_ADD, Operation.FRACTION)
"""Operations of float16 that float32 does not give: bits, one rounding of what float32 does not hold, and one downward."""


def _wider(operation: Operation) -> Expansion:
    """An operation of float16 in float32, whose roundings make no difference to a second one: 24 >= 2 * 11 + 2 bits [S. A.
    Figueroa: When is double rounding innocuous?, 1995]."""
    otherwise = BY_OPERATION.get(operation)

    def expand(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
        if operands[0].type.dtype != "float16":
            return otherwise(b, t, operands, detail) if otherwise else None
        if operation in UNWIDENED:
            assert otherwise is not None
            return otherwise(b, t, operands, detail)
        wide = tuple([b.cast(one, "float32") for one in operands])
        if operation in COMPARISONS:
            return b.cast(b.instruction(operation, wide[0].type.mask, wide), t.dtype)
        return b.cast(b.instruction(operation, t.of("float32"), wide, detail), "float16")

    return expand


def _extremum(order: Operation) -> Expansion:
    def expand(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
        return b.select(b.compare(order, *operands), *operands)

    return expand


def _absolute(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    (x,) = operands
    if t.is_float:
        return float_parts.absolute(b, x)
    return b.select(x < 0, -x, x) if t.is_signed else x


def _negated(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    if not t.is_float:
        return None
    return on_bits(b, operands[0], lambda bits: bits ^ 1 << t.bits - 1)


def _multiply_add(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    if b.dialect.entry(Operation.MULTIPLY_ADD, t.dtype):
        return None
    left, right, total = operands
    return b.fma(left, right, total) if b.dialect.fuses and t.is_float else left * right + total


def _fma(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    if not t.is_float:
        return operands[0] * operands[1] + operands[2]
    if t.dtype == "float64":
        return None
    a, x, c = (b.cast(one, "float64") for one in operands)
    product = a * x
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    return b.cast(float_parts.rounded_to_odd(b, total, error), t.dtype)


def _reduced(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    assert isinstance(detail, Operation)
    value = operands[0]
    while (lanes := value.type.lanes) > 1:
        half = lanes // 2
        value = b.apply(detail, b.shuffle((value,), range(half)), b.shuffle((value,), range(half, lanes)))
    return value


def _selected(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Of masks, by their own operations."""
    mask, yes, no = operands
    return mask & yes | ~mask & no


def _shifted_wider(operation: Operation) -> Expansion:
    def expand(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
        wide = "int32" if t.is_signed else "uint32"
        return b.cast(b.apply(operation, *[b.cast(one, wide) for one in operands]), t.dtype)

    return expand


def _bitcast(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """Of masks that are no vectors, whose lanes are 0 or -1 as integers."""
    (x,) = operands
    if x.type.is_mask:
        return b.bitcast(b.select(x, b.constant(-1, x.type.integer), 0), t)
    return b.bitcast(x, t.integer).differs(0) if t.is_mask else None


def _dot(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    left, right, total = operands
    kinds = left.type.dtype, right.type.dtype
    if kinds[0] == t.dtype:
        return b.multiply_add(left, right, total) if t.is_float else left * right + total
    if t.is_float:
        return float_parts.dot_of_pairs(b, left, right, total)
    if kinds == ("int16", "int16") and b.dialect.entry("pair sums", "int16") and t.lanes > 1:
        return None
    if kinds == ("int8", "uint8"):
        return b.dot(right, left, total)
    return integer_arithmetic.dot(b, left, right, total)


BY_OPERATION: Mapping[Operation, Expansion] = {
    Operation.SMALLER: _extremum(Operation.LESS),
    Operation.LARGER: _extremum(Operation.GREATER),
    Operation.ABSOLUTE: _absolute,
    Operation.NEGATE: _negated,
    Operation.MULTIPLY_ADD: _multiply_add,
    Operation.FMA: _fma,
    Operation.FLOOR: float_parts.floor,
    Operation.CEIL: float_parts.ceil,
    Operation.TRUNCATE: float_parts.truncated,
    Operation.ROUND: float_parts.rounded,
    Operation.EXPONENT: float_parts.exponent,
    Operation.MANTISSA: float_parts.mantissa,
    Operation.CENTRED_EXPONENT: float_parts.centred_exponent,
    Operation.CENTRED_MANTISSA: float_parts.centred_mantissa,
    Operation.SCALE: float_parts.scaled,
    Operation.FRACTION: float_parts.fraction,
}
EXPANSIONS: Mapping[Operation, Expansion] = {
    **{
        operation: _wider(operation)
        for operation in (
            *BY_OPERATION,
            *COMPARISONS,
            Operation.ADD,
            Operation.SUBTRACT,
            Operation.MULTIPLY,
            Operation.DIVIDE,
            Operation.SQUARE_ROOT,
        )
    },
    Operation.REDUCE: _reduced,
    Operation.SELECT: _selected,
    Operation.SHIFT_LEFT: _shifted_wider(Operation.SHIFT_LEFT),
    Operation.SHIFT_RIGHT: _shifted_wider(Operation.SHIFT_RIGHT),
    Operation.BITCAST: _bitcast,
    Operation.QUOTIENT: integer_arithmetic.quotient,
    Operation.REMAINDER: integer_arithmetic.remainder,
    Operation.HIGH_HALF: integer_arithmetic.high_half,
    Operation.WITH_SIGN: lambda b, t, operands, detail: integer_arithmetic.with_sign(b, *operands),
    Operation.PAIRS: integer_arithmetic.pairs,
    Operation.DOT: _dot,
    Operation.LOAD: strides.load,
    Operation.CAST: conversions.cast,
    Operation.SATURATE: conversions.saturated,
}
