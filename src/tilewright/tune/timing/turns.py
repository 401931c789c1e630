"""Turns: how long one call takes, measured by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

TURN_S = 2e-3
"""A turn lasts at least this long, and one call."""
LONG_CALL_S = 0.1
"""A call so long needs no warm caches, and no call before it."""


def seconds_per_call(call: Callable[[], object], turn_s: float = TURN_S) -> float:
    """Mean seconds over the calls of a turn. One call before them warms the caches; a long call is the whole turn."""
    first_s = _elapsed_s(call)
    if first_s >= LONG_CALL_S:
        return first_s
    calls, elapsed_s, begin = 0, 0.0, time.perf_counter()
    while calls == 0 or elapsed_s < turn_s:
        call()
        calls += 1
        elapsed_s = time.perf_counter() - begin
    return elapsed_s / calls


def _elapsed_s(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
