"""ONNX's element types: their numbers, their NumPy types, and their names in `tensor(...)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, InvalidModel

STRING = 8

_NAMES = (
    *("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "object", "bool", "float16", "float64"),
    *("uint32", "uint64", "complex64", "complex128", "bfloat16"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("uint4", "int4", "float4_e2m1fn", "float8_e8m0fnu", "uint2", "int2"),
)
_NUMPY_NAMES = dict(enumerate(_NAMES, start=1))
"""By the number of `TensorProto.DataType`."""
_OTHER = {
    "float32": "float",
    "float64": "double",
    "object": "string",
    "float4_e2m1fn": "float4e2m1",
    "float8_e8m0fnu": "float8e8m0",
}
_ONNX_NAMES = {name: _OTHER.get(name, name.replace("_", "")) for name in _NUMPY_NAMES.values()}
"""The names in ONNX's type strings, by those of NumPy."""

BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}
"""Of the types that share a byte in files."""


def dtype_of(number: int, where: str) -> np.dtype[Any]:
    """The NumPy type of an element type; strings are objects. Raises `InvalidModel` for a number that no type has.

    >>> dtype_of(16, "x").name
    'bfloat16'
    """
    if number not in _NUMPY_NAMES:
        raise InvalidModel(f"there is no element type {number}", where=where)
    return _type(_NUMPY_NAMES[number])


def element_type(code: Any) -> np.dtype[Any]:
    """The NumPy type for an ONNX number (strings are objects); a type or its name stays. Raises `DTypeError` for others.

    >>> element_type(10), element_type("int8")
    (dtype('float16'), dtype('int8'))
    """
    name = _NUMPY_NAMES.get(int(code), "") if isinstance(code, int | np.integer) else _numpy_name(code)
    if name not in _ONNX_NAMES:
        raise DTypeError(f"element type {code} is not known here", hint="ONNX numbers its element types from 1 to 26")
    return _type(name)


def _type(name: str) -> np.dtype[Any]:
    return dtype_named(name)


def _numpy_name(code: Any) -> str:
    try:
        return str((dtype_named(code) if isinstance(code, str) else np.dtype(code)).name)
    except TypeError:
        return ""


def onnx_number(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a NumPy type; 0 for types that it does not have.

    >>> onnx_number(np.dtype("float64"))
    11
    """
    return _number_of(onnx_name(dtype))


def type_named(name: str) -> np.dtype[Any]:
    """The NumPy type of ONNX's name of it. Raises `DTypeError` for others.

    >>> type_named("double"), type_named("bfloat16")
    (dtype('float64'), dtype(bfloat16))
    """
    return element_type(_number_of(name))


def _number_of(name: str) -> int:
    return next((number for number, numpy in _NUMPY_NAMES.items() if _ONNX_NAMES[numpy] == name), 0)


def onnx_name(dtype: np.dtype[Any]) -> str:
    """ONNX's name of a NumPy type.

    >>> onnx_name(np.dtype("float64"))
    'double'
    """
    name = "object" if dtype.kind in "OUST" else dtype.name
    return _ONNX_NAMES.get(name, dtype.name)
