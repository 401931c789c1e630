"""The C part of the runtime, thread pool and launcher: compiled once per machine by the kernels' toolchain, cached like them."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Any

from tilewright import package_files
from tilewright.runtime.digests import sha256

DIRECTORY = os.path.dirname(__file__)
PYTHON_FUNCTIONS = (
    *("PyObject_GetBuffer", "PyBuffer_Release", "PyTuple_Size", "PyTuple_GetItem"),
    *("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Clear"),
)
"""In the order of `struct python` in launcher.c."""
_LONGS = ctypes.POINTER(ctypes.c_long)
_FUNCTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "tw_launch": ((ctypes.c_void_p, ctypes.py_object), ctypes.c_long),
    "tw_launch_with_care": ((ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.c_long),
    "tw_launch_repeatedly": ((ctypes.c_void_p, ctypes.py_object, ctypes.c_long), ctypes.c_long),
    "tw_launch_timed": ((ctypes.c_void_p, ctypes.py_object, _LONGS), ctypes.c_long),
    "tw_pool_create": ((ctypes.c_long,), ctypes.c_void_p),
    "tw_pool_stats": ((ctypes.c_void_p, _LONGS, _LONGS), None),
    **{f"tw_pool_{name}": ((ctypes.c_void_p,), None) for name in ("stop", "trim", "destroy", "reset_peak")},
}
"""What Python calls: types of arguments and of the result."""
EXPORTED = ("tw_launcher_init", *_FUNCTIONS)


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
    library.tw_launcher_init((ctypes.c_void_p * len(functions))(*functions))
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    _loaded.append(library)


def is_loaded() -> bool:
    """Whether the process has its library."""
    return bool(_loaded)


@lru_cache(maxsize=1)
def digest() -> str:
    """Of the C part and of the ABI of kernels: libraries of equal digests serve each other's kernels."""
    return sha256("\0".join(map(source, ("pool.c", "launcher.c"))).encode()).hex()


def source(name: str) -> str:
    """The text of a C file with our header in the place of its include line: the compiler sees one file at a time."""
    header = package_files.read_text(os.path.join(DIRECTORY, "pool.h"))
    return package_files.read_text(os.path.join(DIRECTORY, name)).replace('#include "pool.h"\n', header)
