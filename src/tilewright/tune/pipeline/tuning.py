"""Tuning: of every chain the variants, their trials, and a re-measurement in pairs that the winner must win.

The plans that win on one machine are kept together at the end of a run, but for those with which calls as a whole are slower.
What tuning reports is of every chain, and of calls as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path
from typing import TypeAlias

import tilewright as tw
from tilewright.errors import needs_packages
from tilewright.machine.machine import Machine
from tilewright.plan.tuned import TunedChoice, choice_of, encoded, problem_key, with_choice
from tilewright.plan.types import ModelPlan, Plan, Tuned
from tilewright.records import record
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase, Winner, machine_key
from tilewright.tune.pipeline import ranking, unrolling
from tilewright.tune.pipeline.executors import HERE, Executor
from tilewright.tune.pipeline.names import NO_AGENT, PRICE, RANKED
from tilewright.tune.pipeline.trials import Progress, TimedTrial, Trial, Trials, by_time, trial_of, variants
from tilewright.tune.pipeline.work import Paired, WholeCase, worst_ratio
from tilewright.tune.rankers.ranker import Ranker
from tilewright.tune.schedules.cases import Case, NoSchedules, choice
from tilewright.tune.schedules.chain_case import NotTunable, chain_case


class Judgement(Enum):
    """What becomes of the plans that were measured."""

    STAYS = auto()
    """Calls use the plan of before."""
    WINS = auto()
    """The best plan is faster than that of before; calls as a whole decide at the end whether they use it."""
    KEPT = auto()
    """Calls use the best plan from now on."""


@record
class Result:
    """Of one chain; with `is_whole`, of calls of a function or model of several chains, with all plans that won."""

    name: str
    measured: int
    """Plans."""
    ratio: float
    """The time of the best plan over that of the plan in use, in pairs; 1 where nothing was compared."""
    judgement: Judgement
    wins: float = 0.0
    """The share of pairs that the best plan won, in its worst series."""
    why: str = ""
    """Where nothing was compared."""
    machine: str = ""
    """On which it was measured."""
    was_tuned: bool = False
    """Whether the plan in use was itself tuned, by an earlier run."""
    is_whole: bool = False


@dataclass(slots=True)
class Winners:
    """Plans that won in one run, by problem. An interrupted run keeps none of them; its measurements stay."""

    machine: Machine
    models: Sequence[ModelPlan]
    """With the planner's choices."""
    database: TuningDatabase
    executor: Executor
    threads: int | None
    _won: dict[str, Winner] = field(default_factory=dict)

    def add(self, plan: Plan, choice: TunedChoice) -> Judgement:
        """A chain's plan that won: kept at once where no model has other chains beside it."""
        key = problem_key(plan.chain)
        winner = Winner(key, plan.chain.name, encoded(choice))
        if all(keys_of(model) == {key} for model in self.models if key in keys_of(model)):
            self.database.keep(machine_key(self.machine), [winner])
            return Judgement.KEPT
        self._won[key] = winner
        return Judgement.WINS

    def kept(self) -> Iterator[Result]:
        """Compare calls of every model of several chains, leave out what makes them slower, and keep the rest.

        Without a plan that one model loses, another may be slower: models are compared until nothing more is left out.
        """
        compared: set[str] = set()
        while compared != set(self._won):
            compared = set(self._won)
            for model in self.models:
                yield from self._compared(model)
        self.database.keep(machine_key(self.machine), self._won.values())

    def _compared(self, model: ModelPlan) -> Iterator[Result]:
        won = keys_of(model) & set(self._won)
        if len(keys_of(model)) < 2 or not won:
            return
        before = self.database.winners(machine_key(self.machine))
        after = before | {key: self._won[key].choice for key in won}
        used, new = (tuned_plans.with_winners(model, found) for found in (before, after))
        task = WholeCase(used), new.plans, self.threads
        ((_, ratio),) = self.executor.run(self.machine, worst_ratio, [task])
        result = Result(model.graph.name, 0, ratio or 1.0, Judgement.KEPT, machine=machine_key(self.machine), is_whole=True)
        if ratio is None:
            result = replace(result, why="it has extents that are known at run time only")
        elif ratio > 1:
            result = replace(result, judgement=Judgement.STAYS)
            self._won = {key: winner for key, winner in self._won.items() if key not in won}
        yield result


def keys_of(*models: ModelPlan) -> set[str]:
    """The keys of the problems of all their chains."""
    return {problem_key(plan.chain) for model in models for plan in model.plans}


FINALISTS = 5
LEAST_TRIALS = 10
"""Of a chain of a model, whatever its share of the time."""

Plans: TypeAlias = Callable[[Machine], Sequence[ModelPlan]]
"""What is tuned, as the planner plans it for a machine."""


@record
class Request:
    """What to measure."""

    trials: int = 100
    """Plans of each chain, the planner's choice apart."""
    seed: int = 0
    threads: int | None = None
    """Of the re-measurement; None: as calls have."""
    ranker: str = PRICE
    """Who orders the plans that are drawn: of `RANKERS`."""
    ranker_file: Path | None = None
    """Where a ranker that learns is read from, or saved if the file does not exist."""
    search: str = RANKED
    """How plans are chosen: of `SEARCHES`."""
    unroll: str = NO_AGENT
    """Who chooses unroll factors for the best tenth: of `AGENTS`. That takes `unrolling.SHARE` of the trials."""

    @property
    def unrolled(self) -> int:
        """The trials of unroll factors."""
        return 0 if self.unroll == NO_AGENT else int(unrolling.SHARE * self.trials)


@record
class Run:
    """What the chains of one machine have in common."""

    request: Request
    ranker: Ranker
    winners: Winners
    progress: Callable[[str], Progress]


def plans_of(case: Case) -> Plans:
    """A function as something to tune."""

    def planned(machine: Machine) -> Sequence[ModelPlan]:
        lowered = tw.jit(case.function, target=machine).lower(*map(tw.spec, case.shapes))
        return [lowered.model_plan]

    return planned


def tune_chains(
    plans: Plans,
    database: TuningDatabase,
    request: Request,
    progress: Callable[[str], Progress] = lambda chain: lambda done, total: None,
    executor: Executor = HERE,
    *,
    is_shared: bool = False,
) -> Iterator[Result]:
    """Results of all distinct chains on every kind of machine, the most expensive first, then of calls of whole models.

    Variants of every chain are measured, and those that win kept in the database. With `is_shared`, all chains of a machine share
    the trials of one request. Raises what compilers and executors raise. Rows are written batch by batch: an interrupted run has
    lost nothing, and goes on where it was.
    """
    for machine in executor.machines():
        with tuned_plans.ignored():
            models = plans(machine)
        name = request.ranker if request.search == RANKED else PRICE
        ranker = ranking.trained(name, database, machine, keys_of(*models), request.seed, request.ranker_file)
        run = Run(request, ranker, Winners(machine, models, database, executor, request.threads), progress)
        chains = _by_time(models)
        trials = shared_out(request.trials, [share for share, _, _ in chains]) if is_shared else [request.trials] * len(chains)
        for count, (_, model, at) in zip(trials, chains, strict=True):
            with tuned_plans.ignored():
                result = _tuned(model, at, replace(run, request=replace(request, trials=count)))
            yield result
        with tuned_plans.ignored():
            of_models = list(run.winners.kept())
        yield from of_models


def shared_out(trials: int, shares: Iterable[float]) -> list[int]:
    """Trials for chains that take these shares of the time, the largest first: at least `LEAST_TRIALS` each, while they last.

    >>> shared_out(100, [0.9, 0.08, 0.02])
    [90, 10, 0]
    """
    found, left = [], trials
    for share in shares:
        found.append(min(left, max(LEAST_TRIALS, round(trials * share))))
        left -= found[-1]
    return found


def _by_time(models: Iterable[ModelPlan]) -> list[tuple[float, ModelPlan, int]]:
    """The chains of models, equal ones once: their share of the time of all, a model, and their number there."""
    seconds: dict[str, float] = {}
    places: dict[str, tuple[ModelPlan, int]] = {}
    for model in models:
        for at, plan in enumerate(model.plans):
            key = problem_key(plan.chain)
            seconds[key] = seconds.get(key, 0.0) + plan.predicted_seconds
            places.setdefault(key, (model, at))
    total = sum(seconds.values())
    ordered = sorted(seconds, key=seconds.__getitem__, reverse=True)
    return [(seconds[key] / total, *places[key]) for key in ordered]


def _tuned(model: ModelPlan, at: int, run: Run) -> Result:
    plan, winners = model.plans[at], run.winners
    nothing = Result(plan.chain.name, 0, 1.0, Judgement.STAYS, machine=machine_key(model.machine))
    if not run.request.trials:
        return replace(nothing, why="no trials are left for it; give more with --trials")
    try:
        case = chain_case(model, at)
        trials = Trials(case, run.request.seed, winners.database, winners.executor)
        own, best, measured = best_plans(trials, run.request, run.progress(plan.chain.name), run.ranker)
    except NotTunable as problem:
        return replace(nothing, why=problem.why)
    except NoSchedules as problem:
        return replace(nothing, why=f"its schedules cannot be drawn: {problem}")
    before = tuned_plans.choice_for(case.model.plans[0], winners.database)
    used = own.plan if before is None else with_choice(own.plan, before)
    found = trials.pairs(used, [one.plan for one in best[:FINALISTS]], run.request.threads) if best else Paired(None, 0.0)
    result = replace(nothing, measured=measured, was_tuned=before is not None)
    if found.verdict is None:
        return result
    if found.verdict.is_faster:
        seconds, planned_s = found.verdict.ratio * found.reference_s, found.reference_s
        if before is not None:  # the planner's choice takes as much longer than a tuned reference as it did then
            planned_s *= before.tuned.planned_seconds / before.tuned.seconds
        winner = choice_of(best[found.verdict.number].plan, Tuned(seconds, planned_s, measured))
        result = replace(result, judgement=winners.add(plan, winner))
    return replace(result, ratio=found.verdict.ratio, wins=found.verdict.wins)


def best_plans(trials: Trials, request: Request, progress: Progress, ranker: Ranker) -> tuple[Trial, list[Trial], int]:
    """The planner's choice, what is faster than all others in trials, fastest first, and how many were measured.

    The stages of the pipeline: variants, those that a ranker or a search chooses, and unroll factors for the best tenth of these.
    """
    if request.unrolled:
        unrolling.searcher(request.unroll)  # what is missing is said before anything is measured
    total, first = request.trials + 1, request.trials - request.unrolled
    own, found = _measured(trials, replace(request, trials=first), ranker, lambda done, _: progress(done, total))
    if request.unrolled and found:
        found |= unrolling.unrolled(
            trials, by_time(found), request.unroll, request.unrolled, lambda done, _: progress(first + 1 + done, total)
        )
    progress(total, total)
    return own, [one for one, _ in by_time(found) if one.digest != own.digest], len(found)


def _measured(trials: Trials, request: Request, ranker: Ranker, progress: Progress) -> tuple[Trial, dict[str, TimedTrial]]:
    """The planner's choice, and the variants that were right, it among them if it was measured, by digest.

    Shows that it has begun: drawing schedules takes seconds.
    """
    plan = trials.plan
    if request.search == RANKED:
        progress(0, request.trials + 1)
        every = variants(plan, request.trials, request.seed, ranker)
        seconds = trials.measure(every, progress)
        return every[0], {one.digest: (one, seconds[one.digest]) for one in every if one.digest in seconds}
    with needs_packages(f"the search by {request.search}", "tune"):
        from tilewright.tune.pipeline.guided import by_draws, evolutionary, search

    def measure(batch: Sequence[Trial], begun: int) -> dict[str, float]:
        return trials.measure(batch, lambda done, _: progress(begun + done, request.trials))

    propose = (evolutionary if request.search == "evolution" else by_draws)(plan, request.seed)
    found = search(propose, measure, request.trials, request.seed)
    return trial_of(choice(plan), "choice"), found.right


def untuned(plans: Plans, database: TuningDatabase, machine: Machine) -> int:
    """Forget the winners of all chains for a machine; how many chains had one."""
    with tuned_plans.ignored():
        keys = keys_of(*plans(machine))
    return sum(database.forget_winner(machine_key(machine), key) for key in keys)
