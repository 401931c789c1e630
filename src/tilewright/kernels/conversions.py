"""Conversions of element types in C.

C text that converts numbers between element types as NumPy's `astype` does on x86-64, and never with undefined behaviour.

Floats become integers by cutting off their fraction. What an integer type does not hold becomes what the conversion instruction
gives: the smallest int32 or int64, of which shorter types, and uint32, keep the low bits. Halves are rounded to the nearest, ties
to even. Halves are integers of 16 bits here: library calls, which compilers make of `_Float16`, would be imported symbols.

C text that reads elements of 2, 4 and 8 bits as floats, and stores floats as such elements: one a byte.

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

from tilewright.kernels.helpers import Helper, filled

CONVERSIONS = Helper(
    "tw_type_of",
    """\
#ifndef TW_CONVERSIONS
#define TW_CONVERSIONS
TW_INLINE unsigned char tw_bool_of(double x) { return x != 0; }
TW_INLINE int tw_int32_of(double x) { return x > -0x1.00000002p31 && x < 0x1p31 ? (int)x : -0x7fffffff - 1; }
TW_INLINE long tw_int64_of(double x) { return x >= -0x1p63 && x < 0x1p63 ? (long)x : -0x7fffffffffffffffL - 1; }
TW_INLINE signed char tw_int8_of(double x) { return (signed char)tw_int32_of(x); }
TW_INLINE short tw_int16_of(double x) { return (short)tw_int32_of(x); }
TW_INLINE unsigned char tw_uint8_of(double x) { return (unsigned char)tw_int32_of(x); }
TW_INLINE unsigned short tw_uint16_of(double x) { return (unsigned short)tw_int32_of(x); }
TW_INLINE unsigned tw_uint32_of(double x) { return (unsigned)tw_int64_of(x); }
TW_INLINE unsigned long tw_uint64_of(double x) {
  return x < 0x1p63 || x != x ? (unsigned long)tw_int64_of(x) : x < 0x1p64 ? (unsigned long)x : 0;
}
TW_INLINE float tw_float32_of(double x) { return (float)x; }
TW_INLINE double tw_float64_of(double x) { return x; }
/* Rounded to odd, so that rounding once more gives what rounding once would have given. */
TW_INLINE unsigned tw_odd_bits_of(double x) {
  union { float value; unsigned bits; } to = {(float)x};
  if ((double)to.value != x && x == x) {
    to.bits -= __builtin_fabs((double)to.value) > __builtin_fabs(x);
    to.bits |= 1;
  }
  return to.bits;
}
TW_INLINE unsigned short tw_float16_of(double x) {
  const unsigned bits = tw_odd_bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size >= 0x47800000)
    return (unsigned short)(sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00));
  if (size >= 0x38800000)
    return (unsigned short)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
  const union { unsigned bits; float value; } small = {size};
  const union { float value; unsigned bits; } sum = {small.value + 0.5f};
  return (unsigned short)(sign | (sum.bits - 0x3f000000));
}
TW_INLINE unsigned short tw_bfloat16_of(double x) {
  const unsigned bits = tw_odd_bits_of(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (unsigned short)((bits >> 16 & 0x8000) | 0x7fc0);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TW_INLINE float tw_float_of_bfloat16(unsigned short x) {
  const union { unsigned bits; float value; } to = {(unsigned)x << 16};
  return to.value;
}
TW_INLINE float tw_float_of_float16(unsigned short x) {
  const unsigned sign = (x & 0x8000u) << 16, size = (x & 0x7fffu) << 13;
  const union { unsigned bits; float value; } from = {size};
  union { float value; unsigned bits; } to = {from.value * 0x1p112f};
  to.bits |= sign | (size >= 0x0f800000 ? 0x7f800000 : 0);
  return to.value;
}
#endif
""",
)
"""`tw_<type>_of(x)`: a double as an element of that type. Micro kernels may bring it, too: the text may be repeated within a
translation unit, as that of `WHOLE_NUMBERS`."""
WHOLE_NUMBERS = Helper(
    "tw_whole_numbers_of",
    """\
#ifndef TW_WHOLE_NUMBERS
#define TW_WHOLE_NUMBERS
/* As tw_int32_of, of every lane. */
TW_INLINE tw_int tw_whole_numbers_of(tw_vec v) {
#if defined(__AVX512F__) || (defined(__AVX__) && TW_LANES <= 8)
  tw_int whole;
  __asm__("vcvttps2dq %1, %0" : "=v"(whole) : "v"(v));
  return whole;
#else
  const tw_int inside = (tw_int)(v >= -0x1p31f) & (tw_int)(v < 0x1p31f);
  return (__builtin_convertvector((tw_vec)((tw_int)v & inside), tw_int) & inside) | (~inside & (-0x7fffffff - 1));
#endif
}
#endif
""",
)
"""A vector of floats as whole numbers of 32 bits."""

# Vectors of the bits of halves. 0x1p112 moves an exponent from the bias of 15 to that of 127, denormal numbers included, and 0.5f
# plus a number below 2^-14 is rounded where the last bit of a denormal half stands.
BITS = Helper(
    "tw_bits_16",
    """\
#ifndef TW_BITS_16
#define TW_BITS_16
typedef unsigned short tw_bits_16 __attribute__((vector_size(TW_LANES * sizeof(short)), aligned(1), may_alias));
typedef unsigned tw_bits_32 __attribute__((vector_size(TW_LANES * sizeof(int))));
TW_INLINE tw_vec tw_widen_bfloat16(tw_int x) { return (tw_vec)((tw_bits_32)x << 16); }
TW_INLINE tw_vec tw_widen_float16(tw_int x) {
  const tw_int size = (x & 0x7fff) << 13, special = (tw_int)(size >= 0x0f800000) & 0x7f800000;
  return (tw_vec)((tw_int)((tw_vec)size * 0x1p112f) | special | (tw_int)((tw_bits_32)(x & 0x8000) << 16));
}
TW_INLINE tw_bits_32 tw_narrow_bfloat16(tw_vec x) {
  const tw_bits_32 bits = (tw_bits_32)x, nan = (tw_bits_32)((tw_int)(bits & 0x7fffffff) > 0x7f800000);
  return (~nan & (bits + 0x7fff + (bits >> 16 & 1)) >> 16) | (nan & ((bits >> 16 & 0x8000) | 0x7fc0));
}
TW_INLINE tw_bits_32 tw_narrow_float16(tw_vec x) {
  const tw_bits_32 bits = (tw_bits_32)x, size = bits & 0x7fffffff;
  const tw_bits_32 is_large = (tw_bits_32)((tw_int)size >= 0x47800000), is_nan = (tw_bits_32)((tw_int)size > 0x7f800000);
  const tw_bits_32 is_normal = (tw_bits_32)((tw_int)size >= 0x38800000) & ~is_large;
  const tw_bits_32 normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  const tw_bits_32 small = (tw_bits_32)((tw_vec)(size & ~is_large) + 0.5f) - 0x3f000000;
  const tw_bits_32 large = 0x7c00 | (is_nan & 0x200);
  return (bits >> 16 & 0x8000) | (is_large & large) | (is_normal & normal) | (~is_large & ~is_normal & small);
}
#endif
""",
)
"""Micro kernels may bring it, too: the text may be repeated within a translation unit."""


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
