"""The search core as a loaded library."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from tilewright import package_files
from tilewright.plan.search.core.data import BeyondLimits, Packed

FILES = (
    *("optimized.c", "base.c", "problem.c", "reading.c", "views.c", "footprints.c", "regions.c", "price.c", "orders.c"),
    *("tables.c", "options.c", "pricing.c", "best.c", "bounds.c", "search.c", "entries.c", "refine.c"),
)
"""In the order in which one compiler reads them."""
EXPORTED = ("tw_extents", "tw_above_trees", "tw_search", "tw_least_times", "tw_refine")
MEMORY_BYTES = (1 << 33, 1 << 30, 1 << 25)
"""What a search may use; where a process may not have so many addresses, less. Most searches use less than a MiB."""
KEPT_BYTES = 1 << 25
"""What a thread keeps for its next search."""

Core = ctypes.CDLL
Read = TypeVar("Read")
_threads = threading.local()


@lru_cache(maxsize=1)
def text() -> str:
    """The C of the core."""
    constants = f"enum {{ KEPT_BYTES = {KEPT_BYTES} }};"
    return "\n".join((constants, *(package_files.read_text(Path(__file__).parent / "c" / name) for name in FILES)))


class _Data(ctypes.Structure):
    _fields_ = (("integers", ctypes.c_void_p), ("reals", ctypes.c_void_p), ("figures", ctypes.c_void_p))


def data_of(packed: Packed) -> _Data:
    """What the core is handed."""
    return _Data(*packed.addresses())


def called(function: Callable[..., int], before: tuple[object, ...], after: tuple[object, ...], read: Callable[[], Read]) -> Read:
    """Call a function of the core with memory between its arguments, and read what it found before that memory is given back.

    Raises `BeyondLimits`.
    """
    memory = _memory()
    result = function(*before, ctypes.addressof(ctypes.c_char.from_buffer(memory)), len(memory), *after)
    found = read() if result > 0 else None
    if len(memory) > KEPT_BYTES:
        memory.madvise(mmap.MADV_DONTNEED, KEPT_BYTES)
    if found is None:
        raise BeyondLimits
    return found


def _memory() -> mmap.mmap:
    """This thread's memory: addresses, whose pages are there once they were written."""
    if not hasattr(_threads, "memory"):
        for size_bytes in MEMORY_BYTES:
            with suppress(OSError):
                _threads.memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                break
        else:
            raise BeyondLimits
    memory: mmap.mmap = _threads.memory
    return memory


class Opener(Protocol):
    """Loads the core: one that is kept, or, where `builds`, one that it compiles; None where it cannot."""

    def __call__(self, *, builds: bool) -> Core | None: ...


WORTH_S = 0.4
"""Seconds of searches by arrays behind which a process compiles the core, which takes 0.7: a few chains need none."""


@dataclass(slots=True)
class _State:
    """Of this process: where its core comes from, the core, and what was tried."""

    opener: Opener | None = None
    core: Core | None = None
    is_looked_up: bool = False
    is_begun: bool = False
    """Whether another thread compiles the core, or has: nobody waits for it."""
    is_built: bool = False
    by_arrays_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the core is compiled."""

    def build(self) -> None:
        """Compile the core, once; wait where another thread does."""
        with self.lock:
            if not self.is_built and self.opener is not None:
                self.is_built, self.core = True, _declared(self.opener(builds=True))


_state = _State()


def use(opener: Opener | None) -> None:
    """Take the core from this opener from here on."""
    global _state
    _state = _State(opener)


def searched_by_arrays(seconds: float) -> None:
    """A search took so long without the core."""
    _state.by_arrays_s += seconds


def begin(submit: Callable[[Callable[[], None]], object]) -> None:
    """Have the core compiled by another thread, which `submit` gives what to do, unless there is one: planning goes on without
    it meanwhile."""
    if core() is None and not _state.is_begun:
        _state.is_begun = True
        submit(_state.build)


def finish() -> None:
    """Wait for a core that was begun."""
    if _state.is_begun:
        _state.build()


def core(*, builds: bool = False) -> Core | None:
    """The loaded core: a kept one, else one that is compiled now if searches are worth it or `builds` asks for it; None without
    one."""
    if _state.core is None and _state.opener is not None:
        if not _state.is_looked_up:
            _state.is_looked_up, _state.core = True, _declared(_state.opener(builds=False))
        if _state.core is None and (builds or (_state.by_arrays_s >= WORTH_S and not _state.is_begun)):
            _state.build()
    return _state.core


def _forget_builder() -> None:
    """In a forked child: the thread that compiles is not there."""
    if _state.core is None:
        use(_state.opener)


os.register_at_fork(after_in_child=_forget_builder)


def _declared(loaded: Core | None) -> Core | None:
    """The core with the types of its functions."""
    if loaded is not None:
        pointer, count, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        of_all = (pointer, pointer, count, pointer, count)
        loaded.tw_extents.argtypes = (*of_all, pointer)
        loaded.tw_above_trees.argtypes = (*of_all, pointer, pointer, pointer)
        loaded.tw_search.argtypes = (*of_all, pointer, pointer, count, count, count, pointer, pointer, pointer)
        loaded.tw_least_times.argtypes = (*of_all, pointer, real, real, real, real, pointer)
        loaded.tw_refine.argtypes = (*of_all, pointer, pointer, count, pointer, pointer, pointer, pointer, pointer)
        for name in EXPORTED:
            getattr(loaded, name).restype = count
    return loaded
