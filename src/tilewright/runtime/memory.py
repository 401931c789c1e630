"""Memory of arrays, in whole pages. That of results is lent to them, and lent again when nobody holds an array in it any more.

New memory is zeroed by the system page by page, which takes longer than many kernels: 29 ms for 132 MB, 12.6 ms for 33 MB (Intel
Xeon in a virtual machine, huge pages). NumPy's memory begins 16 bytes behind a cache line, too, so that every vector of a result
would be stored to two lines.

A block is an array that results are views of. It is idle while nothing but its list refers to it: Python's count of references
tells, and whoever asks holds a reference meanwhile, so that no two threads find the same block idle.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

from tilewright.runtime.arrays import Array

LEAST_BYTES = 64 << 10
"""Of results that are lent memory: what is smaller, NumPy finds without asking the system."""
MOST_BYTES = 1 << 30
"""Of blocks that are remembered, lent or idle, of the whole process."""
MOST_BLOCKS = 256
"""Of a size."""
HUGE_PAGE_BYTES = 2 << 20
STEPS = 8
"""Sizes from one power of two to the next: results whose lengths vary a little share memory."""

_blocks: dict[int, list[Array]] = {}
"""By size. Changed by single calls only: any thread may ask at any time."""


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
    size_bytes = _rounded(size_bytes)
    blocks = _blocks.get(size_bytes)
    block = _idle(blocks, _REFERENCES) if blocks else None
    return np.ndarray(shape, dtype, _new_block(size_bytes) if block is None else block)


def idle_bytes() -> int:
    """What waits for results."""
    total = 0
    for size, blocks in list(_blocks.items()):
        for block in blocks:
            total += size if getrefcount(block) == _REFERENCES else 0
    return total


def trim() -> None:
    """Give what waits for results back to the system, and what is lent as soon as nobody holds it."""
    _blocks.clear()


def _idle(blocks: Sequence[Array], references: int) -> Array | None:
    """A block to which there are only so many references; the latest of them, since older ones may be held for long."""
    for block in reversed(blocks):
        if getrefcount(block) == references:
            return block
    return None


_REFERENCES = next(count for count in range(1, 9) if _idle([np.empty(0)], count) is not None)
"""To a block that is idle, while `_idle` counts them: interpreters differ."""


def _new_block(size_bytes: int) -> Array:
    block = allocate(size_bytes)
    if size_bytes + sum(size * len(blocks) for size, blocks in list(_blocks.items())) > MOST_BYTES:
        trim()
    blocks = _blocks.setdefault(size_bytes, [])
    if len(blocks) >= MOST_BLOCKS:
        blocks.clear()
    blocks.append(block)
    return block


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
