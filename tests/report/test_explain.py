from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden.reports_golden import explained_g2, golden
from tests.support.hand_plans import attention_plan, many_rejected, model_plan
from tilewright.graph.types import SymbolicExtent
from tilewright.plan.reasons import Barrier, CannotFuse, Defeat, Loops, LossReason, OtherLoops, SeparateFaster
from tilewright.plan.schedule import Compute, Loop, Schedule, Storage, Trip, When
from tilewright.plan.types import Cut, Rejected
from tilewright.report.explain import explain, explain_plan


@pytest.mark.parametrize("name", ["explain_attention", "explain_g2", "explain_g2_softmax", "explain_layer"])
def test_explanations_read_as_they_always_did(name: str) -> None:
    text, expected = golden(name)
    assert text == expected


@pytest.mark.parametrize("softmax", [False, True])
def test_the_papers_example_fits_on_a_page(softmax: bool) -> None:
    lines = explained_g2(softmax).splitlines()
    assert len(lines) <= 3 + 60
    assert max(map(len, lines)) <= 120
    assert not any(line.endswith("...") for line in lines)


def test_the_same_plan_always_prints_the_same() -> None:
    assert explain_plan(attention_plan(many_rejected(9))) == explain_plan(attention_plan(many_rejected(9)))


@given(st.integers(0, 200))
def test_one_chain_fits_on_a_page(rejected: int) -> None:
    lines = explain(model_plan(attention_plan(many_rejected(rejected)))).splitlines()
    assert len(lines) <= 3 + 60
    assert max(map(len, lines)) <= 120


def test_the_page_says_how_many_rejected_alternatives_it_leaves_out() -> None:
    text = explain_plan(attention_plan(many_rejected(200)))
    shown = text.count("; slower")
    assert shown >= 10
    assert text.endswith(f"and {200 - shown} more")


def test_the_full_page_leaves_out_none() -> None:
    text = explain(model_plan(attention_plan(many_rejected(200))), full=True)
    assert text.count("; slower") == 200
    assert "more" not in text.splitlines()[-1]


def test_long_reasons_are_wrapped_and_not_cut() -> None:
    loops = OtherLoops(Storage.KEEP, Loops((), inner=tuple((f"operator{n}", ("m", "k")) for n in range(30))))
    reason = LossReason(Defeat.DOES_NOT_FIT, "L2")
    text = explain_plan(attention_plan((Rejected(loops, 2048, 1024, "bytes", reason),)))
    assert " ".join(text.split()).endswith("operator29: m, k: 2.00 KiB against 1.00 KiB; does not fit its share of L2")
    assert "2.00 KiB against 1.00 KiB" in text
    assert max(map(len, text.splitlines())) <= 120


def test_what_was_not_fused_is_named_with_both_prices() -> None:
    several = CannotFuse(Barrier.SEVERAL_READERS, ("weights", "out"))
    cuts = (Cut("out", 9e-3, 8.8e-3, SeparateFaster()), Cut("scores", float("inf"), 1e-3, several))
    text = explain(model_plan(attention_plan(), attention_plan(), cuts=cuts))
    assert text.splitlines()[3] == "attention: 2 chains, 8.80 ms on one thread"
    assert "out: fused 9.00 ms, unfused 8.80 ms; the separate plans are faster" in text
    assert "scores: cannot be fused (unfused 1.00 ms); several operators read it: weights, out" in text


def test_only_the_hidden_terms_of_a_price_say_so() -> None:
    lines = explain_plan(attention_plan()).splitlines()
    (hidden,) = (line for line in lines if "hidden behind" in line)
    assert hidden.split() == ["out:", "traffic", "into", "L2", "200", "us", "hidden", "behind", "out:", "arithmetic"]


def test_conditions_and_storage_are_spelt_out() -> None:
    leaf = Compute("out", (When("l", Trip.LAST), When("k", Trip.FIRST)))
    body = (Loop("m", 500, (Loop("m", 24, (Loop("l", 512, (leaf,)),)),)),)
    plan = dataclasses.replace(attention_plan(), schedule=Schedule(body, (("scores", Storage.RECOMPUTE),)), parallel_axes=())
    text = explain_plan(plan)
    assert "at the last block of l and the first block of k" in text
    assert "scores recomputed, weights kept; scratch per thread 304 KiB; not parallel" in text
    blocks = {line.split("for ")[1].split("  ")[0]: line.split("  ")[-1].strip() for line in text.splitlines() if "for " in line}
    assert blocks == {"m by 500": "2 blocks", "m by 24": "21 blocks", "l by 512": "1 block"}


def test_symbolic_extents_say_what_was_planned() -> None:
    plan = attention_plan()
    first = plan.chain.operators[0]
    symbolic = SymbolicExtent("s", 1, 1024, 512)
    axes = tuple(dataclasses.replace(axis, extent=symbolic) if axis.name == "m" else axis for axis in first.axes)
    chain = dataclasses.replace(plan.chain, operators=(dataclasses.replace(first, axes=axes),))
    alone = dataclasses.replace(plan, chain=chain, schedule=Schedule((Compute("scores"),)), operators=plan.operators[:1])
    text = explain_plan(alone)
    assert "m s in 1..1024 (planned as 512)" in text
    assert "one operator: nothing to fuse" in text


def test_a_search_that_left_out_tiles_says_so() -> None:
    plan = dataclasses.replace(attention_plan(), thinned_axes=("m", "l"))
    assert "not every tile of m, l was tried" in explain_plan(plan)
    assert "was tried" not in explain_plan(attention_plan())
