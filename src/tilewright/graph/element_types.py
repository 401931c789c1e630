"""Element types by their numbers in ONNX files (`TensorProto.DataType` of onnx.proto), and sizes that are worth an attempt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError, ShapeError

STRING = 8
NAMES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    STRING: "object",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
MOST_ELEMENTS = 2**31
"""Results with more elements than this are refused before memory is asked for them."""


def element_type(code: Any) -> np.dtype[Any]:
    """The NumPy type for an ONNX number (strings are objects); a type or its name stays. Raises `DTypeError` for others.

    >>> element_type(10), element_type("int8")
    (dtype('float16'), dtype('int8'))
    """
    name = NAMES.get(int(code), "") if isinstance(code, int | np.integer) else np.dtype(code).name
    if not name or (not hasattr(np, name) and not hasattr(ml_dtypes, name)):
        raise DTypeError(f"element type {code} is not known here", hint="ONNX numbers its element types from 1 to 26")
    return np.dtype(getattr(ml_dtypes, name, name))


def check_size(shape: Sequence[int], where: str) -> tuple[int, ...]:
    """The shape as integers; raises `ShapeError` for negative extents and for more than MOST_ELEMENTS elements."""
    extents = tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in extents) or math.prod(extents) > MOST_ELEMENTS:
        why = f"extents are 0 or more, elements at most {MOST_ELEMENTS}"
        raise ShapeError(f"a result of shape {extents}", where=where, why=why)
    return extents
