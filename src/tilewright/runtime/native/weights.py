"""Weights that are looked at in every call, in C (`weights.c`): a third of the time that Python takes for them."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from tilewright.runtime import native

Holds: TypeAlias = Callable[[list[Any]], bool]
PYTHON_FUNCTIONS = (
    *("PyList_GetItem", "PyObject_GetAttr", "PyLong_AsLong", "Py_IncRef", "Py_DecRef", "PyErr_Clear"),
    *("PyCapsule_New", "PyCapsule_GetPointer", "PyCFunction_NewEx"),
)
EXPORTED = ("tw_weights_init", "tw_weights_function")
VERSION = sys.intern("_version")


def holding(elements: int, places: Sequence[int], states: Sequence[tuple[int, int, int]]) -> Holds:
    """What tells whether a list of arguments has weights as they were: at these places, by identity, version and address.

    `elements` is the address of a function in C from an object to the address of its elements. It is asked of these objects
    alone. Raises `ToolchainError` or `CacheError`.
    """
    numbers = [number for place, state in zip(places, states, strict=True) for number in (place, *state)]
    seal = (ctypes.c_long * (3 + len(numbers)))(elements, id(VERSION), len(places), *numbers)
    function: Holds = _library().tw_weights_function(seal)
    return function


@lru_cache(maxsize=1)
def _library() -> ctypes.PyDLL:
    from tilewright.runtime.compilation import libraries
    from tilewright.runtime.native import building
    from tilewright.runtime.store import cache

    ours = building.artifact(EXPORTED[1], native.source("weights.c"), platform.machine(), frozenset())
    _, library = libraries.opened(ours, cache.default(), EXPORTED, ctypes.PyDLL)
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in PYTHON_FUNCTIONS]
    library.tw_weights_init((ctypes.c_void_p * (len(functions) + 2))(*functions, id(False), id(True)))
    library.tw_weights_function.argtypes, library.tw_weights_function.restype = (ctypes.c_void_p,), ctypes.py_object
    return library
