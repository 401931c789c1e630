"""Rounds: turns of all contenders beside the peak of one core, and the rates of one core.

A clock drifts by tens of percent within seconds. Turns of one round see nearly the same clock, so that their ratios hold; and a
share of the peak is that of the peak measured right before and right after the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.machine.machine import Machine
from tilewright.runtime.calibration import working_sets
from tilewright.runtime.measurement import Measurer
from tilewright.tune.timing import Seconds

LEAST_ROUNDS = 3
Peak = Callable[[], float]
"""Measures the flops per second that one core reaches."""
PEAK_TRIPS = 20_000
"""Some 60 us: long enough to be timed from Python."""
PEAK_RUNS = 4
"""The first one finds Python's own code and data out of the caches, which costs it a tenth."""
READ_SAMPLE_S = 1e-2


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


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """What one core can do, by the loops of `runtime.measurement`."""

    measurer: Measurer
    machine: Machine
    peak_loop: Callable[[int], float]
    """Flops of so many trips of the loop of multiply-adds, which it runs."""

    def peak_flops_per_s(self) -> float:
        """Of independent float32 multiply-adds, in the widest vectors that are allowed."""
        return max(self._peak_sample() for _ in range(PEAK_RUNS))

    def level_of(self, size_bytes: int) -> str:
        """The smallest level of the machine that holds so many bytes."""
        return next(level.name for level in self.machine.levels if level.size_bytes >= size_bytes or level.size_bytes == 0)

    def bandwidth_bytes_per_s(self, level: str) -> float:
        """Of reading a working set that this level holds and the one before does not; from memory after a flush."""
        size_bytes = dict(working_sets(self.machine))[level]
        return self.measurer.bandwidth_bytes_per_s(size_bytes, level == "memory", READ_SAMPLE_S)

    def _peak_sample(self) -> float:
        start = time.perf_counter()
        flops = self.peak_loop(PEAK_TRIPS)
        return flops / (time.perf_counter() - start)
