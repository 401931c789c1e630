"""Paired timing: two contenders take their turns one right after the other, and only the ratio within a pair counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from tilewright.tune.timing.rounds import Seconds

LEAST_PAIRS = 15
MOST_PAIRS = 101


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


def ratios(reference: Seconds, candidates: Sequence[Seconds], *, budget_s: float) -> list[float]:
    """The time of each candidate over that of the reference in the same pair: medians of at least `LEAST_PAIRS` pairs each.

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
    return [median(found) for found in samples]
