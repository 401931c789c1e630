"""Variants of one chain: drawn, compiled in batches, checked against NumPy, measured, and written to the database batch by batch.

They are drawn from the planner's space, the most promising first. A run that is interrupted and begun again measures what is
missing: its name is a digest of what it was asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.machine.machine import Machine
from tilewright.plan.tuned import choice_of, encoded, problem_key
from tilewright.plan.types import Plan, Price, Tuned
from tilewright.records import record
from tilewright.runtime import artifacts
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.tuning.database import TuningDatabase, machine_key
from tilewright.runtime.tuning.measurements import Measurement
from tilewright.tune.pipeline.executors import HERE, Executor
from tilewright.tune.pipeline.work import Measured, Paired, measure, measure_pairs
from tilewright.tune.rankers.ranker import Ranker, Variant
from tilewright.tune.schedules.cases import choice, kernels_for, searched
from tilewright.tune.schedules.chain_case import ChainCase
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.schedules.timing import PLANS_PER_LIBRARY
from tilewright.tune.working_sets.features import plan_features

DRAWN_PER_TRIAL = 10
"""Schedules that are ranked for each that is measured: a tenth is kept, as in PolyDL."""
NOBODY = Tuned(0.0, 0.0, 0)


@record
class Trial:
    """A schedule of a chain, and where it comes from."""

    schedule: Sampled
    source: str
    digest: str
    """Of its decisions: equal for equal plans."""

    @property
    def plan(self) -> Plan:
        """Of the schedule."""
        return self.schedule.plan

    @property
    def features(self) -> str:
        """Working sets, as JSON."""
        return json.dumps(plan_features(self.plan))


TimedTrial = tuple[Trial, float]
"""A variant that computes the right result, and its seconds."""


def by_time(found: Mapping[str, TimedTrial]) -> list[TimedTrial]:
    """Variants by digest, the fastest first."""
    return sorted(found.values(), key=lambda timed: timed[1])


def variants(plan: Plan, trials: int, seed: int, ranker: Ranker) -> list[Trial]:
    """The planner's choice, then up to `trials` others: neighbours of the choice and drawn schedules, in a ranker's order.

    Raises `NoSchedules` where the planner's choice is outside of the space (chains without a search of loops).
    """
    own = choice(plan)
    sampler = Sampler(own, kernels_for(plan.machine), seed)
    found = [(own, "choice"), *([(searched(plan), "whole sum")] if plan.schedule.split else [])]
    found += [(one, "neighbour") for _, one in sampler.neighbours()]
    found += [(one, source) for source, one in sampler.drawn(DRAWN_PER_TRIAL * trials)]
    unlike: dict[str, Trial] = {}
    for trial in (trial_of(one, source) for one, source in found):
        unlike.setdefault(trial.digest, trial)
    first, *others = unlike.values()
    order = ranker.order([_ranked(one.schedule, ranker) for one in others])
    return [first, *(others[at] for at in order[:trials])]


def trial_of(one: Sampled, source: str) -> Trial:
    """A schedule as something to measure."""
    return Trial(one, source, decisions_digest(one.plan))


def decisions_digest(plan: Plan) -> str:
    """The digest of what a plan decides, without its price."""
    return hashlib.sha256(encoded(replace(choice_of(plan, NOBODY), price=Price(())))).hexdigest()


def _ranked(one: Sampled, ranker: Ranker) -> Variant:
    features = tuple(map(float, plan_features(one.plan))) if ranker.uses_features else ()
    return Variant(one.plan.chain.name, features, one.predicted_s)


BATCH = 2 * PLANS_PER_LIBRARY

Progress = Callable[[int, int], None]
"""Gets how many variants are done, and how many there are."""


@record
class Trials:
    """The variants of one chain."""

    case: ChainCase
    seed: int
    database: TuningDatabase
    executor: Executor = HERE

    @property
    def planned_for(self) -> Machine:
        """The machine of the plans, which measures them."""
        return self.case.model.machine

    @property
    def plan(self) -> Plan:
        """The planner's."""
        return self.case.model.plans[0]

    @property
    def machine(self) -> str:
        """As rows name it."""
        return machine_key(self.planned_for)

    @property
    def problem(self) -> str:
        """As rows name it."""
        return problem_key(self.plan.chain)

    def measure(
        self, found: Sequence[Trial], progress: Progress = lambda done, total: None, best_s: float = float("inf")
    ) -> dict[str, float]:
        """Seconds of a call on one thread, by the digest of a variant, of those that compute the right result.

        `best_s` is the best time of others that were measured before.
        """
        run = self.run_of(found)
        known = self.known(run)
        left = [variant for variant in found if variant.digest not in known]
        batches = [left[start : start + BATCH] for start in range(0, len(left), BATCH)]
        progress(len(known), len(found))
        for number, measured in self.executor.run(self.planned_for, measure, self._tasks(batches, known, best_s)):
            known |= measured.seconds
            self.keep(batches[number], measured, run)
            progress(len(known), len(found))
        return {digest: seconds for digest, seconds in known.items() if seconds is not None}

    def run_of(self, found: Sequence[Trial]) -> str:
        """The name of a run: a digest of what it measures, and of the sources and the compiler that make it."""
        made_by = (artifacts.sources(), toolchain.find().version)
        words = [self.problem, str(self.seed), *made_by, *(variant.digest for variant in found)]
        return hashlib.sha256("\0".join(words).encode()).hexdigest()

    def known(self, run: str) -> dict[str, float | None]:
        """What a run has measured so far."""
        return {one.plan: one.seconds for one in self.database.measurements(self.machine, self.problem, run)}

    def keep(self, found: Sequence[Trial], measured: Measured, run: str) -> None:
        """Write the rows of variants, all or none."""
        self.database.add(self._row(variant, measured, run) for variant in found)

    def pairs(self, reference: Plan, candidates: Sequence[Plan], threads: int | None) -> Paired:
        """Candidates against the plan in use, as calls run them."""
        task = (self.case, reference, list(candidates), threads)
        ((_, found),) = self.executor.run(self.planned_for, measure_pairs, [task])
        return found

    def _tasks(
        self, batches: Sequence[Sequence[Trial]], known: dict[str, float | None], best_s: float
    ) -> Iterator[tuple[object, ...]]:
        """Each with the best time that is known when it is asked for."""
        for batch in batches:
            best_s = min((seconds for seconds in known.values() if seconds is not None), default=best_s)
            yield self.case, [(variant.digest, variant.plan) for variant in batch], best_s

    def _row(self, variant: Trial, measured: Measured, run: str) -> Measurement:
        return Measurement(
            *(self.machine, self.problem, variant.digest, variant.source),
            *(measured.seconds[variant.digest], variant.plan.predicted_seconds, variant.features),
            *(measured.compiler, measured.release, run, measured.commit),
        )
