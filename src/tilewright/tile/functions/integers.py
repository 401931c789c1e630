"""Functions of integers beyond operations: shifts by any count, floor division, powers."""

from __future__ import annotations

from tilewright.tile.builder import Builder
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Value
from tilewright.tile.types import vector

_FLAG = vector("int32")


def left_shift(b: Builder, x: Value, count: Value) -> Value:
    """0 by as many bits as there are, more, or less than none."""
    bits = x.type.bits
    return b.select(b.bitcast(count, count.type.unsigned) < bits, x << (count & (bits - 1)), 0)


def right_shift(b: Builder, x: Value, count: Value) -> Value:
    """The sign, 0 or -1, by as many bits as there are, more, or less than none."""
    bits = x.type.bits
    is_inside = b.bitcast(count, count.type.unsigned) < bits
    if not x.type.is_signed:
        return b.select(is_inside, x >> (count & (bits - 1)), 0)
    return x >> b.select(is_inside, count, bits - 1)


def floor_mod(b: Builder, left: Value, right: Value) -> Value:
    """What floor division leaves: it has the divisor's sign; 0 by 0."""
    rest = b.apply(Operation.REMAINDER, left, right)
    return b.select(_is_across(rest, right), rest + right, rest) if left.type.is_signed else rest


def floor_divide(b: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded down; 0 by 0."""
    quotient = b.apply(Operation.QUOTIENT, left, right)
    if not left.type.is_signed:
        return quotient
    rest = left - quotient * right
    return b.select(_is_across(rest, right) & right.differs(0), quotient - 1, quotient)


def power(b: Builder, base: Value, exponent: Value) -> Value:
    """Wrapping; with negative exponents the whole part of the quotient, and 0 of 0."""
    result, factor, left = (b.variable(one) for one in (b.constant(1, base.type), base, exponent))
    with b.loop("bit", 0, base.type.bits):
        any_left = b.instruction(Operation.ANY, _FLAG, (left.differs(0),))
        with b.when(b.define(IntegerOperation.VALUE, any_left)):
            b.assign(result, b.select((left & 1).differs(0), result * factor, result))
            b.assign(factor, factor * factor)
            b.assign(left, b.bitcast(b.bitcast(left, left.type.unsigned) >> 1, left.type))
    if not exponent.type.is_signed:
        return result
    inverse = b.apply(Operation.QUOTIENT, 1, base)
    inverse = b.select((exponent & 1).differs(0), inverse, inverse * inverse)
    return b.select(exponent < 0, inverse, result)


def _is_across(rest: Value, right: Value) -> Value:
    """Where a rest that is not 0 has the other sign."""
    return rest.differs(0) & ((rest ^ right) < 0)
