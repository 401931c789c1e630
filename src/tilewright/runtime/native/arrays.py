"""How NumPy's arrays are made and where they begin: told to the C part, which reads and makes them without a call of Python."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

VERSIONS = (0x1000009, 0x2000000)
"""Of NumPy's binary interface: those whose table has these functions at these places."""
VERSION, TYPE, NEW, SET_BASE = 0, 2, 94, 282
"""Places of `PyArray_GetNDArrayCVersion`, `PyArray_Type`, `PyArray_NewFromDescr` and `PyArray_SetBaseObject`."""


def tell(library: ctypes.PyDLL) -> None:
    """Tell the library; where this NumPy or this Python is another one, it goes on by buffers, and results are NumPy's."""
    core: Any = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")
    capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    if core is None:
        return
    table = ctypes.cast(capsule_pointer(core._ARRAY_API, None) or 0, ctypes.POINTER(ctypes.c_void_p))
    if ctypes.CFUNCTYPE(ctypes.c_uint)(table[VERSION] or 0)() not in VERSIONS:
        return
    probe = np.empty((3, 5), np.int16)[:, ::2]
    longs = ctypes.c_long * probe.ndim
    functions = (ctypes.c_void_p * 3)(table[TYPE], table[NEW], table[SET_BASE])
    places = ctypes.c_void_p(id(probe)), ctypes.c_void_p(id(probe.dtype)), ctypes.c_void_p(probe.ctypes.data)
    library.tw_arrays_init(functions, *places, ctypes.c_long(probe.ndim), longs(*probe.shape), longs(*probe.strides))
