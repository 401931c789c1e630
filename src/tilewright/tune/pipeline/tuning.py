"""Tuning of a case: of every chain the variants, their trials, and a re-measurement in pairs that the winner must win."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright import compiler
from tilewright.errors import TilewrightError
from tilewright.plan.tuned import choice_of, encoded, problem_key
from tilewright.plan.types import Tuned
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase, machine_key
from tilewright.tune.pipeline.trials import Told, Trials
from tilewright.tune.pipeline.variants import Trial, variants
from tilewright.tune.rankers.ranker import Ranker
from tilewright.tune.rankers.simple import ByPrice
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import TOLERANCE, Runnable, ratios

FINALISTS = 5
PAIRS_S = 2.0
LEAST_GAIN = 0.98
"""A plan is kept if it takes at most this share of the choice's time: below, pairs of the same plan differ by chance."""


RANKED = "ranked"
SEARCHES = (RANKED, "evolution", "boosting")
"""The first order of a ranker; by steps from the fastest so far; draws that a model ranks after every batch."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure."""

    trials: int = 100
    """Plans of each chain, the planner's choice apart."""
    seed: int = 0
    threads: int | None = None
    """Of the re-measurement; None: as calls have."""
    ranker: Ranker = field(default_factory=ByPrice)
    search: str = RANKED
    """How plans are chosen: of `SEARCHES`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What tuning found for one chain."""

    chain: str
    measured: int
    ratio: float
    """The time of the best plan over that of the planner's choice, in pairs; 1 where none was better in trials."""
    is_kept: bool
    why: str = ""
    """Where nothing was measured."""


def tune(
    case: Case, database: TuningDatabase, request: Request, told: Callable[[str], Told] = lambda chain: lambda done, total: None
) -> list[Result]:
    """Measure variants of every chain of a case, and keep those that win in the database.

    Raises what compilers raise. Rows are written batch by batch: an interrupted run has lost nothing, and goes on where it was.
    """
    with tuned_plans.ignored():
        model = case.model_plan(fuse=None)
        return [_tuned(Trials(case, model, at, request.seed, database), request, told) for at in range(len(model.plans))]


def _tuned(trials: Trials, request: Request, told: Callable[[str], Told]) -> Result:
    plan = trials.model.plans[trials.at]
    if trials.model.graph.constants:
        return Result(plan.chain.name, 0, 1.0, is_kept=False, why="it reads constants, which trials do not pack")
    try:
        own, best, measured = best_plans(trials, request, told(plan.chain.name))
    except (AssertionError, KeyError) as problem:
        return Result(plan.chain.name, 0, 1.0, is_kept=False, why=f"its schedules cannot be drawn: {problem}")
    winner, ratio, own_s = paired(trials, own, best[:FINALISTS], request.threads)
    is_kept = winner is not None and ratio <= LEAST_GAIN
    if winner is not None and is_kept:
        tuned = Tuned(ratio * own_s, own_s, measured)
        choice = choice_of(winner.plan, tuned)
        trials.database.keep_winner(trials.machine, trials.problem, plan.chain.name, encoded(choice))
    return Result(plan.chain.name, measured, ratio, is_kept)


def best_plans(trials: Trials, request: Request, told: Told) -> tuple[Trial, list[Trial], int]:
    """The planner's choice, what is faster than all others in trials, fastest first, and how many were measured."""
    plan = trials.model.plans[trials.at]
    if request.search == RANKED:
        own, *others = variants(plan, request.trials, request.seed, request.ranker)
        seconds = trials.measure([own, *others], told)
        right = (variant for variant in others if variant.digest in seconds)
        return own, sorted(right, key=lambda variant: seconds[variant.digest]), len(seconds)
    try:
        from tilewright.tune.pipeline.guided import by_draws, evolutionary, search
    except ModuleNotFoundError as problem:
        raise TilewrightError(
            f"the search by {request.search} needs the package {problem.name}", hint="pip install 'tilewright[tune]'"
        ) from problem
    own = variants(plan, 0, request.seed, request.ranker)[0]
    propose = (evolutionary if request.search == "evolution" else by_draws)(plan, request.seed)
    found = search(propose, lambda batch: trials.measure(batch, told), request.trials, request.seed)
    fastest = sorted(found.seconds, key=found.seconds.__getitem__)
    return own, [Trial(found.schedules[digest].plan, request.search, digest) for digest in fastest], len(fastest)


def paired(trials: Trials, own: Trial, best: Sequence[Trial], threads: int | None) -> tuple[Trial | None, float, float]:
    """The best of some variants against the planner's choice, as calls run them: it, the ratio of times, the choice's seconds."""
    if not best:
        return None, 1.0, 0.0
    reference, *candidates = (_runnable(trials, variant, threads) for variant in (own, *best))
    right = [number for number, candidate in enumerate(candidates) if _is_right(trials.case, candidate)]
    found = ratios(reference, [candidates[number] for number in right], budget_s=PAIRS_S)
    ratio, number = min(zip(found, right, strict=True), default=(1.0, 0))
    return best[number], ratio, reference.seconds()


def _runnable(trials: Trials, variant: Trial, threads: int | None) -> Runnable:
    executable = compiler.build(trials.model.with_plan(trials.at, variant.plan), threads=threads)
    return Runnable(executable, trials.case.inputs, np.empty(trials.case.reference.shape, np.float32))


def _is_right(case: Case, runnable: Runnable) -> bool:
    runnable.result.fill(np.nan)
    runnable()
    return case.error(runnable.result) <= TOLERANCE


def untuned(case: Case, database: TuningDatabase) -> int:
    """Forget the winners of a case's chains; how many chains that are."""
    with tuned_plans.ignored():
        model = case.model_plan(fuse=None)
    for plan in model.plans:
        database.forget_winner(machine_key(model.machine), problem_key(plan.chain))
    return len(model.plans)
