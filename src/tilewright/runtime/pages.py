"""Memory of whole pages: private, zeroed by the system when it is touched first, on huge pages as far as it fills any."""

from __future__ import annotations

import mmap

import numpy as np

from tilewright.runtime.arrays import Array

HUGE_PAGE_BYTES = 2 << 20


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
