"""The search core as a loaded library."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from tilewright import package_files
from tilewright.plan.search.core.problem import BeyondLimits, Packed

FILES = ("problem.c", "regions.c", "price.c", "orders.c", "options.c", "best.c", "search.c", "entries.c")
"""In the order in which one compiler reads them."""
EXPORTED = ("tw_extents", "tw_above_trees", "tw_search", "tw_least_times")
LEAST_MEMORY = 1 << 25
MOST_MEMORY = 1 << 33

Core = ctypes.CDLL
_opener: list[Callable[[], Core | None]] = []
_threads = threading.local()


@lru_cache(maxsize=1)
def text() -> str:
    """The C of the core."""
    return "\n".join(package_files.read_text(Path(__file__).parent / name) for name in FILES)


class _Data(ctypes.Structure):
    _fields_ = (("integers", ctypes.c_void_p), ("reals", ctypes.c_void_p), ("figures", ctypes.c_void_p))


def data_of(packed: Packed) -> _Data:
    """What the core is handed."""
    return _Data(*packed.addresses())


def called(function: Callable[..., int], before: tuple[object, ...], after: tuple[object, ...]) -> None:
    """Call a function of the core with memory that suffices between its arguments. Raises `BeyondLimits`."""
    while True:
        memory = getattr(_threads, "memory", None)
        if memory is None:
            memory = _threads.memory = np.empty(LEAST_MEMORY, dtype=np.uint8)
        result = function(*before, memory.__array_interface__["data"][0], memory.size, *after)
        if result > 0:
            return
        if result < 0 or memory.size >= MOST_MEMORY:
            raise BeyondLimits
        _threads.memory = np.empty(memory.size * 8, dtype=np.uint8)


def use(opener: Callable[[], Core | None]) -> None:
    """Take the core from here on from a function that loads it; None where there is no compiler."""
    _opener[:] = [opener]
    core.cache_clear()


@lru_cache(maxsize=1)
def core() -> Core | None:
    """The loaded core; None without one."""
    loaded = _opener[0]() if _opener else None
    if loaded is not None:
        pointer, count, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        of_all = (pointer, pointer, count, pointer, count)
        loaded.tw_extents.argtypes = (*of_all, pointer)
        loaded.tw_above_trees.argtypes = (*of_all, pointer, pointer, pointer)
        loaded.tw_search.argtypes = (*of_all, pointer, count, count, count, pointer, pointer)
        loaded.tw_least_times.argtypes = (*of_all, pointer, real, real, real, real, pointer)
        for name in EXPORTED:
            getattr(loaded, name).restype = count
    return loaded
