"""Memory of arrays, in whole pages. That of results is lent to them, and lent again when nobody holds an array in it any more.

New memory is zeroed by the system page by page, which takes longer than many kernels: 29 ms for 132 MB, 12.6 ms for 33 MB (Intel
Xeon in a virtual machine, huge pages). NumPy's memory begins 16 bytes behind a cache line, too, so that every vector of a result
would be stored to two lines.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.runtime.arrays import Array

LEAST_BYTES = 64 << 10
"""Of results that are lent memory: finding it takes some microseconds, as long as storing so much."""
MOST_IDLE_BYTES = 512 << 20
"""That wait for results, of the whole process; more goes back to the system."""
HUGE_PAGE_BYTES = 2 << 20
STEPS = 8
"""Sizes from one power of two to the next: results whose lengths vary a little share memory."""

_idle: dict[int, list[Array]] = {}
"""Memory without arrays in it, by size. Lists are changed by single calls only: arrays end in any thread, at any time."""


def new_result(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array with any values, at the begin of a page if it is large. It does not own its memory (`flags.owndata`).

    Raises `MemoryError` where there is no memory.

    >>> large = new_result((64, 1024), np.dtype(np.float32))
    >>> large.shape, large.ctypes.data % 4096
    ((64, 1024), 0)
    """
    size_bytes = prod(shape) * dtype.itemsize
    if size_bytes < LEAST_BYTES:
        return np.empty(shape, dtype)
    return np.asarray(_Lent(_rounded(size_bytes), size_bytes)).view(dtype).reshape(shape)


def idle_bytes() -> int:
    """What waits for results."""
    return sum(size * len(blocks) for size, blocks in list(_idle.items()))


def trim() -> None:
    """Give what waits for results back to the system."""
    _idle.clear()


class _Lent:
    """Memory as NumPy asks for it; idle again when the last array in it is gone."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, size_bytes: int, used_bytes: int) -> None:
        self._memory = _taken(size_bytes)
        address = self._memory.ctypes.data
        self.__array_interface__ = {"version": 3, "shape": (used_bytes,), "typestr": "|u1", "data": (address, False)}

    def __del__(self) -> None:
        memory = getattr(self, "_memory", None)
        if memory is not None and _idle is not None and memory.nbytes + idle_bytes() <= MOST_IDLE_BYTES:
            _idle.setdefault(memory.nbytes, []).append(memory)


def _taken(size_bytes: int) -> Array:
    try:
        return _idle[size_bytes].pop()
    except (KeyError, IndexError):
        return allocate(size_bytes)


def _rounded(size_bytes: int) -> int:
    """A size with few significant bits.

    >>> _rounded(65536), _rounded(65537), _rounded(100000)
    (65536, 73728, 106496)
    """
    step = (1 << (size_bytes - 1).bit_length()) // (2 * STEPS)
    return -(-size_bytes // step) * step


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
