"""Vectors of windows in every dialect, between guard pages: the lanes inside are read, and nothing beside them."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest

from tests.support.dialects import DIALECTS
from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, command, dialect_library
from tilewright.c_text.guarded_windows import short_windows, windows
from tilewright.kernels import VectorDialect
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.helpers import texts

EXPORTS = """
EXPORT void vector(float *target, const float *p, long stride, long first, long last, float otherwise) {
  tw_store(target, stride == 1 ? tw_load_between(p, first, last, otherwise)
                               : tw_load_strided_between(p, stride, first, last, otherwise));
}
"""
LIMITS = "\n".join(
    f"TW_INLINE long tw_{name}(long a, long b) {{ return a {sign} b ? a : b; }}" for name, sign in (("min", "<"), ("max", ">"))
)


def check(library: ctypes.CDLL, lanes: int, stride: int) -> None:
    library.vector.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long] * 3 + [ctypes.c_float]
    target = np.empty(lanes, np.float32)
    for first, last, at_end in product(range(lanes + 1), range(-1, lanes + 1), (True, False)):
        count = max((last - 1 - first) * stride + 1, 0)
        memory = GuardedMemory(4 * max(count, 1))
        source = memory.place(max(count, 1), at_end=at_end)
        source[:] = np.arange(1, source.size + 1)
        library.vector(target.ctypes.data, source.ctypes.data - 4 * first * stride, stride, first, last, -1.0)
        wanted = np.full(lanes, -1, np.float32)
        wanted[first : max(last, first)] = source[:count:stride]
        assert np.array_equal(target, wanted), (first, last, at_end)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dialect", [pytest.param(one, id=one.name, marks=pytest.mark.needs(*one.features)) for one in DIALECTS])
def test_only_lanes_inside_are_read(dialect: VectorDialect, stride: int) -> None:
    compiler = next(filter(command, COMPILERS))
    in_child(check, dialect_library(dialect, compiler, LIMITS + windows(dialect.lanes).text + EXPORTS), dialect.lanes, stride)


SHORT_EXPORTS = (
    EXPORTS.replace("vector(", "vector_@NAME@(").replace("float *p", "@TYPE@ *p").replace("between(", "between_@NAME@(")
)
VALUES = {
    "int8": [-128, 127, -1, 0, 1],
    "uint8": [0, 255, 128, 1],
    "bool": [True, False],
    "int16": [-32768, 32767, -1],
    "uint16": [65535, 0, 32768],
    "int32": [-(1 << 24), 1 << 24, -7],
    "float16": [65504.0, -0.5, 6e-8],
}


def check_type(library: ctypes.CDLL, lanes: int, stride: int, dtype: str) -> None:
    vector = library[f"vector_{dtype}"]
    vector.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long] * 3 + [ctypes.c_float]
    target = np.empty(lanes, np.float32)
    for first, last, at_end in product(range(lanes + 1), range(-1, lanes + 1), (True, False)):
        values = np.resize(np.array(VALUES[dtype], dtype), max((last - 1 - first) * stride + 1, 1))
        memory = GuardedMemory(-(-values.nbytes // 4) * 4)
        source = memory.place(values.size, at_end=at_end, dtype=values.dtype)
        source[:] = values
        vector(target.ctypes.data, source.ctypes.data - source.itemsize * first * stride, stride, first, last, -3.0)
        wanted = np.full(lanes, -3, np.float32)
        if last > first:
            wanted[first:last] = values[::stride]
        assert np.array_equal(target, wanted), (first, last, at_end)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("dialect", [pytest.param(one, id=one.name, marks=pytest.mark.needs(*one.features)) for one in DIALECTS])
def test_elements_of_other_types(dialect: VectorDialect, dtype: str, stride: int) -> None:
    compiler = next(filter(command, COMPILERS))
    exports = [SHORT_EXPORTS.replace("@TYPE@", C_TYPES[name]).replace("@NAME@", name) for name in VALUES]
    text = "\n".join([LIMITS, *texts(short_windows([*VALUES], dialect.lanes)), *exports])
    in_child(check_type, dialect_library(dialect, compiler, text), dialect.lanes, stride, dtype)
