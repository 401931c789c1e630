"""Schedules to measure for one chain of a case: drawn from the planner's space, the most promising first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.plan.tuned import choice_of, encoded
from tilewright.plan.types import Plan, Price, Tuned
from tilewright.tune.rankers.ranker import Ranker, Variant
from tilewright.tune.schedules.cases import choice, kernels_for, searched
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.working_sets.features import plan_features

DRAWN_PER_TRIAL = 10
"""Schedules that are ranked for each that is measured: a tenth is kept, as in PolyDL."""
NOBODY = Tuned(0.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan of a chain, and where it comes from."""

    plan: Plan
    source: str
    digest: str
    """Of its decisions: equal for equal plans."""
    origin: Sampled | None = None
    """The schedule that the plan is of, where others are made of it."""

    @property
    def features(self) -> str:
        """Working sets, as JSON."""
        return json.dumps(plan_features(self.plan))


def variants(plan: Plan, trials: int, seed: int, ranker: Ranker) -> list[Trial]:
    """The planner's choice, then up to `trials` others: neighbours of the choice and drawn schedules, in a ranker's order.

    Raises `NoSchedules` where the planner's choice is outside of the space (chains without a search of loops).
    """
    own = choice(plan)
    sampler = Sampler(own, kernels_for(plan.machine), seed)
    if not trials:
        return [trial_of(own, "choice")]
    found = [(searched(plan), "whole sum")] if plan.schedule.split else []
    found += [(one, "neighbour") for _, one in sampler.neighbours()]
    found += [(one, source) for source, one in sampler.drawn(DRAWN_PER_TRIAL * trials)]
    unlike = list(_distinct([(own, "choice"), *found]))
    order = ranker.order([_ranked(one, ranker) for one, _, _ in unlike[1:]])
    ordered = (unlike[1 + at] for at in order[:trials])
    return [Trial(one.plan, source, digest, one) for one, source, digest in (unlike[0], *ordered)]


def trial_of(one: Sampled, source: str) -> Trial:
    """A schedule as something to measure."""
    return Trial(one.plan, source, decisions_digest(one.plan), one)


def _distinct(found: Iterable[tuple[Sampled, str]]) -> Iterable[tuple[Sampled, str, str]]:
    """Those whose decisions differ from all before them."""
    seen = set()
    for one, source in found:
        digest = decisions_digest(one.plan)
        if digest not in seen:
            seen.add(digest)
            yield one, source, digest


def decisions_digest(plan: Plan) -> str:
    """The digest of what a plan decides, without its price."""
    return hashlib.sha256(encoded(replace(choice_of(plan, NOBODY), price=Price(())))).hexdigest()


def _ranked(one: Sampled, ranker: Ranker) -> Variant:
    features = tuple(map(float, plan_features(one.plan))) if ranker.uses_features else ()
    return Variant(one.plan.chain.name, features, one.predicted_s)
