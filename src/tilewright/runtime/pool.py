"""The thread pool: one per number of threads, shared by every kernel of the process."""

from __future__ import annotations

import atexit
import ctypes

from tilewright.records import record
from tilewright.runtime import memory, native


@record
class MemoryStats:
    """Bytes that a pool holds as scratch and workspace (used or idle): now, and at most since the last reset."""

    current_bytes: int
    peak_bytes: int
    constant_bytes: int = 0
    """Of the constants that a kernel has packed, as long as it lives."""


@record
class Pool:
    """`threads` threads, the calling one included. They start when first needed, in a forked child again."""

    threads: int
    address: int
    """Of the C object, for the launcher."""

    def stats(self) -> MemoryStats:
        """What the pool holds."""
        current, peak = ctypes.c_long(), ctypes.c_long()
        native.library().tw_pool_stats(self.address, ctypes.byref(current), ctypes.byref(peak))
        return MemoryStats(current.value, peak.value)

    def reset_peak(self) -> None:
        """Let the peak start again from what is held now."""
        native.library().tw_pool_reset_peak(self.address)

    def trim(self) -> None:
        """Give idle memory back to the system, that of results included."""
        native.library().tw_pool_trim(self.address)
        memory.trim()

    def stop(self) -> None:
        """End the threads, unless a call is going on; the next call starts them again."""
        native.library().tw_pool_stop(self.address)


_pools: dict[int, Pool] = {}


def get(threads: int) -> Pool:
    """The process's pool of that many threads. Pools live as long as the process: kernels hold their address.

    Raises `ValueError` for less than one thread, `ToolchainError` or `CacheError` when the C part cannot be built.
    """
    if threads not in _pools:
        created = _create(threads)
        if _pools.setdefault(threads, created) is created:
            atexit.register(created.stop)
        else:
            native.library().tw_pool_destroy(created.address)
    return _pools[threads]


def _create(threads: int) -> Pool:
    if threads < 1:
        raise ValueError(f"a pool needs at least one thread, not {threads}")
    address = native.library().tw_pool_create(threads)
    if not address:
        raise MemoryError(f"no memory for a pool of {threads} threads")
    return Pool(threads, address)
