"""Timing: turns of one call, rounds beside the peak of one core, pairs of two contenders, and the rates of one core.

A clock drifts by tens of percent within seconds. Turns of one round see nearly the same clock, so that their ratios hold; and a
share of the peak is that of the peak measured right before and right after the turn. In a pair two contenders take their turns
one right after the other, and only the ratio within a pair counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tilewright.machine.machine import Machine
from tilewright.runtime.calibration import working_sets
from tilewright.runtime.measurement import Measurer

TURN_S = 2e-3
"""A turn lasts at least this long, and one call."""
LONG_CALL_S = 0.1
"""A call so long needs no warm caches, and no call before it."""
LEAST_ROUNDS = 3

Seconds = Callable[[], float]
"""Takes a turn and returns the seconds of one call."""
Peak = Callable[[], float]
"""Measures the flops per second that one core reaches."""
LEAST_PAIRS = 15
MOST_PAIRS = 101
LEAST_GAIN = 0.98
"""Of the reference's time, what a faster candidate takes at most: nearer to it, pairs of the same code differ by chance."""
LEAST_WINS = 0.75
"""Of pairs. Of at least `LEAST_PAIRS` pairs of the same code one of two wins so many in 2 of 100 cases."""
PEAK_TRIPS = 20_000
"""Some 60 us: long enough to be timed from Python."""
PEAK_RUNS = 4
"""The first one finds Python's own code and data out of the caches, which costs it a tenth."""
READ_SAMPLE_S = 1e-2


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
class Verdict:
    """The fastest of some candidates, by number; its time over the reference's, and the share of pairs that it won."""

    number: int
    ratio: float
    wins: float

    @property
    def is_faster(self) -> bool:
        """Whether it is faster than the reference beyond chance.

        >>> Verdict(0, 0.9, 0.8).is_faster, Verdict(0, 0.99, 0.8).is_faster, Verdict(0, 0.9, 0.6).is_faster
        (True, False, False)
        """
        return self.ratio <= LEAST_GAIN and self.wins >= LEAST_WINS


def pair(first: Seconds, second: Seconds, number: int) -> tuple[float, float]:
    """Seconds of both; the order of the turns changes with every `number`.

    >>> pair(lambda: 1.0, lambda: 2.0, 0)
    (1.0, 2.0)
    """
    if number % 2:
        first_s = first()
        return first_s, second()
    second_s = second()
    return first(), second_s


def fastest(reference: Seconds, candidates: Sequence[Seconds], *, budget_s: float) -> Verdict | None:
    """Elect the fastest candidate in pairs with the reference, and judge it by fresh pairs; None without candidates.

    The least of several medians is less than 1 by chance, too: the pairs that elect a candidate say nothing about it.
    """
    if not candidates:
        return None
    electing = ratios(reference, candidates, budget_s=budget_s / 2) if len(candidates) > 1 else [1.0]
    number = electing.index(min(electing))
    (fresh,) = paired_ratios(reference, [candidates[number]], budget_s=budget_s / 2)
    return Verdict(number, median(fresh), sum(one < 1 for one in fresh) / len(fresh))


def ratios(reference: Seconds, candidates: Sequence[Seconds], *, budget_s: float) -> list[float]:
    """The time of each candidate over that of the reference in the same pair: medians of at least `LEAST_PAIRS` pairs each."""
    return [median(found) for found in paired_ratios(reference, candidates, budget_s=budget_s)]


def paired_ratios(reference: Seconds, candidates: Sequence[Seconds], *, budget_s: float) -> list[list[float]]:
    """The same of every pair.

    Pairs are taken in rounds over all candidates, up to `MOST_PAIRS` of them while `budget_s` lasts.
    """
    samples: list[list[float]] = [[] for _ in candidates]
    deadline = time.perf_counter() + budget_s
    for number in range(MOST_PAIRS):
        if number >= LEAST_PAIRS and time.perf_counter() > deadline:
            break
        for found, candidate in zip(samples, candidates, strict=True):
            reference_s, candidate_s = pair(reference, candidate, number)
            found.append(candidate_s / reference_s)
    return samples


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
