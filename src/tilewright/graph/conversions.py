"""Which conversions between element types keep every value, whatever the values are.

A type is described by the numbers that it holds: `digits` binary digits, of which the last one stands for 2^`finest` or more,
between `lowest` and `largest`; and by what it holds beside numbers. One type holds another one if it does in all of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log2

import ml_dtypes

INFINITY, NAN, NEGATIVE_ZERO = "infinity", "NaN", "-0"
POWER = "float8_e8m0fnu"
"""Powers of two and NaN: no zero, and nothing negative."""
WITHOUT_INFINITY = frozenset(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn", POWER))
WITHOUT_NEGATIVE_ZERO = frozenset(("float8_e4m3fnuz", "float8_e5m2fnuz", POWER))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that an element type holds."""

    digits: int
    finest: int
    lowest: float
    largest: float
    others: frozenset[str]


@cache
def numbers_of(dtype: str) -> Numbers:
    """The numbers of an element type, by its NumPy name.

    >>> numbers_of("int8").digits, numbers_of("float16").finest, numbers_of("float8_e4m3fn").largest
    (7, -24, 448.0)
    """
    if dtype == "bool":
        return Numbers(1, 0, 0, 1, frozenset())
    if "int" in dtype:
        limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return Numbers(int(limits.max).bit_length(), 0, int(limits.min), int(limits.max), frozenset())
    floats = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    others = {INFINITY, NAN, NEGATIVE_ZERO}
    others -= {INFINITY} if dtype in WITHOUT_INFINITY else set()
    others -= {NEGATIVE_ZERO} if dtype in WITHOUT_NEGATIVE_ZERO else set()
    others -= {NAN} if dtype == "float4_e2m1fn" else set()
    digits = 1 if dtype == POWER else floats.nmant + 1
    finest = round(log2(float(floats.smallest_subnormal)))
    lowest = float(floats.smallest_normal if dtype == POWER else -floats.max)
    return Numbers(digits, finest, lowest, float(floats.max), frozenset(others))


def is_lossless(source: str, target: str) -> bool:
    """Whether every element of one type has the same value in another one. A NaN may become another NaN.

    >>> is_lossless("int16", "float32"), is_lossless("int32", "float32"), is_lossless("int8", "uint64")
    (True, False, False)
    """
    of, into = numbers_of(source), numbers_of(target)
    fits = into.lowest <= of.lowest and of.largest <= into.largest
    return fits and of.digits <= into.digits and of.finest >= into.finest and of.others <= into.others
