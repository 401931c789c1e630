"""First calls of new code, in a copy of this process: what crashes or does not end there is never called here."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable
from math import isfinite

WAITING_S, WAITING = 10.0, 100.0
"""A call that waits uses no processor: it ends after so many seconds, and so many times its limit, of any clock."""


def returns(call: Callable[[], object], limit_s: float = float("inf")) -> bool:
    """Whether a call comes back, within `limit_s` seconds of a processor, in a copy of this process.

    Nothing that the call computes is seen here. Pages that it writes are copied, in about a microsecond each. It must not wait
    for other threads, which a copy does not have. Where there is no `os.fork` nothing is tried, and the answer is yes.

    >>> returns(lambda: 1), returns(lambda: 1 / 0)
    (True, False)
    """
    if not hasattr(os, "fork"):
        return True
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        _die_silently(limit_s)
        call()
        os._exit(0)
    finally:
        os._exit(1)


def _die_silently(limit_s: float) -> None:
    """Signals end this process, without a trace; so does the processor time after which it gets one."""
    import resource  # where there is no fork there is none

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    if isfinite(limit_s):
        signal.setitimer(signal.ITIMER_PROF, max(limit_s, 1e-6))
        signal.setitimer(signal.ITIMER_REAL, WAITING_S + WAITING * limit_s)
