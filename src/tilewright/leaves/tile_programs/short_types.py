"""Numbers of 2, 4 and 8 bits, a byte each, in tile operations.

Integers keep the low bits of their whole part. Floats are rounded to the nearest, ties to even; what is beyond the largest
becomes infinity, or where a type has none NaN, and in float4, which has neither, the largest.
float8e8m0 has powers of two alone, from 2^-127 on; what lies between two is stored as the nearer one, and a middle as the upper.
"""

from __future__ import annotations

from tilewright.dtypes import FLOATS, INTEGER_BITS, POWER_TYPE, ShortFloat
from tilewright.tile.builder import Builder
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value

NAN = float("nan")
INFINITY_BITS = 0x7F800000


def decoded(b: Builder, codes: Value, dtype: str) -> Value:
    """Codes, as bytes, as float32."""
    code = b.cast(codes, "int32")
    if dtype in INTEGER_BITS:
        return b.cast(_integer_of(code, dtype), "float32")
    return _power_of(b, code) if dtype == POWER_TYPE else _float_of(b, code, FLOATS[dtype])


def encoded(b: Builder, value: Value, dtype: str) -> Value:
    """Lanes of float32 as codes, in bytes."""
    if dtype in INTEGER_BITS:
        return b.cast(b.cast(value, "int32") & ((1 << INTEGER_BITS[dtype]) - 1), "uint8")
    return b.cast(_code_of_power(b, value) if dtype == POWER_TYPE else _code_of(b, value, FLOATS[dtype]), "uint8")


def _integer_of(code: Value, dtype: str) -> Value:
    bits = INTEGER_BITS[dtype]
    if dtype.startswith("u"):
        return code & ((1 << bits) - 1)
    return code << (32 - bits) >> (32 - bits)


def _power_of(b: Builder, code: Value) -> Value:
    """Codes are exponents as float32 has them; 0 stands for 2^-127."""
    power = b.bitcast(b.select(code.equals(0), 0x400000, code << 23), code.type.of("float32"))
    return b.select(code.equals(255), NAN, power)


def _code_of_power(b: Builder, value: Value) -> Value:
    """Zeros, negative numbers and what is not finite become NaN."""
    bits = b.bitcast(value, value.type.integer)
    small = b.select(bits > 0x400000, b.constant(1, bits.type), 0)
    code = b.select(bits < 0x800000, small, bits + 0x400000 >> 23)
    return b.select((bits <= 0) | (bits >= INFINITY_BITS), 255, code)


def _float_of(b: Builder, code: Value, kind: ShortFloat) -> Value:
    size, float32 = code & kind.sign - 1, code.type.of("float32")
    below = 23 - kind.mantissa_bits
    normal = b.bitcast((size << below) + (127 - kind.bias << 23), float32)
    number = b.select(size >= 1 << kind.mantissa_bits, normal, b.cast(size, "float32") * 2.0 ** _least_exponent(kind))
    found = b.select(size <= kind.largest, number, _above(b, size, kind))
    signed = b.select((code & kind.sign).differs(0), -found, found)
    return signed if kind.has_negative_zero else b.select(code.equals(kind.sign), NAN, signed)


def _above(b: Builder, size: Value, kind: ShortFloat) -> Value:
    """What codes above the largest number are."""
    nan = b.constant(NAN, size.type.of("float32"))
    has_infinity = kind.beyond == kind.largest + 1 and kind.beyond != kind.not_a_number
    return b.select(size.equals(kind.beyond), float("inf"), nan) if has_infinity else nan


def _code_of(b: Builder, value: Value, kind: ShortFloat) -> Value:
    """Numbers below the least normal one are rounded by a sum, whose last bit is worth the least number; others by their bits."""
    bits, below = b.bitcast(value, value.type.integer), 23 - kind.mantissa_bits
    size = bits & 0x7FFFFFFF
    sign = b.select(bits < 0, b.constant(kind.sign, bits.type), 0)
    exponent = _least_exponent(kind) + 23
    small = b.bitcast(b.apply(Operation.ABSOLUTE, value) + 2.0**exponent, bits.type) - (exponent + 127 << 23)
    normal = size - (127 - kind.bias << 23) + (1 << below - 1) - 1 + (size >> below & 1) >> below
    code = b.select(size >= 128 - kind.bias << 23, normal, small)
    code = b.select(code > kind.largest, kind.beyond, code)
    signed = code | sign if kind.has_negative_zero else b.select(code.equals(0), 0, code | sign)
    return b.select(size > INFINITY_BITS, b.constant(kind.not_a_number, bits.type) | sign, signed)


def _least_exponent(kind: ShortFloat) -> int:
    """Of the least number."""
    return 1 - kind.bias - kind.mantissa_bits
