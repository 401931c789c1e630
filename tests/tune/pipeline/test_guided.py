"""Searches that learn, with times that the test makes up: they stay in the space, keep to their budget, and beat chance."""

from __future__ import annotations

import pytest

pytest.importorskip("sklearn")

from collections.abc import Sequence

from tilewright.plan.space.executability import why_not_executable
from tilewright.tune.pipeline.guided import by_draws, evolutionary, search
from tilewright.tune.pipeline.trials import Trial
from tilewright.tune.schedules.cases import Case, product

CASE = Case("product", product, ((96, 64), (64, 80)))
BATCH = 8


def plan():
    (found,) = CASE.model_plan().plans
    return found


def by_price(batch: Sequence[Trial], begun: int = 0) -> dict[str, float]:
    """Times that are the prices."""
    return {variant.digest: variant.plan.predicted_seconds for variant in batch}


@pytest.mark.parametrize("proposer", [evolutionary, by_draws])
def test_searches_keep_to_their_budget_and_the_space(proposer):
    batches = []

    def measure(batch, begun):
        assert begun == sum(batches)
        batches.append(len(batch))
        return by_price(batch)

    found = search(proposer(plan(), 0), measure, 20, 0, BATCH)
    assert batches == [BATCH, BATCH, 4]
    assert len(found.trials) == len(found.right) == 20
    chain = plan().chain
    assert all(not why_not_executable(chain, one.schedule.point.outer) for one in found.trials.values())


@pytest.mark.parametrize("proposer", [evolutionary, by_draws])
def test_what_is_learned_finds_faster_schedules_than_the_first_batch(proposer):
    found = search(proposer(plan(), 1), by_price, 4 * BATCH, 1, BATCH)
    times = [seconds for _, seconds in found.right.values()]
    assert min(times[BATCH:]) < min(times[:BATCH])


@pytest.mark.parametrize("proposer", [evolutionary, by_draws])
def test_searches_are_repeatable(proposer):
    first, again = (list(search(proposer(plan(), 3), by_price, 16, 3, BATCH).right) for _ in range(2))
    assert first == again


def test_wrong_results_are_remembered_and_never_the_best():
    def half(batch, begun):
        return dict(list(by_price(batch).items())[::2])

    found = search(evolutionary(plan(), 0), half, 16, 0, BATCH)
    assert len(found.trials) == 16
    assert len(found.right) == 8
    assert all(one.plan.predicted_seconds in {seconds for _, seconds in found.right.values()} for one in found.best(8))
