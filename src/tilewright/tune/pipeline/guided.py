"""Searches that learn from what they have measured: an evolutionary search and one guided by gradient boosting.

They stand in for Ansor and AutoTVM, of which no release is to be had: the first improves schedules step by step and lets a model
choose among the children, the second ranks fresh draws by a model. Both measure in batches and begin with random draws.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.types import Plan
from tilewright.tune.pipeline.trials import BATCH, TimedTrial, Trial, by_time, trial_of
from tilewright.tune.rankers.boosting import Boosting
from tilewright.tune.rankers.ranker import Variant
from tilewright.tune.schedules.cases import choice, kernels_for
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled
from tilewright.tune.working_sets.features import plan_features

CHILDREN_PER_TRIAL = 4
DRAWS_PER_TRIAL = 8
PARENTS = 8
FRESH_SHARE = 0.2
"""Of a batch that no model chooses: else a search sees only what its model likes."""

Measure = Callable[[Sequence[Trial], int], dict[str, float]]
"""Seconds of right variants by digest, of a batch after so many others."""


@dataclass(slots=True)
class Found:
    """What a search has measured."""

    trials: dict[str, Trial] = field(default_factory=dict)
    """All of them, by digest."""
    right: dict[str, TimedTrial] = field(default_factory=dict)
    """Those whose results were right."""

    def best(self, count: int) -> list[Sampled]:
        """The fastest schedules."""
        return [trial.schedule for trial, _ in by_time(self.right)[:count]]


Propose = Callable[[Found, int], Iterator[Sampled]]
"""Schedules to measure next, more than wanted, some of them known."""


def evolutionary(plan: Plan, seed: int) -> Propose:
    """Random steps away from the fastest schedules, and fresh draws."""
    source, kernels = random.Random(seed), kernels_for(plan.machine)
    sampler = Sampler(choice(plan), kernels, seed)

    def propose(found: Found, wanted: int) -> Iterator[Sampled]:
        parents = found.best(PARENTS)
        yield from _children(parents, kernels, CHILDREN_PER_TRIAL * wanted, source)
        yield from (one for _, one in sampler.drawn(wanted))

    return propose


def by_draws(plan: Plan, seed: int) -> Propose:
    """Fresh draws."""
    sampler = Sampler(choice(plan), kernels_for(plan.machine), seed)
    return lambda found, wanted: (one for _, one in sampler.drawn(DRAWS_PER_TRIAL * wanted))


def _children(
    parents: Sequence[Sampled], kernels: tuple[MicroKernel, ...], count: int, source: random.Random
) -> Iterator[Sampled]:
    """Neighbours of parents, as many of each as of the others."""
    for parent in parents:
        beside = [one for _, one in Sampler(parent, kernels).neighbours()]
        yield from source.sample(beside, min(len(beside), -(-count // len(parents))))


def search(propose: Propose, measure: Measure, trials: int, seed: int, batch_size: int = BATCH) -> Found:
    """Measure up to `trials` schedules in batches, each chosen by a model of all before; fewer where no more are found."""
    found, source = Found(), random.Random(seed)
    while len(found.trials) < trials:
        wanted = min(batch_size, trials - len(found.trials))
        proposed = {one.digest: one for one in (trial_of(one, "search") for one in propose(found, wanted))}
        fresh = {digest: one for digest, one in proposed.items() if digest not in found.trials}
        if not fresh:
            return found
        batch = {digest: fresh[digest] for digest in _chosen(found, fresh, wanted, source)}
        seconds = measure([*batch.values()], len(found.trials))
        found.trials |= batch
        found.right |= {digest: (batch[digest], taken_s) for digest, taken_s in seconds.items()}
    return found


def _chosen(found: Found, fresh: dict[str, Trial], wanted: int, source: random.Random) -> list[str]:
    """Those that the model expects to be fastest, and some at random; all at random before anything is known."""
    digests = list(fresh)
    at_random = source.sample(digests, len(digests))
    if not found.right:
        return at_random[:wanted]
    model = Boosting()
    model.train([_ranked(one, seconds) for one, seconds in found.right.values()])
    order = [digests[at] for at in model.order([_ranked(one, float("nan")) for one in fresh.values()])]
    by_model = order[: wanted - int(FRESH_SHARE * wanted)]
    return [*by_model, *(digest for digest in at_random if digest not in by_model)][:wanted]


def _ranked(one: Trial, seconds: float) -> Variant:
    """Working sets and the price's terms together."""
    predicted_s = one.schedule.predicted_s
    features = (*map(float, plan_features(one.plan)), 1e9 * predicted_s)
    return Variant(one.plan.chain.name, features, predicted_s, seconds)
