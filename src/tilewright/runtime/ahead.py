"""Compilation ahead of a library: while a graph is planned, other cores compile what its library will need in any case.

That is the C part of the runtime, and micro kernels of the chains that are planned already. The library finds them in the cache.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import field

from tilewright.interpreter_settings import short_turns
from tilewright.kernel_source import KernelSource
from tilewright.machine.cores import usable_cores
from tilewright.plan.search.core import library
from tilewright.records import record
from tilewright.runtime import native, workers
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.compilation.build import MOST_JOINED
from tilewright.runtime.compilation.processes import Processes
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store.cache import KernelCache


@record
class Ahead:
    """Work of other cores: whoever plans has one."""

    cache: KernelCache
    pool: Executor
    processes: Processes = field(default_factory=Processes)
    begun: set[KernelSource] = field(default_factory=set)
    waiting: dict[tuple[str, frozenset[str]], deque[KernelSource]] = field(default_factory=dict)
    """By architecture and features."""

    def begin(self, kernels: Iterable[KernelSource], architecture: str, features: frozenset[str]) -> None:
        """Have kernels compiled, in their order, and kept. Whoever needs a kernel that fails meets the error again."""
        fresh = [kernel for kernel in dict.fromkeys(kernels) if kernel not in self.begun]
        self.begun.update(fresh)
        waiting = self.waiting.setdefault((architecture, features), deque())
        waiting.extend(fresh)
        for _ in fresh:
            self.pool.submit(self._keep_some, waiting, architecture, features)

    def _keep_some(self, waiting: deque[KernelSource], architecture: str, features: frozenset[str]) -> None:
        """Compile the kernels that have waited longest, some together: who comes later may find nothing to do."""
        kernels = tuple(_taken(waiting))
        if kernels:
            toolchain.find().keep_objects(kernels, self.cache, architecture, features, self.processes)


@contextmanager
def compiling_ahead() -> Iterator[Ahead]:
    """Inside, begun work goes on beside the caller's; at the end, what runs is waited for, and what has not begun is left.

    An exception waits for nothing: compilers of kernels are killed.
    """
    ahead = Ahead(kernel_cache.default(), workers.pool(max(1, usable_cores() - 1)))
    finished = False
    try:
        ahead.pool.submit(library.finish)
        ahead.pool.submit(native.library)
        with short_turns():
            yield ahead
        finished = True
    finally:
        if not finished:
            ahead.processes.kill()
        ahead.pool.shutdown(wait=finished, cancel_futures=True)


def _taken(waiting: deque[KernelSource]) -> Iterator[KernelSource]:
    """Kernels that may be joined, or one; another thread may take some at the same time."""
    with contextlib.suppress(IndexError):
        for _ in range(MOST_JOINED):
            kernel = waiting.popleft()
            yield kernel
            if not kernel.joins:
                return
