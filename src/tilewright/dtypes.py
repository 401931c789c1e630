"""Element types by name, those of ml_dtypes included, which is imported when one of them is asked for.

Those of 2, 4 and 8 bits are stored, a byte each, and computed in float32. Source of what their codes stand for: the OCP 8-bit
floating point specification 1.0, and that of microscaling formats 1.0 (e8m0); Graphcore's 8-bit types (`fnuz`) as in ONNX's
documentation of float8.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.records import record


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
"""By name in NumPy and ml_dtypes: a line more is a type more."""
INTEGER_BITS: Mapping[str, int] = MappingProxyType({"int4": 4, "uint4": 4, "int2": 2, "uint2": 2})
POWER_TYPE = "float8_e8m0fnu"
"""Powers of two and NaN: no zero, and nothing negative."""

BITS: Mapping[str, str] = MappingProxyType(
    {"bfloat16": "uint16", POWER_TYPE: "uint8", **{name: "uint8" for name in FLOATS if name.startswith("float8")}}
)
"""By name of the types that torch and ml_dtypes know, and NumPy does not, the type that holds their bits."""


@cache
def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy type of that name. Raises `TypeError` where there is none.

    >>> dtype_named("bfloat16").itemsize
    2
    """
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name, name))
