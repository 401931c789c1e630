"""A space that can be searched exhaustively: a few thousand distinct schedules of a chain, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.kernels.contract import MicroKernel
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.space import Sampled

COUNT = 2000


def whole_space(choice: Sampled, kernels: Sequence[MicroKernel], count: int = COUNT, seed: int = 0) -> list[tuple[str, Sampled]]:
    """The planner's choice, all schedules one step away, and draws of the planner's space and of two-level tilings.

    At least `count` schedules, each with where it comes from ("choice", "neighbour", "uniform", "two levels"); fewer where a
    chain has not so many. The draws of a smaller count are not all among those of a larger one.

    >>> from tilewright.tune.schedules.cases import Case, kernels_for, product
    >>> from tilewright.tune.schedules.cases import choice as choice_of
    >>> (plan,) = Case("square", product, ((256, 256), (256, 256))).model_plan().plans
    >>> found = whole_space(choice_of(plan), kernels_for(plan.machine), 60)
    >>> len(found), found[0][0], sorted({source for source, _ in found})
    (60, 'choice', ['choice', 'neighbour', 'two levels', 'uniform'])
    """
    sampler = Sampler(choice, kernels, seed)
    found = {choice.point: ("choice", choice)}
    for _, one in sampler.neighbours():
        found.setdefault(one.point, ("neighbour", one))
    while len(found) < count:
        known = len(found)
        for source, one in sampler.drawn(count - len(found)):
            found.setdefault(one.point, (source, one))
        if len(found) == known:
            break
    return list(found.values())
