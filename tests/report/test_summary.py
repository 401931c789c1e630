"""The first three lines of `explain`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tilewright as tw
from tests.support.hand_plans import attention_plan, model_plan
from tilewright.plan.reasons import Barrier, CannotFuse, FewerBlocks
from tilewright.plan.types import Cut, Price, PriceTerm, TermKind
from tilewright.report.summary import counted, summary

WEIGHTS = np.zeros((64, 48), np.float32)


def change(function, *shapes, target="cascadelake-6240", **options):
    return tw.jit(function, target=target, **options).lower(*map(tw.spec, shapes)).explain().splitlines()[2]


def test_the_parts_of_a_price_are_set_against_the_floor() -> None:
    bottleneck, loss, change = summary(model_plan(attention_plan()))
    assert bottleneck == "bottleneck    arithmetic of out: 4.10 ms of 4.40 ms on one thread (93%)"
    assert loss == "largest loss  packing and pages: 300 us of 373 us above the floor (4.03 ms, arithmetic)"
    assert change == "to change     k, v to a constant, where calls do not vary it: it is packed once then; saves at most 300 us"


def test_what_counts_adds_up_to_the_price() -> None:
    terms = [
        (TermKind.ARITHMETIC, 3.0, "x"),
        (TermKind.TRAFFIC, 4.0, "x"),
        (TermKind.FUNCTIONS, 1.0, "y"),
        (TermKind.CALL, 0.5, ""),
    ]
    price = Price(tuple(PriceTerm(*term) for term in terms))
    assert sum(term.seconds for term in counted(price)) == price.seconds == 5.5


def test_the_call_counts_once_and_chains_are_named() -> None:
    call = Price((PriceTerm(TermKind.CALL, 1e-2), PriceTerm(TermKind.PACKING, 1e-3)))
    plan = dataclasses.replace(attention_plan(), price=call)
    lines = summary(model_plan(plan, plan))
    assert lines[0].endswith("call of attention: 10.0 ms of 12.0 ms on one thread (83%)")
    assert lines[1].endswith("above the floor (8.05 ms, arithmetic)")
    assert "several calls into one" in lines[2]


@pytest.mark.parametrize(
    ("reason", "fused_s", "text"),
    [
        (
            CannotFuse(Barrier.SWITCHED_OFF),
            1e-3,
            "fuse=False or --fuse never (leave it out): out may then be fused; saves at most 1.00 ms",
        ),
        (CannotFuse(Barrier.GRAPH_OUTPUT), 1e-3, "the outputs: out is one, and so cannot be fused; saves at most 1.00 ms"),
        (
            FewerBlocks(18, 1e-3, 2e-3),
            1e-3,
            "threads=1, fuse=True (--fuse always): fused, out has too few blocks for 18 cores; saves at most 1.00 ms",
        ),
        (CannotFuse(Barrier.SEVERAL_READERS), 1e-3, "k, v to a constant"),
        (CannotFuse(Barrier.SWITCHED_OFF), float("inf"), "k, v to a constant"),
    ],
)
def test_cuts_that_a_user_decides_on_are_named_with_what_they_cost(reason, fused_s, text) -> None:
    lines = summary(model_plan(attention_plan(), attention_plan(), cuts=(Cut("out", fused_s, 2e-3, reason),)))
    assert text in lines[2]


def test_nodes_that_run_as_numpy_come_first() -> None:
    assert summary(model_plan(attention_plan()), ["NonZero of /mask"])[2].endswith("not predicted: NonZero of /mask")


def test_constant_weights_may_be_rounded_where_that_is_faster() -> None:
    assert 'precision to "bf16"' in change(lambda x: x @ WEIGHTS, (512, 64), target="sapphirerapids")
    assert "bf16" not in change(lambda x: x @ WEIGHTS, (512, 64))
    assert "bf16" not in change(lambda x: x @ WEIGHTS, (512, 64), target="sapphirerapids", precision="bf16")


def test_sizes_that_fill_no_vector_are_named() -> None:
    assert "n, which is 65, to a multiple of 16: vectors of matmul lie along it" in change(
        lambda x, y: x @ y, (96, 2048), (2048, 65)
    )


def test_a_transposition_of_an_input_is_named() -> None:
    assert "the layout of x: transpose only transposes" in change(lambda x: tw.transpose(x), (2000, 2000))


def test_a_small_call_is_the_call_itself() -> None:
    assert "several calls into one (a batch)" in change(lambda x: x + 1, (4, 4))
