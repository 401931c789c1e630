"""Python's garbage collector, which waits while kernels are prepared.

Modules that are loaded and plans that are kept are many objects, all of them in use: collections that their number sets off pass
over all of them and find nothing. That takes a tenth of the first call of a small function. What preparing leaves in cycles is
little, below a thousand objects where DenseNet-121 is planned, and is collected afterwards.

>>> with collector_waits():
...     gc.isenabled()
False
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_preparations = 0
"""How many threads prepare kernels now, for which the collector was switched off. Guarded by `_lock`."""


@contextmanager
def collector_waits() -> Iterator[None]:
    """Inside, nothing is collected; a collector that is switched off already stays so. For several threads at once."""
    is_ours = _begin()
    try:
        yield
    finally:
        if is_ours:
            _end()


def _begin() -> bool:
    """Switch the collector off, unless somebody else did."""
    global _preparations
    with _lock:
        if not gc.isenabled() and not _preparations:
            return False
        gc.disable()
        _preparations += 1
        return True


def _end() -> None:
    """Switch the collector on after the last preparation; a fork inside of it has done so already."""
    global _preparations
    with _lock:
        if _preparations == 1:
            gc.enable()
        _preparations = max(_preparations - 1, 0)


def _forget_preparations() -> None:
    """In a forked child: the threads that would switch the collector on again may not be there."""
    global _lock, _preparations
    _lock = threading.Lock()
    if _preparations:
        _preparations = 0
        gc.enable()


os.register_at_fork(after_in_child=_forget_preparations)
