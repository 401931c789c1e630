"""Turns of threads at the interpreter's lock: shorter ones while one computes in Python and others only read and write files.

Whoever waits for the lock gets it after a turn, 5 ms by default. A thread that compiles kernels asks for it after every call of
the system, some eighty times for one compiler process: with turns of 5 ms its core is idle most of the time.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHORT_TURN_S = 0.5e-3
"""A cold session of a detector took 5.4 s with turns of 0.5 and of 0.1 ms, 5.9 s with 5 ms (Zen 5, two cores)."""


ROUNDING_S = 2e-6
"""The interpreter keeps intervals in microseconds."""


@dataclass(slots=True)
class _Turns:
    """The interval of the interpreter, which is one for all threads, and how many want it short."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    usual_s: float = 0.0

    def shorten(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(self.usual_s, SHORT_TURN_S))

    def restore(self) -> None:
        """The usual interval, behind the last user: one that somebody set meanwhile stays."""
        with self.lock:
            self.users -= 1
            if self.users == 0 and abs(sys.getswitchinterval() - SHORT_TURN_S) < ROUNDING_S:
                sys.setswitchinterval(self.usual_s)


_turns = _Turns()


def _forget_users() -> None:
    """In a forked child: the threads that wanted short turns are not there to restore the usual ones."""
    global _turns
    if _turns.users and _turns.usual_s:
        sys.setswitchinterval(_turns.usual_s)
    _turns = _Turns()


os.register_at_fork(after_in_child=_forget_users)


@contextmanager
def short() -> Iterator[None]:
    """Inside, turns are short; behind the last of several threads they are as before.

    >>> before = sys.getswitchinterval()
    >>> with short():
    ...     inside = sys.getswitchinterval()
    >>> inside <= SHORT_TURN_S, sys.getswitchinterval() == before
    (True, True)
    """
    turns = _turns
    try:
        turns.shorten()
        yield
    finally:
        if turns is _turns:  # else this is a forked child, where another thread may have held the lock
            turns.restore()
