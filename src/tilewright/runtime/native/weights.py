"""Weights that are looked at in every call, in C (`weights.c`): a third of the time that Python takes for them."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from tilewright.records import record
from tilewright.runtime import native

Holds: TypeAlias = Callable[[list[Any]], bool]
PYTHON_FUNCTIONS = (
    *("PyList_GetItem", "PyObject_GetAttr", "PyLong_AsLong", "Py_IncRef", "Py_DecRef", "PyErr_Clear"),
    *("PyCapsule_New", "PyCapsule_GetPointer", "PyCFunction_NewEx"),
)
EXPORTED = ("tw_weights_init", "tw_weights_function")
VERSION = sys.intern("_version")
WORD_BYTES = ctypes.sizeof(ctypes.c_long)


@record
class Pieces:
    """What some of the elements of a weight were: as many pieces of `size` bytes as there are, `step` bytes apart."""

    size: int
    step: int
    values: bytes

    @staticmethod
    def at(address: int, size: int, step: int, count: int) -> Pieces:
        """What stands in memory now."""
        return Pieces(size, step, b"".join(ctypes.string_at(address + i * step, size) for i in range(count)))


State: TypeAlias = tuple[int, int, int, Pieces]
"""Identity, version, address and elements of a weight."""


def holding(elements: int, places: Sequence[int], states: Sequence[State]) -> Holds:
    """What tells whether a list of arguments has weights as they were: at these places, and in these states.

    `elements` is the address of a function in C from an object to the address of its elements. It is asked of these objects
    alone. Raises `ToolchainError` or `CacheError`.
    """
    numbers = [number for place, state in zip(places, states, strict=True) for number in (place, *_numbers(state))]
    values = b"".join(state[3].values for state in states)
    header = elements, id(VERSION), (4 + len(numbers)) * WORD_BYTES + len(values), len(places)
    function: Holds = library().tw_weights_function(bytes((ctypes.c_long * (4 + len(numbers)))(*header, *numbers)) + values)
    return function


def _numbers(state: State) -> tuple[int, ...]:
    identity, version, address, pieces = state
    return identity, version, address, pieces.size, pieces.step, len(pieces.values) // max(pieces.size, 1)


@lru_cache(maxsize=1)
def library() -> ctypes.PyDLL:
    """The loaded library, compiled or from the cache. Raises `ToolchainError` or `CacheError`."""
    from tilewright.runtime.compilation import libraries
    from tilewright.runtime.native import building
    from tilewright.runtime.store import cache

    ours = building.artifact(EXPORTED[1], native.source("weights.c"), platform.machine(), frozenset())
    _, loaded = libraries.opened(ours, cache.default(), EXPORTED, ctypes.PyDLL)
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in PYTHON_FUNCTIONS]
    loaded.tw_weights_init((ctypes.c_void_p * (len(functions) + 2))(*functions, id(False), id(True)))
    loaded.tw_weights_function.argtypes, loaded.tw_weights_function.restype = (ctypes.c_void_p,), ctypes.py_object
    return loaded
