"""Softmax in whole rows, online, or in parts: which schedules may be so, and what the planner chooses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, chain_of, contraction, elementwise
from tests.plan.search.test_exact_search import machine_with
from tests.support.operators import softmax
from tilewright.coefficients import coefficients_for
from tilewright.graph.builders.norms import ROW_SOFTMAX
from tilewright.graph.expressions.scalar import Point, State, apply
from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.plan.permutations import permuted
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import CutRows, EveryOperatorAlone
from tilewright.plan.regions.loop_views import block_count, parallel_axes
from tilewright.plan.regions.online_reductions import cut_axes, cut_rows, divided_by_readers, softmax_weights
from tilewright.plan.schedule import Loop, Schedule, fused_schedule
from tilewright.plan.space.executability import is_executable, why_not_executable
from tilewright.plan.threads import ENOUGH_BLOCKS
from tilewright.plan.types import Plan, TermKind

SMALL = {"m": 3, "n": 2, "k": 2, "l": 3, "b": 1}
ATTENTION = batch_chain(2, 7, 5, 4, 8, with_softmax=True)


def test_shares_follow_from_the_laws() -> None:
    rows = ATTENTION.operator("P")
    laws = softmax_weights(rows)
    assert laws is not None
    assert (laws.total, [name for name, factor in laws.factors if factor is None]) == ("row_sum", ["row_max"])
    scaled = replace(ROW_SOFTMAX, finish=apply("multiply", ROW_SOFTMAX.finish, State("row_sum")))
    for other in (replace(ROW_SOFTMAX, rescales=ROW_SOFTMAX.rescales[:1]), scaled, replace(ROW_SOFTMAX, finish=Point())):
        assert softmax_weights(replace(rows, reduction=other)) is None
    assert softmax_weights(ATTENTION.operator("E")) is None


def test_readers_divide_where_their_rows_are_shorter() -> None:
    extents = {"m": 5, "k": 4, "l": 6, "n": 3}
    scores = (contraction("C", "mk,kl->ml", "AB", extents), softmax("P", "C:ml", "P:ml", "l", extents))
    assert divided_by_readers(chain_of((*scores, contraction("E", "ml,ln->mn", "PD", extents))), "P")
    assert divided_by_readers(chain_of((*scores, contraction("E", "ml,ln->nm", "PD", extents))), "P")
    wide = {**extents, "n": 6}
    for tail in (
        (),
        (contraction("E", "ml,mn->ln", "PD", extents),),
        (contraction("E", "ml,ln->n", "PD", extents),),
        (contraction("E", "ml,ln->mn", "PD", wide),),
        (elementwise("R", "ml", [("P", "ml")], extents), contraction("E", "ml,ln->mn", "RD", extents)),
    ):
        chain = chain_of((*scores, *tail))
        assert not divided_by_readers(chain, "P"), chain.operators[-1]
        assert not divided_by_readers(chain, "C")


@pytest.mark.parametrize("outer_loops", ["l", "ml", "lm", "bml", "nml", "nlm"])
def test_loops_may_cut_rows_whose_shares_are_summed(outer_loops: str) -> None:
    assert is_executable(ATTENTION, fused_schedule(ATTENTION, outer_loops, {}, SMALL))


def test_a_loop_that_recomputes_inside_the_keys_is_refused() -> None:
    reason = why_not_executable(ATTENTION, fused_schedule(ATTENTION, "mln", {}, SMALL))
    assert reason.endswith("inside a loop that sums it: n must come first")


def test_shares_that_are_read_in_a_later_sweep_are_refused() -> None:
    reason = why_not_executable(ATTENTION, permuted(ATTENTION, "bmnlk", SMALL))
    assert reason == "P runs in blocks of l, and what it makes of one is read after the next"


def test_rows_need_an_operator_that_sums_their_shares() -> None:
    extents = {"m": 5, "k": 4, "l": 6, "n": 3}
    scores = (contraction("C", "mk,kl->ml", "AB", extents), softmax("P", "C:ml", "P:ml", "l", extents))
    keeps_keys = contraction("E", "ml,mn->ln", "PD", extents)
    mapped = (elementwise("R", "ml", [("P", "ml")], extents), contraction("E", "ml,ln->mn", "RD", extents))
    for tail in ((), (keeps_keys,), mapped):
        chain = chain_of((*scores, *tail))
        reason = why_not_executable(chain, fused_schedule(chain, "l", {}, {"l": 2}))
        assert reason.startswith("P needs whole rows"), reason


def test_a_product_of_two_softmaxes_needs_whole_rows() -> None:
    extents = {"m": 5, "k": 4, "l": 6, "n": 3}
    chain = chain_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            softmax("P", "C:ml", "P:ml", "l", extents),
            softmax("Q", "D:nl", "Q:nl", "l", extents),
            contraction("E", "ml,nl->mn", "PQ", extents),
        )
    )
    assert why_not_executable(chain, fused_schedule(chain, "l", {}, {"l": 2})).startswith("P needs whole rows")
    assert why_not_executable(chain, Schedule((Loop("l", 3, fused_schedule(chain, "", {}, {}).body),), split="l"))


def test_parts_need_a_loop_around_everything_and_one_operator_that_sums() -> None:
    body = fused_schedule(ATTENTION, "bm", {}, SMALL).body
    assert is_executable(ATTENTION, Schedule((Loop("l", 3, body),), split="l"))
    assert parallel_axes(ATTENTION, Schedule((Loop("l", 3, body),), split="l")) == ("l", "b", "m")
    assert "does not stand around" in why_not_executable(ATTENTION, Schedule(body, split="l"))
    assert "cannot be combined" in why_not_executable(ATTENTION, Schedule((Loop("l", 8, body),), split="l"))
    product = batch_chain(2, 7, 5, 4, 8, with_softmax=False)
    inner = fused_schedule(product, "bm", {}, SMALL).body
    assert is_executable(product, Schedule((Loop("l", 3, inner),), split="l")), "parts of a plain sum are added"
    assert "would run again" in why_not_executable(product, Schedule((Loop("k", 2, inner),), split="k"))


def planned(b: int, m: int, n: int, k: int, length: int | SymbolicExtent, l2: int = 1 << 20) -> Plan:
    return plan_chain(batch_chain(b, m, n, k, length, with_softmax=True), machine_with(l2=l2), kernels=KERNELS)


def is_online(plan: Plan) -> bool:
    return cut_axes(plan.chain, plan.schedule, plan.chain.operator("P")) == ("l",) and not plan.schedule.split


@pytest.mark.parametrize("sizes", [(8, 4096, 64, 64, 4096), (8, 512, 64, 64, 16384)])
@pytest.mark.parametrize("l2", [256 << 10, 1 << 20])
def test_long_keys_are_taken_online(sizes: tuple[int, int, int, int, int], l2: int) -> None:
    plan = planned(*sizes, l2=l2)
    assert is_online(plan)
    fusion = next(level for level in plan.levels if level.level == "L2")
    assert fusion.used_bytes <= fusion.capacity_bytes


def test_rows_that_fit_stay_whole() -> None:
    plan = planned(12, 256, 64, 64, 256)
    assert not is_online(plan)
    assert cut_rows(plan.chain, plan.schedule) == {}


def test_one_query_row_splits_its_keys_where_heads_are_few() -> None:
    few, many = planned(4, 1, 64, 64, 4096), planned(32, 1, 64, 64, 4096)
    assert few.parallel_axes == ("l", "b")
    assert block_count(few.chain, few.schedule) >= ENOUGH_BLOCKS
    assert cut_rows(few.chain, few.schedule) == {"P": CutRows(parts=(("l", 1024),), online=())}
    assert not many.schedule.split
    whole = sum(term.seconds for term in many.price.terms if term.kind is TermKind.COMBINE)
    assert whole == 0
    assert any(term.kind is TermKind.COMBINE and term.seconds > 0 for term in few.price.terms)


def test_symbolic_keys_split_by_their_hint() -> None:
    plan = planned(1, 1, 64, 64, SymbolicExtent("s", 1, 1 << 16, 4096))
    assert plan.schedule.split == "l"
    assert block_count(plan.chain, plan.schedule) == ENOUGH_BLOCKS


def test_a_chain_with_a_scale_and_a_bias_before_the_softmax_is_taken_online() -> None:
    extents = {"b": 8, "m": 2048, "k": 64, "l": 8192, "n": 64}
    chain: Chain = chain_of(
        (
            contraction("C", "bmk,bkl->bml", "AB", extents),
            elementwise("R", "bml", [("C", "bml"), ("bias", "bl")], extents),
            softmax("P", "R:bml", "P:bml", "l", extents),
            contraction("E", "bml,bln->bmn", "PD", extents),
        )
    )
    plan = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    assert is_online(plan)


def test_a_split_plan_tells_its_own_figures() -> None:
    chain = batch_chain(1, 1, 64, 64, 20_000, with_softmax=True)
    plan = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    assert plan.schedule.split == "l"
    of_k = [one.size_bytes for one in plan.movements if one.tensor == "B" and one.level == "L3"]
    assert of_k == [pytest.approx(4 * 64 * 20_000, rel=1e-6)]
    fused = next(one for one in plan.rejected if one.alternative == EveryOperatorAlone())
    assert fused.winner_figure == plan.price.seconds
    merge = next(term.seconds for term in plan.price.terms if term.kind is TermKind.COMBINE)
    assert merge > 0
    free = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS, coefficients=coefficients_for(CASCADE_LAKE).without("combine"))
    assert all(term.seconds == 0 for term in free.price.terms if term.kind is TermKind.COMBINE)
