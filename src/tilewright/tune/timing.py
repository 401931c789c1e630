"""Timing: turns of one call, and pairs of two contenders.

A clock drifts by tens of percent within seconds. In a pair two contenders take their turns one right after the other, and only
the ratio within a pair counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

from tilewright.records import record
from tilewright.runtime.measurement import elapsed_s

TURN_S = 2e-3
"""A turn lasts at least this long, and one call."""
LONG_CALL_S = 0.1
"""A call so long needs no warm caches, and no call before it."""

Seconds = Callable[[], float]
"""Takes a turn and returns the seconds of one call."""
LEAST_PAIRS = 15
MOST_PAIRS = 101
LEAST_GAIN = 0.98
"""Of the reference's time, what a faster candidate takes at most: nearer to it, pairs of the same code differ by chance."""
LEAST_WINS = 0.75
"""Of pairs. Of at least `LEAST_PAIRS` pairs of the same code one of two wins so many in 2 of 100 cases."""


def seconds_per_call(call: Callable[[], object], turn_s: float = TURN_S) -> float:
    """Mean seconds over the calls of a turn. One call before them warms the caches; a long call is the whole turn."""
    first_s = elapsed_s(call)
    if first_s >= LONG_CALL_S:
        return first_s
    calls, total_s, begin = 0, 0.0, time.perf_counter()
    while calls == 0 or total_s < turn_s:
        call()
        calls += 1
        total_s = time.perf_counter() - begin
    return total_s / calls


@record
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
