"""When a plain sum is split, and what pages of long rows cost."""

from __future__ import annotations

import pytest

from tests.plan.model.operands.test_prefetch_gain import ZEN5, kernel_of, product
from tilewright.plan.model.coefficients import DEFAULT
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import OnePart
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
