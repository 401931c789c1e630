"""Settings of the interpreter while kernels are prepared: its garbage collector waits, and turns at its lock are short.

Modules that are loaded and plans that are kept are many objects, all of them in use: collections that their number sets off pass
over all of them and find nothing. That takes a tenth of the first call of a small function. What preparing leaves in cycles is
little, below a thousand objects where DenseNet-121 is planned, and is collected with other old objects.

Whoever waits for the interpreter's lock gets it after a turn, 5 ms by default. A thread that compiles kernels, while another one
plans, asks for it after every call of the system, some eighty times for one compiler process: with turns of 5 ms its core is idle
most of the time.

>>> with collector_waits():
...     gc.isenabled()
False
>>> before = sys.getswitchinterval()
>>> with short_turns():
...     inside = sys.getswitchinterval()
>>> inside <= SHORT_TURN_S, sys.getswitchinterval() == before
(True, True)
"""

from __future__ import annotations

import gc
import os
import sys
from _thread import allocate_lock  # `threading` takes 0.2 MB, which a process that loads packages does without
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

SHORT_TURN_S = 0.5e-3
"""A cold session of a detector took 5.4 s with turns of 0.5 and of 0.1 ms, 5.9 s with 5 ms (Zen 5, two cores)."""
MOST_YOUNG = 50_000
"""Containers: planning ResNet-50 leaves 400,000, which a collection takes 0.1 to 0.2 s for, a small function 1,000."""
ROUNDING_S = 2e-6
"""The interpreter keeps intervals in microseconds."""
ValueT = TypeVar("ValueT")


class _Setting(Generic[ValueT]):
    """A setting of the whole process: the first of several threads that want another value changes it, the last restores it."""

    def __init__(self, change: Callable[[], ValueT], restore: Callable[[ValueT], None]) -> None:
        """`change` returns the usual value, which `restore` is given."""
        self._change, self._restore = change, restore
        self._lock = allocate_lock()
        self._users = 0
        self._usual: ValueT
        os.register_at_fork(after_in_child=self._forget_users)

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Inside, the setting has the other value."""
        process = os.getpid()
        with self._lock:
            if not self._users:
                self._usual = self._change()
            self._users += 1
        try:
            yield
        finally:
            if process == os.getpid():  # else this is a forked child, which has the usual value already
                with self._lock:
                    self._users -= 1
                    if not self._users:
                        self._restore(self._usual)

    def _forget_users(self) -> None:
        """In a forked child: the threads that would restore the usual value may not be there, and one may have held the lock."""
        self._lock = allocate_lock()
        if self._users:
            self._users = 0
            self._restore(self._usual)


def _stop_collector() -> bool:
    is_usual = gc.isenabled()
    gc.disable()
    return is_usual


def _shorten_turns() -> float:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(min(usual_s, SHORT_TURN_S))
    return usual_s


def _restore_turns(usual_s: float) -> None:
    """Turns that somebody set meanwhile stay."""
    if abs(sys.getswitchinterval() - SHORT_TURN_S) < ROUNDING_S:
        sys.setswitchinterval(usual_s)


def _resume_collector(is_usual: bool) -> None:
    """Very many new objects are plans, which stay: they count as old, and are gone through with others that are, not at once. So
    does garbage among them, which would last where each of many functions leaves a little. What somebody froze stays frozen."""
    if is_usual:
        if gc.get_count()[0] > MOST_YOUNG and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()


collector_waits = _Setting(_stop_collector, _resume_collector).changed
"""Inside, nothing is collected; a collector that is switched off already stays so."""
short_turns = _Setting(_shorten_turns, _restore_turns).changed
"""Inside, turns are short, unless they are shorter already."""
