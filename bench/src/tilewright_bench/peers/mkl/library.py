"""As much of MKL's C API as products of integers need: `cblas_gemm_s8u8s32`, `cblas_gemm_s16s16s32`, and their packed forms."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np

from tilewright_bench.measurement import call_loops

PACKAGE, LIBRARY = "mkl", "libmkl_rt.so"
HINT = "pip install mkl (wheels for x86-64)"
ROW_MAJOR, NO_TRANSPOSE, B_MATRIX, PACKED = 101, 111, 162, 151
"""Of `mkl_cblas.h`."""
NAMES = {"uint8": "s8u8s32", "int16": "s16s16s32"}
"""By the type of the left operand; of row-major matrices that of bytes is the unsigned one."""
Array = np.ndarray[Any, np.dtype[Any]]


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """The library of the wheel; variables of the environment were set before. Raises `OSError` if it cannot be loaded."""
    files = [file for file in metadata.files(PACKAGE) or () if file.name.startswith(LIBRARY)]
    return ctypes.CDLL(str(files[0].locate()) if files else LIBRARY)


def product(a: Array, b: Array, c: Array, *, prepacked: bool, zero: int = 0) -> call_loops.Loop:
    """c = (a - zero) b of dense matrices, a of unsigned bytes and b of signed ones, or both of 16 bits; c is of 32 bits.

    `prepacked`: b is packed here, and not at every execution.
    """
    name = f"cblas_gemm_{NAMES[a.dtype.name]}"
    right = _packed(name, b, c.shape[0]) if prepacked else b
    function = getattr(load(), f"{name}_compute" if prepacked else name)
    form = PACKED if prepacked else NO_TRANSPOSE
    return call_loops.mkl_integers(function, form, a, right, c, zero)


def _packed(name: str, b: Array, rows: int) -> Array:
    """A right-hand side as `..._pack` arranges it for products of so many rows."""
    library, (depth, columns) = load(), b.shape
    size_of = getattr(library, f"{name}_pack_get_size")
    size_of.restype = ctypes.c_size_t
    packed = np.empty(size_of(B_MATRIX, rows, columns, depth), np.int8)
    begins = [ctypes.c_void_p(array.ctypes.data) for array in (b, packed)]
    getattr(library, f"{name}_pack")(ROW_MAJOR, B_MATRIX, NO_TRANSPOSE, rows, columns, depth, begins[0], columns, begins[1])
    return packed
