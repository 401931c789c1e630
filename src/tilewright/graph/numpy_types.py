"""Element types of NumPy and ml_dtypes: what they hold, and how values are converted between them.

Short floating-point numbers in NumPy: they are computed in float32, as by kernels, and stored short.

Which conversions between element types keep every value, whatever the values are.

A type is described by the numbers that it holds: `digits` binary digits, of which the last one stands for 2^`finest` or more,
between `lowest` and `largest`; and by what it holds beside numbers. One type holds another one if it does in all of these.
"""

from __future__ import annotations

from functools import cache
from math import isfinite, log2
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dtypes import POWER_TYPE
from tilewright.records import record


def is_short_float(dtype: Any) -> bool:
    """Whether numbers of a type are floating-point ones that are shorter than float32.

    >>> is_short_float(np.float16), is_short_float(np.float32)
    (True, False)
    """
    return str(np.dtype(dtype).name).startswith(("float16", "bfloat16", "float8", "float4"))


def is_float(dtype: str) -> bool:
    """Whether elements of a type, by its NumPy name, have a fraction.

    >>> is_float("float32"), is_float("bfloat16"), is_float("int4"), is_float("bool")
    (True, True, False, False)
    """
    return "float" in dtype


def widened(x: Any) -> Any:
    """An array of short floating-point numbers as float32, any other as it is."""
    return x.astype(np.float32) if isinstance(x, np.ndarray | np.generic) and is_short_float(x.dtype) else x


def rounded_once(x: Any, dtype: str) -> Any:
    """Numbers in a half-width type, rounded once: ml_dtypes rounds doubles and integers to float32 before.

    >>> float(rounded_once(np.array(1 + 2.0**-8 + 2.0**-30), "bfloat16"))
    1.0078125
    """
    x = np.asarray(x)
    if dtype == "bfloat16" and x.dtype.kind in "iu":
        x = _held_by_float64(x).astype(np.float64)
    if dtype != "bfloat16" or x.dtype != np.float64:
        return x.astype(dtype)
    near = x.astype(np.float32)
    bits = near.view(np.uint32)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x)
    is_inexact = (near != x) & (x == x)
    return np.where(is_inexact, (bits - beyond) | 1, bits).astype(np.uint32).view(np.float32).astype(dtype)


def _held_by_float64(x: Any) -> Any:
    """Integers, whose last digit that float64 has says whether any was lost."""
    if x.dtype.itemsize < 8:
        return x
    upper = x >> 11 << 11
    return np.where((upper == x) | (np.abs(x) < 2**53), x, upper | 2**11)


def number_of(value: float, dtype: Any) -> float:
    """A constant, which among integers is one where it can be: they would be compared and chosen as float64 otherwise."""
    if np.issubdtype(dtype, np.integer) and isfinite(value) and value == int(value):
        limits = np.iinfo(dtype)
        return int(value) if limits.min <= value <= limits.max else value
    return value


INFINITY, NAN, NEGATIVE_ZERO = "infinity", "NaN", "-0"


@record
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
    infinity, nan, zero = np.array([np.inf, np.nan, -0.0]).astype(dtype).astype(np.float64)
    held = {INFINITY: np.isinf(infinity), NAN: np.isnan(nan), NEGATIVE_ZERO: zero == 0 and np.signbit(zero)}
    digits = 1 if dtype == POWER_TYPE else floats.nmant + 1
    finest = round(log2(float(floats.smallest_subnormal)))
    lowest = float(floats.smallest_normal if dtype == POWER_TYPE else -floats.max)
    return Numbers(digits, finest, lowest, float(floats.max), frozenset(other for other, is_held in held.items() if is_held))


def is_lossless(source: str, target: str) -> bool:
    """Whether every element of one type has the same value in another one. A NaN may become another NaN.

    >>> is_lossless("int16", "float32"), is_lossless("int32", "float32"), is_lossless("int8", "uint64")
    (True, False, False)
    """
    of, into = numbers_of(source), numbers_of(target)
    fits = into.lowest <= of.lowest and of.largest <= into.largest
    return fits and of.digits <= into.digits and of.finest >= into.finest and of.others <= into.others
