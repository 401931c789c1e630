"""Quotients, upper halves of products, and sums of narrower products, where no instruction has them."""

from __future__ import annotations

from tilewright.tile.operations import NOT_SATURATING
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.passes.float_parts import unsigned
from tilewright.tile.program import Detail, Value
from tilewright.tile.types import Type, vector


def quotient(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """By floats of at least half as many bits more: 24 for 16, 53 for 32. The quotient of a and b lies at least 1/b below the
    next integer, and the rounding error is at most a/b 2^-p. Without division by 0, and by -1, which may overflow."""
    if t.bits == 64 or t.lanes == 1:
        return None
    x, by = operands
    is_zero = by.equals(0)
    is_rare = is_zero | by.equals(-1) if t.is_signed else is_zero
    wide = "float32" if t.bits < 32 else "float64"
    found = b.cast(b.cast(x, wide) / b.cast(b.select(is_rare, b.constant(1, t), by), wide), t.dtype)
    if t.is_signed:
        found = b.select(by.equals(-1), -x, found)
    return b.select(is_zero, b.constant(0, t), found)


def remainder(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """What the quotient leaves; 0 of a division by 0."""
    if t.bits == 64 or t.lanes == 1:
        return None
    x, by = operands
    whole = quotient(b, t, operands, detail)
    assert whole is not None
    return b.select(by.equals(0), b.constant(0, t), x - whole * by)


def high_half(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """Of products in wider lanes, or of halves."""
    if t.lanes == 1:
        return None
    if t.bits == 64:
        return _high_half_of_64(b, t, operands)
    wide = f"{'' if t.is_signed else 'u'}int{2 * t.bits}"
    left, right = (b.cast(one, wide) for one in operands)
    return b.cast((left * right) >> t.bits, t.dtype)


def _high_half_of_64(b: DialectBuilder, t: Type, operands: tuple[Value, ...]) -> Value:
    u, low = unsigned(t), (1 << 32) - 1
    left, right = (b.bitcast(one, u) for one in operands)
    left_low, left_high, right_low, right_high = left & low, left >> 32, right & low, right >> 32
    one, other = left_low * right_high, left_high * right_low
    middle = ((left_low * right_low) >> 32) + (one & low) + (other & low)
    high = left_high * right_high + (one >> 32) + (other >> 32) + (middle >> 32)
    if not t.is_signed:
        return high
    high = b.bitcast(high, t)
    for sign, factor in (operands, operands[::-1]):
        high = high - b.select(sign < 0, factor, 0)
    return high


def with_sign(b: DialectBuilder, value: Value, sign: Value) -> Value:
    """Three values, one of which is taken."""
    return b.select(sign < 0, -value, b.select(sign.equals(0), 0, value))


def dot(b: DialectBuilder, left: Value, right: Value, total: Value) -> Value:
    """A sum of two products of halves: in lanes of 16 bits if these are bytes, which dialects know best, else of 32."""
    if left.type.bits == 8:
        for one, other in zip(_halves(b, left, "int16"), _halves(b, right, "int16"), strict=True):
            total = b.dot(one, other, total)
        return total
    for one, other in zip(_halves(b, left, total.type.dtype), _halves(b, right, total.type.dtype), strict=True):
        total = total + one * other
    return total


def pairs(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Products fit 16 bits; their sum is made in 32 where it may not."""
    halves = zip(_halves(b, operands[0], "int16"), _halves(b, operands[1], "int16"), strict=True)
    even, odd = (left * right for left, right in halves)
    return even + odd if detail == NOT_SATURATING else b.saturate(b.cast(even, "int32") + b.cast(odd, "int32"), "int16")


def _halves(b: DialectBuilder, x: Value, dtype: str) -> tuple[Value, Value]:
    """The even lanes, and the odd ones, as lanes twice as wide."""
    lanes, bits = x.type.lanes // 2, x.type.bits
    wide = vector(dtype, lanes)
    if x.type.is_signed:
        whole = b.bitcast(x, wide)
        return (whole << bits) >> bits, whole >> bits
    whole = b.bitcast(x, unsigned(wide))
    return b.bitcast(whole & (1 << bits) - 1, wide), b.bitcast(whole >> bits, wide)
