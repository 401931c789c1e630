"""The C part of the runtime, thread pool and launcher: compiled once per machine by the kernels' toolchain, cached like them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tilewright import package_files
from tilewright.runtime.digests import sha256
from tilewright.runtime.native import arrays

DIRECTORY = os.path.dirname(__file__)
SOURCES = ("pool.c", "launcher.c", "arrays.c")
HEADERS = ("pool.h", "python.h")
PYTHON_FUNCTIONS = (
    *("PyObject_GetBuffer", "PyBuffer_Release", "PyTuple_Size", "PyTuple_GetItem", "PyEval_SaveThread", "PyEval_RestoreThread"),
    *("PyErr_Clear", "Py_IncRef", "Py_DecRef", "PyList_New", "PyList_SetItem", "PyBytes_FromStringAndSize", "PyLong_FromLong"),
    *("PyCapsule_New", "PyCapsule_GetPointer", "PyCFunction_NewEx"),
)
"""In the order of `struct tw_python`."""
_LONGS = ctypes.POINTER(ctypes.c_long)
_FUNCTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "tw_function": ((ctypes.c_long, ctypes.c_void_p), ctypes.py_object),
    "tw_launch_with_care": ((ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.c_long),
    "tw_launch_repeatedly": ((ctypes.c_void_p, ctypes.py_object, ctypes.c_long), ctypes.c_long),
    "tw_launch_timed": ((ctypes.c_void_p, ctypes.py_object, _LONGS), ctypes.c_long),
    "tw_new_result": ((ctypes.py_object, ctypes.c_long, ctypes.c_long, _LONGS), ctypes.py_object),
    "tw_know_type": ((ctypes.py_object,), None),
    "tw_idle_bytes": ((), ctypes.c_long),
    "tw_trim_results": ((), None),
    "tw_pool_create": ((ctypes.c_long,), ctypes.c_void_p),
    "tw_pool_stats": ((ctypes.c_void_p, _LONGS, _LONGS), None),
    **{f"tw_pool_{name}": ((ctypes.c_void_p,), None) for name in ("stop", "trim", "destroy", "reset_peak")},
}
"""What Python calls: types of arguments and of the result."""
EXPORTED = ("tw_python_init", "tw_arrays_init", "tw_most_idle_bytes", *_FUNCTIONS)
LAUNCH, COMPUTE, SIGNATURE = range(3)
"""Functions of `tw_function`."""


_loaded: list[ctypes.PyDLL] = []
"""The library, once it is loaded: pools and kernels hold addresses in it."""


def library() -> ctypes.PyDLL:
    """The loaded library, which holds the GIL while it is called. Raises `ToolchainError` or `CacheError`."""
    if not _loaded:
        from tilewright.runtime.native import building

        use(building.runtime_library(EXPORTED))
    return _loaded[0]


def use(library: ctypes.PyDLL) -> None:
    """Let a library be this process's."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in PYTHON_FUNCTIONS]
    library.tw_python_init((ctypes.c_void_p * (len(functions) + 1))(*functions, id(None)))
    arrays.tell(library)
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    _loaded.append(library)


@lru_cache(maxsize=1)
def signature() -> Callable[[tuple[Any, ...]], bytes | None]:
    """What tells the types and shapes of a tuple of NumPy's arrays; None where one is none, or of a type that no kernel has."""
    found: Callable[[tuple[Any, ...]], bytes | None] = library().tw_function(SIGNATURE, 1)
    return found


def is_loaded() -> bool:
    """Whether the process has its library."""
    return bool(_loaded)


@lru_cache(maxsize=1)
def digest() -> str:
    """Of the C part and of the ABI of kernels: libraries of equal digests serve each other's kernels."""
    return sha256("\0".join(map(source, SOURCES)).encode()).hex()


def source(name: str) -> str:
    """The text of a C file with our headers in the places of their include lines: the compiler sees one file at a time."""
    text = package_files.read_text(os.path.join(DIRECTORY, name))
    for header in HEADERS:
        text = text.replace(f'#include "{header}"\n', package_files.read_text(os.path.join(DIRECTORY, header)))
    return text
