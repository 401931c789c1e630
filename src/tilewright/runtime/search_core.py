"""The search core of the planner, compiled once per machine like the thread pool."""

from __future__ import annotations

import ctypes
import logging
import platform
from collections.abc import Callable

from tilewright.errors import CacheError, ToolchainError
from tilewright.machine.cores import usable_cores
from tilewright.plan.search.core import library
from tilewright.runtime.compilation import libraries
from tilewright.runtime.native import building
from tilewright.runtime.store import cache as kernel_cache

LOGGER = logging.getLogger("tilewright.plan")
FEW_OPERATORS = 8
"""Of a graph for which no core is compiled ahead: its searches take less time than the compiler."""


def opened(*, builds: bool) -> ctypes.CDLL | None:
    """The loaded core; None where it is neither kept nor can be built: plans are then the same, and take longer."""
    ours, cache = building.artifact("tw_search", library.text(), platform.machine(), frozenset()), kernel_cache.default()
    if not builds and libraries.kept(ours, cache) is None:
        return None
    try:
        return libraries.opened(ours, cache, library.EXPORTED, ctypes.CDLL)[1]
    except (ToolchainError, CacheError) as problem:
        LOGGER.warning("planning goes on without its compiled core: %s", problem)
        return None


def begin(operators: int, submit: Callable[[Callable[[], None]], object]) -> None:
    """Have the core compiled by another thread, which `submit` gives what to do, while a graph of so many operators is planned;
    where another core idles. Plans are the same with and without it."""
    if operators > FEW_OPERATORS and usable_cores() > 1:
        library.begin(submit)


library.use(opened)
