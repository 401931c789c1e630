"""Compilation ahead of a library: while a graph is planned, other cores compile what its library will need in any case.

That is the C part of the runtime, and micro kernels of the chains that are planned already. The library finds them in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tilewright.kernels.contract import KernelSource
from tilewright.machine.cores import usable_cores
from tilewright.runtime import cache as kernel_cache
from tilewright.runtime import native, toolchain, workers
from tilewright.runtime.cache import KernelCache
from tilewright.runtime.objects import Objects
from tilewright.runtime.processes import Processes


@dataclass(frozen=True, slots=True)
class Ahead:
    """Work of other cores: whoever plans has one."""

    cache: KernelCache
    pool: Executor
    processes: Processes = field(default_factory=Processes)
    begun: set[KernelSource] = field(default_factory=set)

    def begin(self, kernels: Iterable[KernelSource], architecture: str, features: frozenset[str]) -> None:
        """Have kernels compiled, in their order, and kept. Whoever needs a kernel that fails meets the error again."""
        for kernel in kernels:
            if kernel not in self.begun:
                self.begun.add(kernel)
                self.pool.submit(self._keep, kernel, architecture, features)

    def _keep(self, kernel: KernelSource, architecture: str, features: frozenset[str]) -> None:
        compiler = toolchain.find()
        objects = Objects.of(self.cache, compiler, architecture, features)
        if objects.find(kernel) is None:
            compiler.keep_object(kernel, objects, architecture, features, self.processes)


@contextmanager
def compiling_ahead() -> Iterator[Ahead]:
    """Inside, begun work goes on beside the caller's; at the end, what runs is waited for, and what has not begun is left.

    An exception waits for nothing: compilers of kernels are killed.
    """
    ahead = Ahead(kernel_cache.default(), workers.pool(max(1, usable_cores() - 1)))
    finished = False
    try:
        ahead.pool.submit(native.library)
        yield ahead
        finished = True
    finally:
        if not finished:
            ahead.processes.kill()
        ahead.pool.shutdown(wait=finished, cancel_futures=True)
