"""Constants that a kernel reads packed: packed once, when it is loaded, into memory that belongs to it.

Nothing is written there afterwards, so that threads, and children of a fork, read it without a lock.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np

from tilewright.codegen.artifact import Artifact, Signature
from tilewright.errors import ShapeError
from tilewright.runtime import libraries
from tilewright.runtime.arrays import Array, as_array, dtype_named
from tilewright.runtime.binding import bind

HUGE_PAGE_BYTES = 2 << 20


def prepare(artifact: Artifact, library: ctypes.CDLL, constants: Sequence[object]) -> Array:
    """The packed constants of a loaded artifact, as bytes on a cache line; none if its signature has none.

    Raises `ShapeError` or `DTypeError` for constants that are not those of the signature.
    """
    slots = artifact.signature.constants
    if len(constants) != len(slots):
        expected = ", ".join(slot.name for slot in slots) or "none"
        raise ShapeError(f"got {len(constants)} constants, expected {len(slots)}: {expected}")
    if not slots:
        return np.empty(0, np.uint8)
    arrays = [as_array(constant) for constant in constants]
    bind(Signature((), slots, ()), arrays)
    dense = [np.require(x, dtype_named(slot.dtype), ("C", "A")) for slot, x in zip(slots, arrays, strict=True)]
    size = ctypes.CFUNCTYPE(ctypes.c_long)(libraries.address(library, f"{artifact.entry_point}_constant_bytes"))
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(libraries.address(library, f"{artifact.entry_point}_prepare"))
    packed = allocate(size())
    fill((ctypes.c_void_p * len(dense))(*(x.ctypes.data for x in dense)), packed.ctypes.data)
    return packed


def allocate(size_bytes: int) -> Array:
    """Private memory on a page; on huge ones, where the system has them, if it fills any.

    >>> allocate(100).ctypes.data % 4096
    0
    """
    if size_bytes < HUGE_PAGE_BYTES:
        return np.frombuffer(_mapped(max(size_bytes, 1)), np.uint8, size_bytes)
    memory = _mapped(size_bytes + HUGE_PAGE_BYTES)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(memory, np.uint8).ctypes.data % HUGE_PAGE_BYTES
    return np.frombuffer(memory, np.uint8, size_bytes, start)


def _mapped(size_bytes: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as problem:
        raise MemoryError(f"no memory for {size_bytes} bytes of packed constants") from problem
