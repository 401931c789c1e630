"""Kernels that prefetch are chosen where the traffic that they hide costs more than their instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.cases import chain_of, contraction
from tilewright.coefficients import DEFAULT
from tilewright.graph.types import Chain
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import Defeat, OtherKernel
from tilewright.plan.types import Plan, Rejected, TermKind
from tilewright.report.reasons import loss_text

ZEN5 = Machine.named("zen5")
NOTHING_HIDDEN = replace(DEFAULT, prefetch_hides=0.0)


def product(m: int, n: int, k: int) -> Chain:
    return chain_of([contraction("C", "mk,kn->mn", "AB", {"m": m, "n": n, "k": k})])


def kernel_of(plan: Plan) -> str:
    return str(plan.operators[0].micro_kernel)


def lost(plan: Plan) -> list[Rejected]:
    """What lost by prefetches."""
    defeats = (Defeat.NOT_PREFETCHED, Defeat.LITTLE_GAIN_BY_PREFETCHES)
    return [one for one in plan.rejected if one.reason.defeat in defeats]


def test_rows_that_stream_through_are_prefetched_and_the_plain_kernel_is_kept_as_the_loser() -> None:
    plan = plan_chain(product(600_000, 32, 32), ZEN5)
    assert kernel_of(plan).endswith("_prefetch_left_target")
    plain = kernel_of(plan).removesuffix("_prefetch_left_target")
    assert [one.alternative for one in lost(plan)] == [OtherKernel(plain, "C")]
    term = next(term for term in plan.price.terms if term.kind is TermKind.PREFETCHES)
    assert term.seconds < 0


def test_no_prefetch_where_arithmetic_dominates_and_the_figures_say_so() -> None:
    plan = plan_chain(product(504, 512, 512), ZEN5)
    assert "prefetch" not in kernel_of(plan)
    (one,) = lost(plan)
    assert one.figure * DEFAULT.least_gain >= one.winner_figure
    assert one.reason.defeat is Defeat.LITTLE_GAIN_BY_PREFETCHES
    assert loss_text(one) == "C: prefetching gains too little"


@pytest.mark.parametrize("shape", [(600_000, 32, 32), (300_000, 32, 64)])
def test_the_coefficient_decides(shape: tuple[int, int, int]) -> None:
    with_gain, without = (plan_chain(product(*shape), ZEN5, coefficients=one) for one in (DEFAULT, NOTHING_HIDDEN))
    assert kernel_of(with_gain).startswith(f"{kernel_of(without)}_prefetch_left")
    assert with_gain.price.seconds < without.price.seconds


def test_prefetching_changes_no_schedule() -> None:
    plans = [plan_chain(product(600_000, 32, 32), ZEN5, coefficients=one) for one in (DEFAULT, NOTHING_HIDDEN)]
    assert plans[0].schedule == plans[1].schedule


def test_right_operands_are_prefetched_where_they_come_from_memory_and_nobody_has_just_packed_them() -> None:
    eager = replace(DEFAULT, prefetch_cycles_per_line=(("left", 1e3), ("right", 0.0), ("target", 1e3)))
    assert kernel_of(plan_chain(product(14, 32, 100_000), ZEN5, coefficients=eager)).endswith("_prefetch_right")
    assert kernel_of(plan_chain(product(6, 40_960, 512), ZEN5, coefficients=eager)).endswith("_prefetch_right")
    assert "prefetch" not in kernel_of(plan_chain(product(6, 4096, 512), ZEN5, coefficients=eager)), "in L3"
    assert "prefetch" not in kernel_of(plan_chain(product(4096, 4096, 4096), ZEN5, coefficients=eager)), "packed"


def test_only_kernels_of_the_same_tile_stand_in() -> None:
    plain = tuple(kernel for kernel in for_machine(ZEN5) if not kernel.prefetch)
    plan = plan_chain(product(600_000, 32, 32), ZEN5, kernels=plain)
    assert lost(plan) == []


@settings(max_examples=25, deadline=None)
@given(*(st.sampled_from((1, 16, 61, 512, 4000)) for _ in range(3)), st.sampled_from(("cascadelake-6240", "zen5", "icelake")))
def test_prefetches_hide_no_more_than_there_is_to_hide(m: int, n: int, k: int, target: str) -> None:
    plan = plan_chain(product(m, n, k), Machine.named(target))
    terms = {term.name: term.seconds for term in plan.price.terms}
    hidden_at_most = terms.get("visible traffic", 0.0) + terms.get("packing and pages", 0.0)
    assert -terms.get("prefetches", 0.0) <= hidden_at_most
    assert plan.predicted_seconds >= plan.floor.compute_s


@pytest.mark.parametrize(("shape", "prefetches"), [((16, 3072, 768), True), ((1024, 1024, 1024), False)])
def test_panels_packed_ahead_are_prefetched_where_they_stream_past_few_rows(
    shape: tuple[int, int, int], prefetches: bool
) -> None:
    chain = replace(product(*shape), constants=("B",))
    assert kernel_of(plan_chain(chain, ZEN5)).endswith("_prefetch_right") == prefetches
    nothing_shows = replace(DEFAULT, visible_stream=0.0)
    assert not kernel_of(plan_chain(chain, ZEN5, coefficients=nothing_shows)).endswith("_prefetch_right")


@pytest.mark.parametrize(("constants", "n", "prefetches"), [(("B",), 4096, False), ((), 4096, False), ((), 384, True)])
def test_one_row_prefetches_only_what_the_hardware_does_not_follow(constants: tuple[str, ...], n: int, prefetches: bool) -> None:
    plan = plan_chain(replace(product(1, n, 40_960), constants=constants), ZEN5)
    assert kernel_of(plan).startswith("matmul_avx512_f32_2x128")
    assert kernel_of(plan).endswith("_prefetch_right") == prefetches
