"""ONNX's element types: their numbers, their NumPy types, and their names in `tensor(...)`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError, InvalidModel

STRING = 8

_NAMES: dict[int, tuple[str, str]] = {
    1: ("float32", "float"),
    2: ("uint8", "uint8"),
    3: ("int8", "int8"),
    4: ("uint16", "uint16"),
    5: ("int16", "int16"),
    6: ("int32", "int32"),
    7: ("int64", "int64"),
    STRING: ("object", "string"),
    9: ("bool", "bool"),
    10: ("float16", "float16"),
    11: ("float64", "double"),
    12: ("uint32", "uint32"),
    13: ("uint64", "uint64"),
    14: ("complex64", "complex64"),
    15: ("complex128", "complex128"),
    16: ("bfloat16", "bfloat16"),
    17: ("float8_e4m3fn", "float8e4m3fn"),
    18: ("float8_e4m3fnuz", "float8e4m3fnuz"),
    19: ("float8_e5m2", "float8e5m2"),
    20: ("float8_e5m2fnuz", "float8e5m2fnuz"),
    21: ("uint4", "uint4"),
    22: ("int4", "int4"),
    23: ("float4_e2m1fn", "float4e2m1"),
    24: ("float8_e8m0fnu", "float8e8m0"),
    25: ("uint2", "uint2"),
    26: ("int2", "int2"),
}
"""By the number of `TensorProto.DataType`: NumPy's name and the name in ONNX's type strings."""

BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}
"""Of the types that share a byte in files."""


def dtype_of(number: int, where: str) -> np.dtype[Any]:
    """The NumPy type of an element type; strings are objects. Raises `InvalidModel` for a number that no type has.

    >>> dtype_of(16, "x").name
    'bfloat16'
    """
    if number not in _NAMES:
        raise InvalidModel(f"there is no element type {number}", where=where)
    name = _NAMES[number][0]
    return np.dtype(getattr(ml_dtypes, name, name))


def element_type(code: Any) -> np.dtype[Any]:
    """The NumPy type for an ONNX number (strings are objects); a type or its name stays. Raises `DTypeError` for others.

    >>> element_type(10), element_type("int8")
    (dtype('float16'), dtype('int8'))
    """
    name = _NAMES.get(int(code), ("", ""))[0] if isinstance(code, int | np.integer) else _numpy_name(code)
    if name not in {numpy for numpy, _ in _NAMES.values()}:
        raise DTypeError(f"element type {code} is not known here", hint="ONNX numbers its element types from 1 to 26")
    return np.dtype(getattr(ml_dtypes, name, name))


def _numpy_name(code: Any) -> str:
    try:
        return str(np.dtype(code).name)
    except TypeError:
        return ""


def onnx_number(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a NumPy type; 0 for types that it does not have.

    >>> onnx_number(np.dtype("float64"))
    11
    """
    name = onnx_name(dtype)
    return next((number for number, names in _NAMES.items() if names[1] == name), 0)


def type_named(name: str) -> np.dtype[Any]:
    """The NumPy type of ONNX's name of it. Raises `DTypeError` for others.

    >>> type_named("double"), type_named("bfloat16")
    (dtype('float64'), dtype(bfloat16))
    """
    return element_type(next((number for number, names in _NAMES.items() if names[1] == name), 0))


def onnx_name(dtype: np.dtype[Any]) -> str:
    """ONNX's name of a NumPy type.

    >>> onnx_name(np.dtype("float64"))
    'double'
    """
    name = "object" if dtype.kind in "OUST" else dtype.name
    return next((onnx for numpy, onnx in _NAMES.values() if numpy == name), dtype.name)
