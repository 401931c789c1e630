"""Binding: every kind of reason speaks the names that it is bound to, and has a sentence."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import pytest

from tests.plan.cases import names_between
from tests.support.hand_plans import attention_plan
from tilewright.graph.expressions.conditions import Constraint, Datum
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load
from tilewright.plan import reasons
from tilewright.plan.binding import bound, bound_plan, numbered_plan
from tilewright.plan.chains import Names, names_of, renamed
from tilewright.plan.reasons import (
    Alternative,
    Barrier,
    CannotFuse,
    CutReason,
    Defeat,
    KeyLimit,
    Loops,
    LossReason,
    NoMicroKernel,
    NotExecutable,
    PriceNote,
)
from tilewright.plan.schedule import Storage
from tilewright.plan.types import Cut, KeyBlocks, Plan, Rejected
from tilewright.report.reasons import BARRIERS, DEFEATS, alternative_text, cut_text, limit_text, loss_text, note_text

LOOPS = Loops((("b", 1), ("m", 24)), ("scores",), (((("l", 64),), ("scores", "weights")),), (("out", ("n", "l")),))
ALTERNATIVES: tuple[Alternative, ...] = (
    reasons.EveryOperatorAlone(),
    reasons.OnePart("l"),
    reasons.OtherLoops(Storage.LINE_BUFFER, LOOPS),
    reasons.OtherKernel("matmul_generic_4x16", "out"),
    reasons.OtherAlgorithm("im2col", "scores"),
    reasons.OtherAlgorithms((reasons.OtherAlgorithm("im2col", "scores"), reasons.OtherAlgorithm("pointwise", "out")), True),
)
CUTS: tuple[CutReason, ...] = (
    CannotFuse(Barrier.SEVERAL_READERS, ("scores", "weights")),
    NotExecutable(("weights", "out")),
    NoMicroKernel("out"),
    reasons.SeparateFaster(),
    reasons.FewerBlocks(4, 2e-6, 1e-6),
)
NOTES: tuple[PriceNote, ...] = (
    reasons.BeyondShare(4096, "L2"),
    reasons.CombinedParts(4),
    reasons.ParallelBlocks(72, 18, 1.0, 2e-6),
    reasons.UnreadLines(),
)


def plan_with_reasons() -> Plan:
    """A plan of which every record names something."""
    lost = tuple(Rejected(alternative, 2e-6, 1e-6, "s", LossReason(Defeat.SLOWER)) for alternative in ALTERNATIVES)
    limit = KeyLimit(Constraint(axis("m") - axis("l"), (Datum(Load(0), 1, False),)), "q")
    return replace(attention_plan(lost), key_blocks=KeyBlocks("l", (limit,), (("m", 24),), 0.5, 0.1, 0.4))


def marked(plan: Plan) -> Names:
    """Every name of a plan's chain with a mark behind it."""
    names = names_of(plan.chain)
    kinds = (names.axes, names.tensors, names.operators)
    return Names(*({name: f"{name}_marked" for name in kind.values()} for kind in kinds), "marked")


def sentences(plan: Plan) -> list[str]:
    """All that the reasons of a plan say."""
    lost = [f"{alternative_text(one.alternative)}: {loss_text(one)}" for one in plan.rejected]
    return [*lost, *map(limit_text, plan.key_blocks.limits if plan.key_blocks else ())]


def test_the_kinds_of_these_tests_are_all_kinds() -> None:
    for kind, examples in ((Alternative, ALTERNATIVES), (CutReason, CUTS), (PriceNote, NOTES)):
        assert set(get_args(kind)) == set(map(type, examples))


def test_every_reason_of_a_plan_is_bound() -> None:
    plan = plan_with_reasons()
    names = marked(plan)
    bound = bound_plan(plan, renamed(plan.chain, names), names)
    assert sentences(bound) == [
        "every operator alone: slower",
        "l_marked not split: slower",
        "line buffer, b_marked by 1, m_marked by 24; scores_marked in a circular line buffer along m_marked; "
        "l_marked by 64 around scores_marked, weights_marked; out_marked: n_marked, l_marked: slower",
        "micro kernel matmul_generic_4x16 for out_marked: out_marked: slower",
        "scores_marked by im2col: slower",
        "one kernel, scores_marked by im2col and out_marked by pointwise: slower",
        "-1*l_marked + m_marked + q_marked >= 0",
    ]


def test_binding_and_numbering_are_inverse() -> None:
    plan = plan_with_reasons()
    names = marked(plan)
    bound = bound_plan(plan, renamed(plan.chain, names), names)
    assert numbered_plan(bound) == numbered_plan(plan)
    assert bound_plan(bound, plan.chain, names_between(bound.chain, plan.chain)) == plan


@pytest.mark.parametrize("reason", CUTS)
def test_every_reason_of_a_cut_is_bound(reason: CutReason) -> None:
    cut = Cut("weights", 2e-6, 1e-6, reason)
    found = bound(cut, marked(attention_plan()))
    assert found.tensor == "weights_marked"
    named = {field.name for field in fields(reason)} & {"operator", "operators"}
    assert ("_marked" in cut_text(found)) == bool(named)
    assert cut_text(found).replace("_marked", "") == cut_text(cut)


def test_every_defeat_every_barrier_and_every_note_has_a_sentence() -> None:
    assert DEFEATS.keys() == set(Defeat)
    assert BARRIERS.keys() == set(Barrier)
    assert all(map(note_text, NOTES))
