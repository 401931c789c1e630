"""Micro kernels that prefetch: what prefetches do not change is priced once, which gives what pricing all of it anew gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import batch_chain, gemm_chain
from tests.support.halo_chains import convolution_chain
from tilewright.coefficients import coefficients_for
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.decisions.prefetching_kernels import choose_prefetches
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Blocking, works
from tilewright.plan.search.exact_search import planning_problem, search_problem
from tilewright.plan.search.inner_loops import refine

CHAINS = {
    "gemms": gemm_chain(2048, 64, 64, 4096),
    "attention": batch_chain(12, 512, 64, 64, 512, with_softmax=True),
    "few rows": gemm_chain(4, 4096, 1024, 4096),
    "convolutions": convolution_chain(28, 28, (64, 64, 32), (3, 1)),
}


@pytest.mark.parametrize("target", ["cascadelake-6240", "zen5", "x86-64-v3"])
@pytest.mark.parametrize("name", CHAINS)
def test_prefetches_cost_what_they_cost_when_everything_is_priced_anew(name: str, target: str) -> None:
    context, blocking = refined(CHAINS[name], Machine.named(target))
    chosen = choose_prefetches(context, blocking)
    assert tuple(chosen.works) == tuple(works(chosen.context, blocking))


def test_kernels_of_another_speed_are_priced_anew() -> None:
    context, blocking = refined(CHAINS["gemms"], Machine.named("zen5"))
    faster = tuple(
        replace(kernel, peak_share=kernel.peak_share * 1.5) if kernel.prefetch else kernel for kernel in context.available
    )
    tiles = {kernel.tile() for kernel in context.kernels.values()}
    assert not any(
        kernel.differs_in_prefetches(plain) for kernel in faster if kernel.prefetch for plain in context.kernels.values()
    )
    chosen = choose_prefetches(replace(context, available=faster), blocking)
    assert {kernel.tile() for kernel in chosen.context.kernels.values()} == tiles
    assert any(kernel.prefetch for kernel in chosen.context.kernels.values()), "half as fast again is chosen"
    assert tuple(chosen.works) == tuple(works(chosen.context, blocking))


def refined(chain: Chain, machine: Machine) -> tuple[CostContext, Blocking]:
    """A chain with its best loops, before kernels that prefetch are chosen."""
    available = registry.for_machine(machine, element_types=None)
    problem = planning_problem(chain, machine, available, coefficients_for(machine))
    return problem.context, refine(problem.context, search_problem(problem))
