"""Interleaved turns: every round has a turn of each contender, so that ratios are of the same clock and the same heat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeAlias

from tilewright_bench.gpu.results import Timed

Stopwatch: TypeAlias = Callable[[], float]
"""Gives the seconds of one call."""


def timed(stopwatches: Mapping[str, Stopwatch], rounds: int, ours: str) -> tuple[Timed, ...]:
    """Medians over rounds, every other one in reverse order; ratios are those of pairs within a round."""
    order, turns = list(stopwatches), list[dict[str, float]]()
    for _ in range(rounds):
        turns.append({name: stopwatches[name]() for name in order})
        order.reverse()
    return tuple(_timed(name, turns, ours) for name in stopwatches)


def _timed(name: str, turns: list[dict[str, float]], ours: str) -> Timed:
    ratio = median(turn[name] / turn[ours] for turn in turns) if ours in turns[0] else float("nan")
    return Timed(name, median(turn[name] for turn in turns), ratio, len(turns))
