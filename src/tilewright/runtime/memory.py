"""Memory of arrays, in whole pages, and results, whose memory is lent to them (`native/arrays.c`)."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.runtime import native
from tilewright.runtime.arrays import Array

HUGE_PAGE_BYTES = 2 << 20


def new_result(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array with any values, at the begin of a page if it is large. It does not own its memory (`flags.owndata`) then.

    Raises `MemoryError` where there is no memory, and `ToolchainError` or `CacheError` when the C part cannot be built.

    >>> large = new_result((64, 1024), np.dtype(np.float32))
    >>> large.shape, large.ctypes.data % 4096
    ((64, 1024), 0)
    """
    extents = (ctypes.c_long * len(shape))(*shape)
    made: Array | None = native.library().tw_new_result(dtype, dtype.itemsize, len(shape), extents)
    return np.empty(shape, dtype) if made is None else made  # which raises where there is no memory


def idle_bytes() -> int:
    """What waits for results."""
    return int(native.library().tw_idle_bytes()) if native.is_loaded() else 0


def trim() -> None:
    """Give what waits for results back to the system."""
    if native.is_loaded():
        native.library().tw_trim_results()


def allocate(size_bytes: int) -> Array:
    """Private memory on a page; on huge ones, where the system has them, as far as it fills any.

    Raises `MemoryError` where there is none.

    >>> allocate(100).ctypes.data % 4096
    0
    """
    if size_bytes < HUGE_PAGE_BYTES:
        return np.frombuffer(_mapped(max(size_bytes, 1)), np.uint8, size_bytes)
    memory = _mapped(size_bytes + HUGE_PAGE_BYTES)
    start = -np.frombuffer(memory, np.uint8).ctypes.data % HUGE_PAGE_BYTES
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE, start, size_bytes // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES)
    return np.frombuffer(memory, np.uint8, size_bytes, start)


def _mapped(size_bytes: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as problem:
        raise MemoryError(f"no memory for {size_bytes} bytes") from problem
