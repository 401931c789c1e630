"""Finalists of a problem in pairs with the planner's choice: those that methods found, and the fastest of the table.

Two series of pairs: the first elects the fastest of all, the second gives every figure, so that none elected itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.studies.tuned.building import CORE, libraries
from benchmarks.studies.tuned.measuring import turn, undisturbed
from benchmarks.studies.tuned.problems import Problem
from benchmarks.studies.tuned.variants import Entry, models, table
from tilewright.runtime.memory import new_result
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import Runnable, library, loaded
from tilewright.tune.timing import pair

SERIES_S = 2.5
"""Of one series of all finalists of a problem."""
LEAST_PAIRS, MOST_PAIRS = 5, 31


@dataclass(frozen=True, slots=True)
class Series:
    """The time of every finalist over that of the choice, by digest."""

    electing: dict[str, float]
    final: dict[str, float]

    def best(self) -> tuple[str, float]:
        """The elected finalist and its figure; the choice itself, as an empty name, where that is no less than 1."""
        name = min(self.electing, key=self.electing.__getitem__, default="")
        figure = self.final.get(name, 1.0)
        return (name, figure) if figure < 1 else ("", 1.0)


def measure(problem: Problem, digests: Sequence[str], count: int, seed: int = 0) -> Series:
    """Both series, of variants of the first `count` of the problem's table."""
    os.sched_setaffinity(0, {CORE})
    with tuned_plans.ignored(), TemporaryDirectory(prefix="tilewright-finals-") as directory:
        entries = table(models(problem.case), count, seed)
        chosen = [entries[0], *(one for one in entries[1:] if one.digest in set(digests))]
        runnables = _compiled(problem.case, chosen, Path(directory))
        own = runnables.pop(chosen[0].digest)
        own()
        call_s = min(turn(own, 1.0) for _ in range(3))
        return Series(_series(own, runnables, call_s), _series(own, runnables, call_s))


def _compiled(case: Case, chosen: Sequence[Entry], directory: Path) -> dict[str, Runnable]:
    result = new_result(case.reference.shape, np.dtype(np.float32))
    found: dict[str, Runnable] = {}
    for numbers in libraries([(number, one.instructions) for number, one in enumerate(chosen)]):
        path = directory / f"{numbers[0]}.so"
        plans = [chosen[number].plan for number in numbers]
        executables = loaded(library(plans, path), plans, path)
        found |= {chosen[n].digest: Runnable(one, case.inputs, result) for n, one in zip(numbers, executables, strict=True)}
    return {one.digest: found[one.digest] for one in chosen}


def _series(own: Runnable, others: dict[str, Runnable], call_s: float) -> dict[str, float]:
    samples: dict[str, list[float]] = {digest: [] for digest in others}
    for number in range(pairs_of(call_s, len(others))):
        for digest, other in others.items():
            with undisturbed():
                own_s, other_s = pair(lambda: turn(own, call_s), lambda: turn(other, call_s), number)  # noqa: B023
            samples[digest].append(other_s / own_s)
    return {digest: median(ratios) for digest, ratios in samples.items()}


def pairs_of(call_s: float, finalists: int) -> int:
    """As many as `SERIES_S` has room for, within bounds, an odd number.

    >>> pairs_of(0.001, 10), pairs_of(0.02, 10), pairs_of(2.0, 10)
    (31, 7, 5)
    """
    room = SERIES_S / (2 * max(call_s, 3e-3) * max(finalists, 1))
    return min(MOST_PAIRS, max(LEAST_PAIRS, int(room))) // 2 * 2 + 1
