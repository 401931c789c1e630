"""Divisions that were kept give the plans that a search gives, and answer nothing but their question."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tests.support.layers import convolutions, products
from tilewright import compiler
from tilewright.coefficients import coefficients_for
from tilewright.graph import data_format
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.counts import Counted, counting
from tilewright.plan.planner import forget_plans
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model import known_divisions
from tilewright.plan.whole_model.division import division_of
from tilewright.plan.whole_model.planning_options import options_for
from tilewright.report.explain import explain

MACHINE = Machine.named("zen5")


@dataclass
class Answers:
    """What is kept in memory, with the questions that found nothing."""

    known: dict[str, bytes] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)

    def find(self, question: str) -> bytes | None:
        found = self.known.get(question)
        if found is None:
            self.missed.append(question)
        return found

    def keep(self, question: str, answer: Callable[[], bytes]) -> None:
        with suppress(data_format.Unreadable):
            self.known[question] = answer()


def attention() -> Graph:
    def heads(q: object, k: object, v: object) -> object:
        return tw.softmax(q @ tw.matrix_transpose(k) * 0.125) @ v

    return tw.jit(heads).lower(*[tw.spec((4, 160, 64)) for _ in range(3)]).graph


def split_reduction() -> Graph:
    """Few blocks of a long sum: its reduction is split."""
    return tw.jit(lambda x, w: tw.relu(x @ w)).lower(tw.spec((6, 60000)), tw.spec((60000, 16))).graph


def integers() -> Graph:
    """An exact operator, which no search finds."""
    both = tw.spec((9, 40), "int64")
    return tw.jit(lambda x, y: (x // y).astype(np.float32)).lower(both, both).graph


def dynamic() -> Graph:
    w = random(64, 48)
    return tw.jit(lambda x: tw.softmax(x.reshape(-1, 64) @ w)).lower(tw.spec(("rows", 8, 64))).graph


def planned(graph: Graph, answers: Answers | None, *, fuse: bool | None = None) -> ModelPlan:
    """Planned as in a process that planned nothing before."""
    forget_plans()
    return compiler.plan(graph, MACHINE, fuse=fuse, answers=answers)


MODELS = (lambda: products(4, 5), attention, split_reduction, integers, dynamic)


@pytest.mark.parametrize(
    ("make", "fuse"), [(lambda: convolutions(4, 5), None), *((make, fuse) for make in MODELS for fuse in (None, True, False))]
)
def test_plans_are_those_of_a_search(make: Callable[[], Graph], fuse: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of models whose loops are partly taken over, too."""
    monkeypatch.setattr(known_divisions, "SMALL_MODEL", 4)
    graph, answers = make(), Answers()
    searched = planned(graph, None, fuse=fuse)
    assert planned(graph, answers, fuse=fuse).plans == searched.plans
    answers.missed.clear()
    with counting() as counts:
        found = planned(graph, answers, fuse=fuse)
    assert (found.plans, found.cuts) == (searched.plans, searched.cuts)
    assert explain(found) == explain(searched)
    assert not answers.missed
    assert make is split_reduction or counts[Counted.SEARCHES] == 0, "only parts of split reductions are searched again"


def test_other_models_find_groups_of_equal_structure() -> None:
    answers = Answers()
    planned(convolutions(3, 6), answers)
    answers.missed.clear()
    planned(convolutions(3, 5), answers)
    assert len(answers.missed) < 10, "the last layers differ by what follows them, in each layout and by each algorithm"


def test_an_answer_holds_for_its_question_alone() -> None:
    chain = next(iter(planned(attention(), None).plans)).chain
    answers = Answers()
    options = options_for(MACHINE, None, answers=answers)
    others = (
        replace(options, fuse=True),
        replace(options, coefficients=replace(coefficients_for(MACHINE), call_s=1.0)),
    )
    for asked in (options, *others):
        forget_plans()
        answers.missed.clear()
        division_of(chain, asked)
        assert len(answers.missed) == 1


@pytest.mark.parametrize("content", [b"", b"{}", b'{"KeptDivision":[[],[],[]]}', b'{"KeptDivision":[[1],[],[]]}'])
def test_damaged_answers_are_searched_again(content: bytes) -> None:
    graph, answers = attention(), Answers()
    searched = planned(graph, answers)
    answers.known = dict.fromkeys(answers.known, content)
    assert planned(graph, answers).plans == searched.plans
    assert content not in answers.known.values()
