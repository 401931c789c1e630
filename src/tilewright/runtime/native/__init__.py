"""The C part of the runtime, thread pool and launcher: compiled once per machine by the kernels' toolchain, cached like them."""

from __future__ import annotations

import ctypes
import platform
from functools import lru_cache
from pathlib import Path

from tilewright import package_files
from tilewright.codegen.artifact import Artifact, Signature
from tilewright.kernels.contract import KernelSource, SourceKind
from tilewright.runtime import cache as kernel_cache
from tilewright.runtime import libraries

DIRECTORY = Path(__file__).parent
PYTHON_FUNCTIONS = (
    "PyObject_GetBuffer",
    "PyBuffer_Release",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_Clear",
)
"""In the order of `struct python` in launcher.c."""
EXPORTED = (
    "tw_launcher_init",
    "tw_launch",
    "tw_launch_with_care",
    "tw_launch_repeatedly",
    "tw_launch_timed",
    "tw_pool_create",
    "tw_pool_stats",
    "tw_pool_stop",
    "tw_pool_trim",
    "tw_pool_destroy",
    "tw_pool_reset_peak",
)
"""What Python calls."""


@lru_cache(maxsize=1)
def library() -> ctypes.PyDLL:
    """The loaded library, which holds the GIL while it is called. Raises `ToolchainError` or `CacheError`."""
    _, loaded = libraries.opened(_artifact(), None, kernel_cache.default(), EXPORTED, ctypes.PyDLL)
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in PYTHON_FUNCTIONS]
    loaded.tw_launcher_init((ctypes.c_void_p * len(functions))(*functions))
    _declare(loaded)
    return loaded


def _artifact() -> Artifact:
    return Artifact(
        entry_point="tw_launch",
        text=source("pool.c"),
        linked=(KernelSource(SourceKind.C, source("launcher.c")),),
        architecture=platform.machine(),
        features=frozenset(),
        signature=Signature((), (), ()),
    )


def source(name: str) -> str:
    """The text of a C file with our header in the place of its include line: the compiler sees one file at a time."""
    header = package_files.read_text(DIRECTORY / "pool.h")
    return package_files.read_text(DIRECTORY / name).replace('#include "pool.h"\n', header)


def _declare(loaded: ctypes.PyDLL) -> None:
    long_pointer = ctypes.POINTER(ctypes.c_long)
    loaded.tw_launch.argtypes = (ctypes.c_void_p, ctypes.py_object)
    loaded.tw_launch.restype = ctypes.c_long
    loaded.tw_launch_with_care.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    loaded.tw_launch_with_care.restype = ctypes.c_long
    loaded.tw_launch_repeatedly.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_long)
    loaded.tw_launch_repeatedly.restype = ctypes.c_long
    loaded.tw_launch_timed.argtypes = (ctypes.c_void_p, ctypes.py_object, long_pointer)
    loaded.tw_launch_timed.restype = ctypes.c_long
    loaded.tw_pool_create.argtypes = (ctypes.c_long,)
    loaded.tw_pool_create.restype = ctypes.c_void_p
    loaded.tw_pool_stats.argtypes = (ctypes.c_void_p, long_pointer, long_pointer)
    for name in ("tw_pool_stats", "tw_pool_stop", "tw_pool_trim", "tw_pool_destroy", "tw_pool_reset_peak"):
        getattr(loaded, name).restype = None
    for name in ("tw_pool_stop", "tw_pool_trim", "tw_pool_destroy", "tw_pool_reset_peak"):
        getattr(loaded, name).argtypes = (ctypes.c_void_p,)
