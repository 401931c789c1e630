"""How much of a memory level blocks may occupy: a share of a cache, all of what software fills."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, chain_of, contraction, gemm_chain
from tilewright.coefficients import coefficients_for
from tilewright.errors import PlanningError
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.machine import Filling, Machine
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.model.memory.traffic import set_conflict
from tilewright.plan.planner import plan_chain
from tilewright.plan.types import LevelPlan, Plan


def with_scratchpads(size_bytes: int) -> Machine:
    """L1 and L2 are memories that software fills, L2 of so many bytes; L3 is a cache."""
    nearest, fusion, *farther = CASCADE_LAKE.levels
    nearest = replace(nearest, filling=Filling.SOFTWARE, usable_share=1.0, associativity=0)
    fusion = replace(fusion, size_bytes=size_bytes, filling=Filling.SOFTWARE, usable_share=1.0, associativity=0)
    return replace(CASCADE_LAKE, levels=(nearest, fusion, *farther))


def with_cache(size_bytes: int) -> Machine:
    nearest, fusion, *farther = CASCADE_LAKE.levels
    return replace(CASCADE_LAKE, levels=(nearest, replace(fusion, size_bytes=size_bytes), *farther))


def level(plan: Plan, name: str) -> LevelPlan:
    return next(level for level in plan.levels if level.level == name)


def test_shares_of_caches() -> None:
    for machine in (CASCADE_LAKE, Machine.detect()):
        nearest, *farther = machine.levels[:-1]
        assert nearest.usable_bytes == pytest.approx(0.65 * nearest.size_bytes)
        assert all(cache.usable_bytes == cache.size_bytes / 2 for cache in farther)
        assert nearest.sets * nearest.associativity * nearest.line_bytes == nearest.size_bytes


@pytest.mark.parametrize("size_bytes", [100_000, 131_072, 1 << 20])
def test_memory_that_software_fills_is_used_to_the_last_byte(size_bytes: int) -> None:
    chain = batch_chain(8, 512, 64, 64, 512, with_softmax=False)
    exact = plan_chain(chain, with_scratchpads(size_bytes), kernels=KERNELS)
    shared = plan_chain(chain, with_cache(size_bytes), kernels=KERNELS)
    assert level(exact, "L2").capacity_bytes == size_bytes
    assert level(shared, "L2").capacity_bytes == size_bytes // 2
    assert level(exact, "L1").capacity_bytes == CASCADE_LAKE.level("L1").size_bytes
    assert level(exact, "L2").used_bytes <= size_bytes


def test_a_block_beyond_the_share_of_a_cache_fits_memory_of_the_same_size() -> None:
    chain = gemm_chain(2048, 512, 512, 512)
    used = level(plan_chain(chain, with_cache(1 << 20), kernels=KERNELS), "L2").used_bytes
    exact = level(plan_chain(chain, with_scratchpads(used), kernels=KERNELS), "L2")
    shared = level(plan_chain(chain, with_cache(used), kernels=KERNELS), "L2")
    assert exact.used_bytes > used // 2 >= shared.used_bytes


def test_blocks_that_cannot_fit_are_refused_where_nothing_moves_them_aside() -> None:
    chain = gemm_chain(2048, 512, 512, 512)
    assert plan_chain(chain, with_cache(2048), kernels=KERNELS).levels
    with pytest.raises(PlanningError, match="fits L2") as caught:
        plan_chain(chain, with_scratchpads(2048), kernels=KERNELS)
    assert "of 2048, which software fills" in caught.value.why


def test_only_lines_of_a_cache_displace_each_other() -> None:
    """Rows that begin 4 KiB apart meet one set in 64 of an L1 of 32 KiB, 8 ways."""
    chain = chain_of((contraction("C", "mk,kn->mn", "AB", {"m": 512, "k": 512, "n": 1024}),))
    operator, nearest = chain.operators[0], CASCADE_LAKE.levels[0]
    roles = {"C": contraction_roles(operator)}
    context = context_of(chain, CASCADE_LAKE, {"C": KERNELS[0]}, roles, coefficients_for(CASCADE_LAKE))
    assert set_conflict(context, operator, nearest) > 1
    assert set_conflict(context, operator, replace(nearest, filling=Filling.SOFTWARE, associativity=0)) == 1
