"""The C part of the runtime, thread pool and launcher: compiled once per machine by the kernels' toolchain, cached like them."""

from __future__ import annotations

import ctypes
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

from tilewright import package_files
from tilewright.artifact import Artifact, Signature
from tilewright.kernels.contract import KernelSource, SourceKind
from tilewright.runtime.compilation import libraries
from tilewright.runtime.store import cache as kernel_cache

DIRECTORY = Path(__file__).parent
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


@lru_cache(maxsize=1)
def library() -> ctypes.PyDLL:
    """The loaded library, which holds the GIL while it is called. Raises `ToolchainError` or `CacheError`."""
    launcher = KernelSource(SourceKind.C, source("launcher.c"))
    ours = artifact("tw_launch", source("pool.c"), platform.machine(), frozenset(), launcher)
    _, loaded = libraries.opened(ours, kernel_cache.default(), EXPORTED, ctypes.PyDLL)
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in PYTHON_FUNCTIONS]
    loaded.tw_launcher_init((ctypes.c_void_p * len(functions))(*functions))
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, result
    return loaded


def artifact(entry_point: str, text: str, architecture: str, features: frozenset[str], *linked: KernelSource) -> Artifact:
    """C text of ours, which no plan is behind."""
    return Artifact(entry_point, text, linked, architecture, features, Signature((), (), ()))


def source(name: str) -> str:
    """The text of a C file with our header in the place of its include line: the compiler sees one file at a time."""
    header = package_files.read_text(DIRECTORY / "pool.h")
    return package_files.read_text(DIRECTORY / name).replace('#include "pool.h"\n', header)
