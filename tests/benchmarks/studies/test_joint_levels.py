"""The joint optimum of all levels against every schedule of a small space."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from benchmarks.studies.joint_levels import Floors, joint
from tests.plan.cases import CASCADE_LAKE, batch_chain, gemm_chain, kernel
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.search.exact_search import problem_of
from tilewright.plan.search.inner_loops import refined_seconds

CHAINS = {
    "two products": gemm_chain(8, 8, 16, 16),
    "a batch": batch_chain(2, 8, 8, 16, 8, with_softmax=False),
}


def context(chain: Chain, l1_bytes: int, l2_bytes: int) -> CostContext:
    sizes = {"L1": l1_bytes, "L2": l2_bytes}
    levels = tuple(replace(level, size_bytes=sizes.get(level.name, level.size_bytes)) for level in CASCADE_LAKE.levels)
    kernels = {operator.name: kernel(2, 4) for operator in chain.operators}
    roles = {operator.name: contraction_roles(operator) for operator in chain.operators}
    coefficients = replace(DEFAULT, equal_within=1.0, least_gain=1.0)
    return context_of(chain, replace(CASCADE_LAKE, levels=levels), kernels, roles, coefficients)


def exhaustive(case: CostContext) -> float:
    """The least seconds on the cores: every order of outer loops, every tile, every own loops of every operator."""
    problem, best_s = problem_of(case), inf
    for one in problem.outer_orders:
        loops = Floors(problem.space, one.outer_loops, one.line_buffered, every=problem.every)
        options = loops.fitting()
        for index in np.ndindex(*loops.shape):
            total_s = 0.0
            for name, each in options.items():
                own = [(order, n) for order, floors in each for n, floor in enumerate(floors[index]) if np.isfinite(floor)]
                candidates = (loops.at(index, name, order, place) for order, place in own)
                total_s += min((refined_seconds(case, candidate, name) for candidate in candidates), default=inf)
            best_s = min(best_s, float(loops.on_cores(np.full(loops.shape, total_s))[index]))
    return best_s


@pytest.mark.parametrize("name", CHAINS)
def test_the_joint_optimum_is_that_of_every_schedule(name: str) -> None:
    case = context(CHAINS[name], 512, 2 << 10)
    found = joint(name, case)
    assert found.joint_s == pytest.approx(min(found.staged_s, exhaustive(case)), rel=1e-9)
    assert found.ratio >= (1.1 if name == "two products" else 1)  # not what the stages find
