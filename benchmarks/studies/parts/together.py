"""What several threads do per second while all of them run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

LEAST_S = 4e-3
"""For which all threads run beside each other."""
Stamps = list[tuple[float, int]]
"""When a piece of work ended, and how much it was; the first entry is the start."""


def rate_together(pieces: Sequence[Callable[[], int]]) -> float:
    """What all threads do per second, each on a CPU of its own.

    A piece is some 0.1 ms of work and returns how much that was. Every thread repeats its own until all have run for `LEAST_S`;
    only what they do meanwhile counts, so that a thread that wakes late does not make the others slower.
    """
    stamps, allowed = [Stamps() for _ in pieces], os.sched_getaffinity(0)
    cpus = sorted(allowed)

    def run(number: int) -> None:
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})
        _repeat(pieces[number], stamps, number)

    others = [threading.Thread(target=run, args=(number,)) for number in range(1, len(pieces))]
    for other in others:
        other.start()
    run(0)
    for other in others:
        other.join()
    os.sched_setaffinity(0, allowed)
    begin, end = max(own[0][0] for own in stamps), min(own[-1][0] for own in stamps)
    return sum(rate_between(own, begin, end) for own in stamps)


def _repeat(piece: Callable[[], int], stamps: Sequence[Stamps], number: int) -> None:
    own = stamps[number]
    own.append((time.perf_counter(), 0))
    while not all(stamps) or own[-1][0] < max(other[0][0] for other in stamps) + LEAST_S:
        amount = piece()
        own.append((time.perf_counter(), amount))


def rate_between(own: Stamps, begin: float, end: float) -> float:
    """Per second, between two times; of a piece that lies inside in part that part counts.

    >>> rate_between([(0.0, 0), (1.0, 5), (3.0, 4)], 0.5, 2.5)
    2.75
    """
    times, amounts = zip(*own, strict=True)
    first, last = np.interp((begin, end), times, np.cumsum(amounts))
    return float(last - first) / (end - begin)
