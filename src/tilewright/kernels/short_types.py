"""C text that reads elements of 2, 4 and 8 bits as floats, and stores floats as such elements: one a byte.

Integers keep the low bits of their whole part. Floats are rounded to the nearest, ties to even; what is beyond the largest
becomes infinity, or where a type has none NaN, and in float4, which has neither, the largest.
float8e8m0 has powers of two alone, from 2^-127 on; what lies between two is stored as the nearer one, and a middle as the upper.
Source: the OCP 8-bit floating point specification 1.0, and that of microscaling formats 1.0 (e8m0); Graphcore's 8-bit types
(`fnuz`) as in ONNX's documentation of float8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.kernels.conversions import CONVERSIONS
from tilewright.kernels.helpers import Helper, filled


@dataclass(frozen=True, slots=True)
class ShortFloat:
    """How codes stand for numbers: exponents and mantissas, from the upper bits on, behind the sign."""

    mantissa_bits: int
    bias: int
    sign: int
    """The sign's bit, by its value."""
    largest: int
    """The code of the largest number."""
    beyond: int
    """The code of larger numbers."""
    not_a_number: int
    has_negative_zero: bool


FLOATS: Mapping[str, ShortFloat] = MappingProxyType(
    {
        "float8_e4m3fn": ShortFloat(3, 7, 0x80, 0x7E, 0x7F, 0x7F, True),
        "float8_e4m3fnuz": ShortFloat(3, 8, 0x80, 0x7F, 0x80, 0x80, False),
        "float8_e5m2": ShortFloat(2, 15, 0x80, 0x7B, 0x7C, 0x7E, True),
        "float8_e5m2fnuz": ShortFloat(2, 16, 0x80, 0x7F, 0x80, 0x80, False),
        "float4_e2m1fn": ShortFloat(1, 1, 0x8, 0x7, 0x7, 0x8, True),
    }
)
INTEGER_BITS: Mapping[str, int] = MappingProxyType({"int4": 4, "uint4": 4, "int2": 2, "uint2": 2})

INTEGER = """\
TW_INLINE float tw_float_of_@NAME@(unsigned char x) { return (float)@VALUE@; }
TW_INLINE unsigned char tw_@NAME@_of(float x) { return (unsigned char)(tw_int32_of(x) & ((1 << @BITS@) - 1)); }
"""
UNSIGNED_VALUE = "(int)((unsigned)x & ((1u << @BITS@) - 1))"
SIGNED_VALUE = "((int)((unsigned)x << (32 - @BITS@)) >> (32 - @BITS@))"
# Numbers below the least normal one are rounded by a sum: the last bit of floats as large as @ROUNDER@ is worth @LEAST@.
FLOAT = """\
TW_INLINE float tw_float_of_@NAME@(unsigned char x) {
  const int size = x & (@SIGN@ - 1);
  const union { unsigned bits; float value; } normal = {((unsigned)size << @BELOW@) + (@REBIASED@u << 23)};
  const float number = size >= 1 << @MANTISSA@ ? normal.value : (float)size * @LEAST@;
  const float found = size <= @LARGEST@ ? number : @ABOVE_LARGEST@;
  if (!@HAS_NEGATIVE_ZERO@ && x == @SIGN@)
    return __builtin_nanf("");
  return x & @SIGN@ ? -found : found;
}
TW_INLINE unsigned char tw_@NAME@_of(float x) {
  const union { float value; unsigned bits; } from = {x};
  const unsigned size = from.bits & 0x7fffffff, sign = from.bits >> 31 ? @SIGN@ : 0;
  if (size > 0x7f800000)
    return (unsigned char)(@NAN@ | sign);
  const union { unsigned bits; float value; } positive = {size};
  const union { float value; unsigned bits; } sum = {positive.value + @ROUNDER@}, rounder = {@ROUNDER@};
  const unsigned half = (1u << (@BELOW@ - 1)) - 1 + (size >> @BELOW@ & 1);
  unsigned code = sum.bits - rounder.bits;
  if (size >= (@REBIASED@u + 1) << 23)
    code = (size - (@REBIASED@u << 23) + half) >> @BELOW@;
  if (code > @LARGEST@)
    code = @BEYOND@;
  return (unsigned char)(code || @HAS_NEGATIVE_ZERO@ ? code | sign : 0);
}
"""
# Codes are exponents as float32 has them; 0 stands for 2^-127, which float32 holds without a leading bit.
POWERS = """\
TW_INLINE float tw_float_of_@NAME@(unsigned char x) {
  const union { unsigned bits; float value; } power = {x ? (unsigned)x << 23 : 0x400000};
  return x == 255 ? __builtin_nanf("") : power.value;
}
TW_INLINE unsigned char tw_@NAME@_of(float x) {
  const union { float value; unsigned bits; } from = {x};
  if (from.bits - 1 >= 0x7f7fffff)
    return 255;
  return (unsigned char)(from.bits < 0x800000 ? from.bits > 0x400000 : (from.bits + 0x400000) >> 23);
}
"""
"""Zeros, negative numbers and what is not finite become NaN; numbers from 2^-127 to 2^-126 the latter, as in ml_dtypes."""
POWER_TYPE = "float8_e8m0fnu"
GUARDED = "#ifndef TW_SHORT_@NAME@\n#define TW_SHORT_@NAME@\n@TEXT@#endif\n"


def conversions_of(name: str) -> Helper:
    """`tw_float_of_<type>(x)` and `tw_<type>_of(x)`; the text may be repeated within a translation unit.

    >>> conversions_of("int4").name
    'tw_int4_of'
    """
    text = POWERS if name == POWER_TYPE else _of_integers(name) if name in INTEGER_BITS else _of_floats(FLOATS[name])
    return Helper(f"tw_{name}_of", filled(GUARDED, {"TEXT": text, "NAME": name}), (CONVERSIONS,))


def _of_integers(name: str) -> str:
    value = UNSIGNED_VALUE if name.startswith("u") else SIGNED_VALUE
    return filled(INTEGER, {"VALUE": value, "BITS": INTEGER_BITS[name]})


def _of_floats(kind: ShortFloat) -> str:
    has_infinity = kind.beyond == kind.largest + 1 and kind.beyond != kind.not_a_number
    above = f'(size == {kind.beyond} ? __builtin_inff() : __builtin_nanf(""))' if has_infinity else '__builtin_nanf("")'
    values = {
        "SIGN": kind.sign,
        "BELOW": 23 - kind.mantissa_bits,
        "REBIASED": 127 - kind.bias,
        "MANTISSA": kind.mantissa_bits,
        "LEAST": f"0x1p{1 - kind.bias - kind.mantissa_bits}f",
        "ROUNDER": f"0x1p{24 - kind.bias - kind.mantissa_bits}f",
        "LARGEST": kind.largest,
        "ABOVE_LARGEST": above,
        "BEYOND": kind.beyond,
        "NAN": kind.not_a_number,
        "HAS_NEGATIVE_ZERO": int(kind.has_negative_zero),
    }
    return filled(FLOAT, values)
