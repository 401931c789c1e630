"""When a plain sum is split, what parts cost at least, and what pages of long rows cost."""

from __future__ import annotations

from math import ceil

import pytest

from tests.plan.cases import batch_chain
from tests.plan.model.operands.test_prefetch_gain import ZEN5, kernel_of, product
from tilewright.coefficients import DEFAULT
from tilewright.plan.decisions import split_reductions
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import combine_seconds
from tilewright.plan.planner import forget_plans, plan_chain
from tilewright.plan.reasons import OnePart
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.types import TermKind


def test_a_long_sum_is_split_rather_than_read_again_for_every_block_of_the_output() -> None:
    plan = plan_chain(product(1024, 16, 500_000), ZEN5)
    assert plan.schedule.split == "k"
    assert plan.parallel_axes[0] == "k"
    assert plan.price.blocks >= 16
    assert any(term.kind is TermKind.COMBINE for term in plan.price.terms)
    assert OnePart("k") in [one.alternative for one in plan.rejected]


@pytest.mark.parametrize("shape", [(512, 512, 512), (64, 64, 64), (2048, 4096, 32)])
def test_sums_with_enough_blocks_stay_whole(shape: tuple[int, int, int]) -> None:
    assert not plan_chain(product(*shape), ZEN5).schedule.split


def test_parts_prefetch_like_whole_sums() -> None:
    plan = plan_chain(product(1024, 16, 500_000), ZEN5)
    assert kernel_of(plan).endswith("_prefetch_left")
    free = plan_chain(product(1024, 16, 500_000), ZEN5, coefficients=DEFAULT.without("pages"))
    assert free.price.seconds < plan.price.seconds


def test_rows_of_a_wide_target_are_followed_a_few_at_a_time() -> None:
    """Of many rows each panel would begin on another page."""
    path = plan_chain(product(2048, 4096, 32), ZEN5).schedule.path("C")
    tiles = {loop.axis: loop.tile for loop in path}
    assert tiles["m"] <= 16 < tiles.get("n", 4096)


CHAINS = {
    "sum": product(64, 64, 4096),
    "edges": product(100, 37, 3001),
    "few rows": product(2, 512, 2048),
    "many blocks": product(1024, 16, 100_000),
    "long": product(512, 512, 4096),
    "attention": batch_chain(1, 8, 64, 64, 8192, with_softmax=True),
    "decoding": batch_chain(4, 1, 64, 64, 16384, with_softmax=True),
}


@pytest.mark.parametrize("name", CHAINS)
def test_no_split_costs_less_than_its_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no bound changes a plan: without bounds every part is searched."""
    searched: list[tuple[float, float]] = []
    bound = split_reductions.least_seconds

    def no_bound(context: CostContext, part: CostContext, passes: float) -> float:
        cores, region_s = context.machine.cores, context.machine.parallel_region_s
        one_thread_s = passes * refine(part, search(part)).seconds + combine_seconds(context, ceil(passes))
        searched.append((bound(context, part, passes), one_thread_s / cores + 2 * region_s * (cores > 1)))
        return 0.0

    forget_plans()
    bounded = plan_chain(CHAINS[name], ZEN5)
    forget_plans()
    monkeypatch.setattr(split_reductions, "least_seconds", no_bound)
    assert plan_chain(CHAINS[name], ZEN5) == bounded
    assert searched
    assert all(least_s <= actual_s for least_s, actual_s in searched)
