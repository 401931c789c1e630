"""Executions in a loop in C (`call_loops.c`), where a call from Python would take longer than the work."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.errors import TilewrightError
from tilewright.runtime import loader
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store import cache as kernel_cache
from tilewright_bench.cases.case import FloatArray

Array = np.ndarray[Any, np.dtype[Any]]
Loop = Callable[[int], None]
"""Executes so many times."""
CALL_FLOPS = 20_000_000
"""Of one call from Python: some 100 us, beside which the 2 us of the call itself do not count."""


def executions(flops: int) -> int:
    """How many executions of so many flops make one call."""
    return max(1, CALL_FLOPS // flops)


GEMMS = {"float32": "sgemm", "float64": "dgemm"}
"""Functions of BLAS, by the type of elements."""


def cblas_gemm_64(function: Any, a: Array, b: Array, c: Array) -> Loop:
    """`cblas_sgemm` or `cblas_dgemm`, by the type of elements, with 64-bit extents."""
    return _product(f"loop_cblas_{GEMMS[a.dtype.name]}_64", function, a, b, c)


def fortran_gemm(function: Any, a: Array, b: Array, c: Array) -> Loop:
    """`sgemm_` or `dgemm_` with 32-bit extents."""
    return _product(f"loop_fortran_{GEMMS[a.dtype.name]}", function, a, b, c)


def mkl_compute(function: Any, a: FloatArray, packed_b: FloatArray, c: FloatArray) -> Loop:
    """MKL's `cblas_sgemm_compute`; b was packed by `cblas_sgemm_pack`."""
    return _product("loop_mkl_compute", function, a, packed_b, c)


def mkl_integers(function: Any, form: int, a: Any, b: Any, c: Any, zero: int) -> Loop:
    """MKL's `cblas_gemm_s8u8s32` or `cblas_gemm_s16s16s32`, or their `..._compute` with b packed: `form` says how b is given."""
    extents = [ctypes.c_int(extent) for extent in (*c.shape, a.shape[1])]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    run = call("loop_mkl_integers", ctypes.cast(function, ctypes.c_void_p), form, *extents, *pointers, ctypes.c_int(-zero))
    return lambda count: (run(count), a, b, c)[0]


def dnnl_sgemm(function: Any, a: FloatArray, b: FloatArray, c: FloatArray) -> Loop:
    """oneDNN's `dnnl_sgemm`."""
    return _product("loop_dnnl_sgemm", function, a, b, c)


def call(name: str, *arguments: Any) -> Loop:
    """The loop of that name with these arguments behind the count; it raises `TilewrightError` if an execution fails."""
    loop = getattr(_library(), name)
    loop.restype = ctypes.c_long

    def run(count: int) -> None:
        if failures := loop(ctypes.c_long(count), *arguments):
            raise TilewrightError(f"{failures} of {count} executions failed", where=name)

    return run


def _product(name: str, function: Any, a: Array, b: Array, c: Array) -> Loop:
    extents = [ctypes.c_long(extent) for extent in (*c.shape, a.shape[1])]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    run = call(name, ctypes.cast(function, ctypes.c_void_p), *extents, *pointers)
    return lambda count: (run(count), a, b, c)[0]


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    text = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    artifact = Artifact("loop_cblas_sgemm_64", text, (), platform.machine(), frozenset(), Signature((), (), ()))
    return loader.load(libraries.build(artifact, toolchain.find(), kernel_cache.default()), ctypes.CDLL)
