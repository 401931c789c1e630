"""Rates of one core, measured beside what is timed: the peak of multiply-adds, and the read bandwidth of each memory level."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tilewright.machine.machine import Machine
from tilewright.runtime.calibration import working_sets
from tilewright.runtime.measurement import Measurer

PEAK_TRIPS = 20_000
"""Some 60 us: long enough to be timed from Python."""
PEAK_RUNS = 4
"""The first one finds Python's own code and data out of the caches, which costs it a tenth."""
READ_SAMPLE_S = 1e-2


class Rates(Protocol):
    """What one core can do; a test may stand in for the machine."""

    def peak_flops_per_s(self) -> float:
        """In a loop of independent multiply-adds."""
        ...

    def level_of(self, size_bytes: int) -> str:
        """The smallest memory level that holds so many bytes."""
        ...

    def bandwidth_bytes_per_s(self, level: str) -> float:
        """Of reading from that level."""
        ...


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """By the loops of `runtime.measurement`."""

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
