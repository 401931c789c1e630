"""Element types in NumPy meanings: short floating-point numbers are computed in float32, as kernels do, and stored short."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError

_ONNX_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
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


def onnx_type(number: int) -> str:
    """The NumPy (or ml_dtypes) name of an element type by its number in ONNX's TensorProto.DataType; `DTypeError` if unknown.

    >>> onnx_type(1), onnx_type(16)
    ('float32', 'bfloat16')
    """
    if number not in _ONNX_TYPES:
        raise DTypeError(f"{number} is no element type of tensors", hint=f"choose from {', '.join(map(str, _ONNX_TYPES))}")
    return _ONNX_TYPES[number]


def dtype_of(name: str) -> np.dtype[Any]:
    """The type of that name, `ml_dtypes` included.

    >>> dtype_of("bfloat16").itemsize
    2
    """
    return np.dtype(getattr(ml_dtypes, name, name))


def is_short_float(dtype: Any) -> bool:
    """Whether numbers of a type are floating-point ones that are shorter than float32.

    >>> is_short_float(np.float16), is_short_float(np.float32)
    (True, False)
    """
    return np.dtype(dtype).name.startswith(("float16", "bfloat16", "float8", "float4"))


def widened(x: Any) -> Any:
    """An array of short floating-point numbers as float32, any other as it is."""
    return x.astype(np.float32) if isinstance(x, np.ndarray | np.generic) and is_short_float(x.dtype) else x


def in_operand_type(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A meaning whose operands are widened, and whose result has the type of its first operand again.

    >>> in_operand_type(lambda x: x / 3)(np.ones(2, np.float16)).dtype
    dtype('float16')
    """

    @wraps(meaning)
    def evaluate(x: Any, *others: Any, **attributes: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(meaning(widened(x), *map(widened, others), **attributes)).astype(x.dtype)

    return evaluate
