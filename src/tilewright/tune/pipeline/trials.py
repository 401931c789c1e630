"""Variants of one chain, compiled in batches, checked against NumPy, measured, and written to the database batch by batch.

A run that is interrupted and begun again measures what is missing: its name is a digest of what it was asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright import __version__
from tilewright.plan.tuned import problem_key
from tilewright.plan.types import ModelPlan
from tilewright.runtime import artifacts, toolchain
from tilewright.runtime.tuning.database import Measurement, TuningDatabase, machine_key
from tilewright.tune.pipeline.variants import Trial
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import PLANS_PER_LIBRARY, Runnable, compiled_models, wrong

BATCH = 2 * PLANS_PER_LIBRARY
HOPELESS = 3.0
"""A variant whose first call takes so many times as long as the best so far is not called again."""
TURNS = 5

Told = Callable[[int, int], None]
"""Is told how many variants are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The variants of one chain of a case."""

    case: Case
    model: ModelPlan
    at: int
    """The number of the chain."""
    seed: int
    database: TuningDatabase

    @property
    def machine(self) -> str:
        """As rows name it."""
        return machine_key(self.model.machine)

    @property
    def problem(self) -> str:
        """As rows name it."""
        return problem_key(self.model.plans[self.at].chain)

    def measure(self, found: Sequence[Trial], told: Told = lambda done, total: None) -> dict[str, float]:
        """Seconds of a call on one thread, by the digest of a variant, of those that compute the right result."""
        run = hashlib.sha256("\0".join([self.problem, str(self.seed), *(v.digest for v in found)]).encode()).hexdigest()
        known = {one.plan: one.seconds for one in self.database.measurements(self.machine, self.problem, run)}
        for batch in _batches([variant for variant in found if variant.digest not in known]):
            told(len(known), len(found))
            best = min((seconds for seconds in known.values() if seconds is not None), default=float("inf"))
            times = self._measured(batch, best)
            known |= times
            self.database.add(self._row(variant, times[variant.digest], run) for variant in batch)
        told(len(found), len(found))
        return {digest: seconds for digest, seconds in known.items() if seconds is not None}

    def _measured(self, batch: Sequence[Trial], best_s: float) -> dict[str, float | None]:
        """Of a batch; None for wrong results."""
        with TemporaryDirectory(prefix="tilewright-tune-") as directory:
            runnables = compiled_models(
                self.case, [self.model.with_plan(self.at, variant.plan) for variant in batch], Path(directory)
            )
            faults = wrong(self.case, runnables)
            seconds: dict[str, float | None] = {}
            for number, (variant, runnable) in enumerate(zip(batch, runnables, strict=True)):
                seconds[variant.digest] = None if number in faults else _timed(runnable, best_s)
                best_s = min(best_s, seconds[variant.digest] or best_s)
            return seconds

    def _row(self, variant: Trial, seconds: float | None, run: str) -> Measurement:
        compiler, predicted_s = toolchain.find().version, variant.plan.predicted_seconds
        names = self.machine, self.problem, variant.digest, variant.source
        release = f"{__version__} {artifacts.sources()[:12]}"
        return Measurement(*names, seconds, predicted_s, variant.features, compiler, release, run)


def _timed(runnable: Runnable, best_s: float) -> float:
    """The least of some turns; of one call where that is hopeless."""
    first_s = runnable.seconds(0.0)
    if first_s > HOPELESS * best_s:
        return first_s
    return min(runnable.seconds() for _ in range(TURNS))


def _batches(found: Sequence[Trial]) -> Iterator[Sequence[Trial]]:
    for start in range(0, len(found), BATCH):
        yield found[start : start + BATCH]
