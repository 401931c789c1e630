"""Ratios of a peer's time to ours, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from tilewright_bench.measurement.harness import CaseResult


def ratio(result: CaseResult, library: str = "") -> float | None:
    """The time of the best peer, or of the best contender of a library, over ours: above 1 we are faster. None without one."""
    best = result.best_peer(library)
    return None if best is None else best.to_own


def geometric_mean(values: Sequence[float]) -> float:
    """The mean for ratios.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return exp(sum(map(log, values)) / len(values))
