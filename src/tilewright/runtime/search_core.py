"""The search core of the planner, compiled once per machine like the thread pool."""

from __future__ import annotations

import ctypes
import logging
import platform

from tilewright.errors import CacheError, ToolchainError
from tilewright.plan.search.core import library
from tilewright.runtime.compilation import libraries
from tilewright.runtime.native import building
from tilewright.runtime.store import cache as kernel_cache

LOGGER = logging.getLogger("tilewright.plan")


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
