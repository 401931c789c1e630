"""Conversions of element types in C.

C text that converts numbers between element types as NumPy's `astype` does, and never with undefined behaviour.

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
from functools import cache
from types import MappingProxyType

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.helpers import Helper, filled
from tilewright.records import record

TEXTS = CTexts(__file__)

CONVERSIONS = Helper("tw_type_of", TEXTS["of_doubles"])
"""`tw_<type>_of(x)`: a double as an element of that type. Micro kernels may bring it, too: the text may be repeated within a
translation unit, as that of `whole_numbers_of`."""
BITS = Helper("tw_bits_16", TEXTS["halves"])
"""Micro kernels may bring it, too: the text may be repeated within a translation unit."""


@record
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

UNSIGNED_VALUE = "(int)((unsigned)x & ((1u << @BITS@) - 1))"
SIGNED_VALUE = "((int)((unsigned)x << (32 - @BITS@)) >> (32 - @BITS@))"
POWER_TYPE = "float8_e8m0fnu"
GUARDED = "#ifndef TW_SHORT_@NAME@\n#define TW_SHORT_@NAME@\n@TEXT@#endif\n"


@cache
def whole_numbers_of() -> Helper:
    """`tw_whole_numbers_of(v)`: a vector of floats as whole numbers of 32 bits."""
    return Helper("tw_whole_numbers_of", with_instructions(TEXTS["whole_numbers"]))


@cache
def conversions_of(name: str) -> Helper:
    """`tw_float_of_<type>(x)` and `tw_<type>_of(x)`; the text may be repeated within a translation unit.

    >>> conversions_of("int4").name
    'tw_int4_of'
    """
    text = TEXTS["powers"] if name == POWER_TYPE else _of_integers(name) if name in INTEGER_BITS else _of_floats(FLOATS[name])
    return Helper(f"tw_{name}_of", filled(GUARDED, {"TEXT": text, "NAME": name}), (CONVERSIONS,))


def _of_integers(name: str) -> str:
    value = UNSIGNED_VALUE if name.startswith("u") else SIGNED_VALUE
    return filled(TEXTS["integer"], {"VALUE": value, "BITS": INTEGER_BITS[name]})


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
    return filled(TEXTS["float"], values)
