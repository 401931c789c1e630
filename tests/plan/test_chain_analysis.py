"""Facts of chains: derived once, and forgotten with their chain."""

from __future__ import annotations

import gc

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain
from tilewright.plan.chains import analysis_of
from tilewright.plan.planner import plan_chain
from tilewright.plan.schedule import planned_sizes


def test_a_fact_is_derived_once() -> None:
    chain = batch_chain(2, 64, 32, 32, 64, with_softmax=True)
    assert planned_sizes(chain) is planned_sizes(chain)


def test_equal_chains_have_analyses_of_their_own() -> None:
    first, second = (batch_chain(2, 64, 32, 32, 64, with_softmax=False) for _ in range(2))
    assert first == second
    assert analysis_of(first) is not analysis_of(second)


def test_results_do_not_keep_their_chain_alive() -> None:
    plan = plan_chain(batch_chain(2, 64, 32, 32, 64, with_softmax=True), CASCADE_LAKE, kernels=KERNELS)
    analysis = analysis_of(plan.chain)
    assert analysis.results
    del plan
    gc.collect()
    assert analysis.chain() is None
