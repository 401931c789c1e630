"""Interleaved timing: rounds in which every contender has a turn, each beside the peak of one core at that moment.

A clock drifts by tens of percent within seconds. Turns of one round see nearly the same clock, so that their ratios hold; and a
share of the peak is that of the peak measured right before and right after the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LEAST_ROUNDS = 3

Seconds = Callable[[], float]
"""Takes a turn and returns the seconds of one call."""
Peak = Callable[[], float]
"""Measures the flops per second that one core reaches."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Seconds of one call, and the larger of the peaks before and after the turn."""

    seconds: float
    peak_flops_per_s: float


Round = Mapping[str, Turn]


def interleaved(
    contenders: Mapping[str, Seconds], count: int, peak: Peak, *, pause_s: float = 0.0, budget_s: float = float("inf")
) -> list[Round]:
    """Turns of all contenders, every other round in reverse order.

    `pause_s` goes before each turn. At least `LEAST_ROUNDS` rounds are taken, and `count` at most; the others only while
    `budget_s` lasts.
    """
    begin, found, order = time.perf_counter(), list[Round](), list(contenders)
    while len(found) < count:
        if len(found) >= LEAST_ROUNDS and time.perf_counter() - begin > budget_s:
            break
        found.append(_round(contenders, order, peak, pause_s))
        order.reverse()
    return found


def _round(contenders: Mapping[str, Seconds], order: Sequence[str], peak: Peak, pause_s: float) -> Round:
    turns, before = dict[str, Turn](), peak()
    for name in order:
        time.sleep(pause_s)
        seconds, after = contenders[name](), peak()
        turns[name] = Turn(seconds, max(before, after))
        before = after
    return turns
