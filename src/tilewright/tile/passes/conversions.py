"""Casts between element types where no instruction has them: by way of other types, or of bits, rounded once."""

from __future__ import annotations

from tilewright.tile.operations import Operation
from tilewright.tile.passes.dialect_builder import DialectBuilder
from tilewright.tile.passes.float_parts import MANTISSA_BITS, bits_of, unsigned
from tilewright.tile.program import Detail, Value
from tilewright.tile.types import FLOATS, Type, vector


def cast(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value | None:
    """By the kinds of the two types."""
    (x,) = operands
    source, dtype = x.type.dtype, t.dtype
    if x.type.is_mask:
        return _of_mask(b, x, t)
    if source in ("float16", "bfloat16"):
        return _of_half(b, x, dtype)
    if dtype in ("float16", "bfloat16"):
        return _to_half(b, x, dtype)
    if source in FLOATS:
        return _to_integer(b, x, t)
    return _of_integer(b, x, t)


def raw(b: DialectBuilder, x: Value, dtype: str) -> Value:
    """A cast as the renderer has it."""
    return b.left_alone(Operation.CAST, x.type.of(dtype), (x,))


def _of_mask(b: DialectBuilder, x: Value, t: Type) -> Value | None:
    """Masks that are vectors are integers of 0 and -1."""
    if not t.is_mask:
        mask = b.cast(x, t.mask.dtype)
        return b.select(mask, b.constant(1, t), 0)
    if b.dialect.has_mask_registers or t.lanes == 1:
        return None
    return b.bitcast(b.cast(b.bitcast(x, x.type.integer), t.integer.dtype), t)


def _of_integer(b: DialectBuilder, x: Value, t: Type) -> Value | None:
    source, dtype = x.type, t.dtype
    if not t.is_float:
        return _narrowed(b, x, t) if t.bits < source.bits and t.lanes > 1 else None
    if source.bits < 32:
        return b.cast(b.cast(x, "int32"), dtype)
    if source.dtype == "uint32":
        return _of_uint32(b, x, dtype)
    if source.bits == 64 and dtype == "float64" and t.lanes > 1:
        return _of_64_bits(b, x)
    return None


def _narrowed(b: DialectBuilder, x: Value, t: Type) -> Value:
    """The low parts of lanes."""
    each = x.type.bits // t.bits
    parts = b.bitcast(x, vector(t.dtype, x.type.lanes * each))
    return b.shuffle((parts,), range(0, x.type.lanes * each, each))


def _of_uint32(b: DialectBuilder, x: Value, dtype: str) -> Value | None:
    """Halves of 16 bits are exact floats: only their sum is rounded."""
    if x.type.lanes == 1:
        return None
    signed = x.type.integer
    high, low = b.cast(b.bitcast(x >> 16, signed), dtype), b.cast(b.bitcast(x & 0xFFFF, signed), dtype)
    return high * 2.0**16 + low


def _of_64_bits(b: DialectBuilder, x: Value) -> Value:
    """Halves of 32 bits in the mantissas of 2^52 and of 2^84, whose exact difference is taken off the upper one first."""
    t = vector("float64", x.type.lanes)
    bits = b.bitcast(x, unsigned(t))
    low = b.bitcast(bits & 0xFFFFFFFF | bits_of(2.0**52, "float64"), t)
    bias = 2.0**84
    high = bits >> 32
    if x.type.is_signed:
        high, bias = high ^ 1 << 31, bias + 2.0**63
    upper = b.bitcast(high | bits_of(2.0**84, "float64"), t)
    return (upper - (bias + 2.0**52)) + low


def _to_integer(b: DialectBuilder, x: Value, t: Type) -> Value | None:
    source, dtype = x.type.dtype, t.dtype
    if dtype == "int32":
        return _to_int32(b, x)
    if t.bits < 32:
        return b.cast(b.cast(x, "int32"), dtype)
    if dtype == "uint32":
        return _to_uint32(b, x)
    if source == "float32":
        return b.cast(b.cast(x, "float64"), dtype)
    return None


def _to_int32(b: DialectBuilder, x: Value) -> Value:
    """What is too large, and NaN, become the smallest number."""
    inside = (x < 2.0**31) & (x > -(2.0**31) - 1.0 if x.type.bits == 64 else x >= -(2.0**31))
    found = raw(b, b.select(inside, x, 0.0), "int32")
    return b.select(b.cast(inside, "mask32"), found, -(1 << 31))


def _to_uint32(b: DialectBuilder, x: Value) -> Value:
    """The remainder by 2^32, which is exact, half of the range lower; of what int64 lacks, 0."""
    if b.dialect.entry(Operation.CAST, x.type.dtype, "int64") and x.type.lanes > 1:
        return b.cast(b.cast(x, "int64"), "uint32")
    wide = b.apply(Operation.TRUNCATE, b.cast(x, "float64"))
    inside = (wide < 2.0**63) & (wide >= -(2.0**63))
    wide = b.select(inside, wide, 0.0)
    rest = wide - b.apply(Operation.FLOOR, wide * 2.0**-32) * 2.0**32
    return b.bitcast(b.cast(rest - 2.0**31, "int32"), vector("uint32", x.type.lanes)) ^ 1 << 31


def _of_half(b: DialectBuilder, x: Value, dtype: str) -> Value:
    if x.type.dtype == "bfloat16":
        bits = b.cast(b.bitcast(x, unsigned(x.type)), "uint32") << 16
        return b.cast(b.bitcast(bits, x.type.of("float32")), dtype)
    if dtype != "float32":
        return b.cast(b.cast(x, "float32"), dtype)
    if b.dialect.entry(Operation.CAST, "float16", "float32"):
        return _in_vector(b, x, dtype)
    bits = b.cast(b.bitcast(x, unsigned(x.type)), "uint32")
    size, sign = (bits & 0x7FFF) << 13, (bits & 0x8000) << 16
    number = b.bitcast(b.bitcast(size, x.type.of("float32")) * 2.0**112, size.type)
    special = b.select(size >= 0x0F800000, b.constant(0x7F800000, size.type), 0)
    return b.bitcast(number | special | sign, x.type.of("float32"))


def _in_vector(b: DialectBuilder, x: Value, dtype: str) -> Value:
    """A scalar by the instruction for vectors."""
    return b.shuffle((b.cast(b.splat(x, 4), dtype),), (0,))


def _to_half(b: DialectBuilder, x: Value, dtype: str) -> Value:
    if x.type.dtype != "float32":
        wide = _as_float32(b, x, dtype)
        return _number_to_bfloat16(b, wide) if dtype == "bfloat16" and not x.type.is_float else b.cast(wide, dtype)
    if dtype == "bfloat16":
        return _to_bfloat16(b, x)
    if b.dialect.entry(Operation.CAST, "float32", "float16"):
        return _in_vector(b, x, dtype)
    return _to_float16(b, x)


def _to_bfloat16(b: DialectBuilder, x: Value) -> Value:
    """Of NaN the upper half, quiet."""
    found = b.select(x.equals(x), _near_bfloat16(b, x), b.bitcast(x, unsigned(x.type)) | 0x400000)
    return _upper_half(b, found)


def _number_to_bfloat16(b: DialectBuilder, x: Value) -> Value:
    """Of what is no NaN."""
    return _upper_half(b, _near_bfloat16(b, x))


def _near_bfloat16(b: DialectBuilder, x: Value) -> Value:
    """Bits whose upper half is the nearest one, of two the even one."""
    bits = b.bitcast(x, unsigned(x.type))
    return bits + 0x7FFF + ((bits >> 16) & 1)


def _upper_half(b: DialectBuilder, bits: Value) -> Value:
    lanes = bits.type.lanes
    if lanes == 1:
        return b.bitcast(b.cast(bits >> 16, "uint16"), vector("bfloat16", 1))
    return b.shuffle((b.bitcast(bits, vector("bfloat16", 2 * lanes)),), range(1, 2 * lanes, 2))


def _to_float16(b: DialectBuilder, x: Value) -> Value:
    """By the bits of a float32: 0.5 plus a number below 2^-14 is rounded where the last bit of a denormal float16 stands."""
    bits = b.bitcast(x, unsigned(x.type))
    size, sign = bits & 0x7FFFFFFF, (bits >> 16) & 0x8000
    normal = (size - 0x38000000 + 0xFFF + ((size >> 13) & 1)) >> 13
    small = b.bitcast(b.bitcast(b.select(size < 0x38800000, size, 0), x.type) + 0.5, size.type) - 0x3F000000
    large = b.select(size > 0x7F800000, b.constant(0x7E00, size.type), 0x7C00)
    found = b.select(size >= 0x47800000, large, b.select(size < 0x38800000, small, normal))
    return b.bitcast(b.cast(found | sign, "uint16"), x.type.of("float16"))


def _as_float32(b: DialectBuilder, x: Value, dtype: str) -> Value:
    """A float64, or integers, as the float32 that rounds to a shorter float as they do."""
    source = x.type
    if source.bits < 32:
        return b.cast(x, "float32")
    if source.is_float:
        return b.cast(_with_sticky_bits(b, x, MANTISSA_BITS["float64"] - KEPT_BITS[dtype]), "float32")
    if dtype == "float16":
        return b.cast(_limited(b, x), "float32")
    if source.bits == 32:
        return b.cast(_short_integer(b, x, 8), "float32")
    return _as_float32(b, b.cast(_short_integer(b, x, 11), "float64"), dtype)


KEPT_BITS = {"float16": 12, "bfloat16": 9}
"""Of a mantissa that is rounded later: two more than the type has, the last of which says whether anything is missing [S. Boldo,
G. Melquiond, 2008: rounding to odd]. Below the normal numbers of float32 it keeps them all, or the result is 0."""
BEYOND_FLOAT16 = 1 << 17
"""Larger integers become infinite, too."""


def _with_sticky_bits(b: DialectBuilder, x: Value, count: int) -> Value:
    """A number whose last bits are 0, and the one before them set if any was; of NaN, too: those of its mantissa that count lie
    before."""
    bits = b.bitcast(x, unsigned(x.type))
    most = (1 << count) - 1
    return b.bitcast((bits | (bits & most) + most) & ~most, x.type)


def _limited(b: DialectBuilder, x: Value) -> Value:
    """Integers that float32 has, as int32."""
    x = b.apply(Operation.SMALLER, x, BEYOND_FLOAT16)
    return b.cast(b.apply(Operation.LARGER, x, -BEYOND_FLOAT16) if x.type.is_signed else x, "int32")


def _short_integer(b: DialectBuilder, x: Value, count: int) -> Value:
    """Integers of which bfloat16 has 8 bits: so many last ones are rounded to odd where ten others lie before them."""
    rough, limit = _with_sticky_bits(b, x, count), 1 << 2 * count + 1
    if not x.type.is_signed:
        return b.select(x < limit, x, rough)
    size = b.bitcast(x, unsigned(x.type)) + limit
    return b.select(size < 2 * limit, x, rough)


def saturated(b: DialectBuilder, t: Type, operands: tuple[Value, ...], detail: Detail) -> Value:
    """Limits first, then a cast."""
    (x,) = operands
    if x.type.dtype in ("float16", "bfloat16"):
        return b.saturate(b.cast(x, "float32"), t.dtype)
    least, most = _limits(t)
    if x.type.is_float:
        return _saturated_float(b, x, t, least, most)
    own_least, own_most = _limits(x.type)
    if least > own_least:
        x = b.apply(Operation.LARGER, x, least)
    if most < own_most:
        x = b.apply(Operation.SMALLER, x, most)
    return b.cast(x, t.dtype)


def _limits(t: Type) -> tuple[int, int]:
    """The smallest and the largest integer of a type.

    >>> _limits(vector("int8")), _limits(vector("uint8"))
    ((-128, 127), (0, 255))
    """
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def _saturated_float(b: DialectBuilder, x: Value, t: Type, least: int, most: int) -> Value:
    """Rounded to even first. The largest integer may be no float: what is not below the next one is it."""
    near = b.apply(Operation.ROUND, x)
    near = b.apply(Operation.LARGER, b.select(x.equals(x), near, 0.0), float(least))
    if t.bits < (32 if x.type.dtype == "float32" else 64):
        return b.cast(b.apply(Operation.SMALLER, near, float(most)), t.dtype)
    is_large = near >= float(most + 1)
    found = b.cast(b.select(is_large, b.constant(0.0, near.type), near), t.dtype)
    return b.select(b.cast(is_large, t.mask.dtype), b.constant(most, t), found)
