"""The plans that win on one machine: kept together at the end of a run, but for those with which calls as a whole are slower.

And what tuning reports of them, chain by chain, and of calls as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tilewright.machine.machine import Machine
from tilewright.plan.tuned import TunedChoice, encoded, problem_key
from tilewright.plan.types import ModelPlan, Plan
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase, Winner, machine_key
from tilewright.tune.pipeline.executors import Executor
from tilewright.tune.pipeline.work import WholeCase, worst_ratio


class Judgement(Enum):
    """What becomes of the plans that were measured."""

    STAYS = auto()
    """Calls use the plan of before."""
    WINS = auto()
    """The best plan is faster than that of before; calls as a whole decide at the end whether they use it."""
    KEPT = auto()
    """Calls use the best plan from now on."""


@dataclass(frozen=True, slots=True)
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
        won = self._won_in(model)
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

    def _won_in(self, model: ModelPlan) -> set[str]:
        return keys_of(model) & set(self._won)


def keys_of(*models: ModelPlan) -> set[str]:
    """The keys of the problems of all their chains."""
    return {problem_key(plan.chain) for model in models for plan in model.plans}
