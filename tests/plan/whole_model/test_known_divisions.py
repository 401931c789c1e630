"""Divisions and loops are taken over from near groups of a form, within a limit; nothing planned elsewhere decides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.layers import convolutions, products
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.chains import canonical_form, make_chain
from tilewright.plan.counts import Counted, counting
from tilewright.plan.planner import forget_plans, price_chain
from tilewright.plan.reasons import OtherAlgorithm
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model import known_divisions
from tilewright.plan.whole_model.forms import NEAR, form_of
from tilewright.plan.whole_model.known_divisions import MOST_LOSS, efficiency, taken_over
from tilewright.plan.whole_model.planning_options import options_for
from tilewright.report.explain import explain

MACHINE = Machine.named("zen5")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs are planned as large models are."""
    monkeypatch.setattr(known_divisions, "SMALL_MODEL", 0)


def exactly(graph: Graph, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> ModelPlan:
    """The oracle: every group is searched."""
    with monkeypatch.context() as patched:
        patched.setattr(known_divisions, "SMALL_MODEL", 10**9)
        return compiler.plan(graph, machine)


def seconds(model: ModelPlan) -> tuple[float, float]:
    """On one thread and on all cores."""
    return model.predicted_seconds, sum(plan.price.on(model.machine.cores) for plan in model.plans)


LARGE, SMALL = "cascadelake-6240", "x86-64-v3"
FEWER_PAIRS = 1.3
"""Of convolutions of few microseconds on 18 cores, of which a small graph searches more pairs of algorithms, in more layouts."""


@pytest.mark.parametrize(
    ("target", "make", "seeds", "layers"),
    [
        (LARGE, convolutions, (3,), 5),
        (LARGE, products, (3, 4), 8),
        (SMALL, products, (3, 4), 8),
        *(pytest.param(target, convolutions, (3, 4, 5, 6), 8, marks=pytest.mark.sweep) for target in (LARGE, SMALL)),
        *(pytest.param(target, products, (5, 6), 8, marks=pytest.mark.sweep) for target in (LARGE, SMALL)),
    ],
)
def test_a_model_loses_no_more_than_the_limit(
    make: Callable[[int, int], Graph],
    seeds: tuple[int, ...],
    layers: int,
    target: str,
    large: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, taken = Machine.named(target), 0
    most_loss = FEWER_PAIRS if (make, target, layers) == (convolutions, LARGE, 8) else MOST_LOSS
    for seed in seeds:
        with counting() as counts:
            found = compiler.plan(make(seed, layers), machine)
        taken += counts[Counted.TAKEN_OVER]
        exact = exactly(make(seed, layers), machine, monkeypatch)
        for mine, best in zip(seconds(found), seconds(exact), strict=True):
            assert mine <= best * most_loss
    assert taken >= len(seeds)


@pytest.mark.parametrize(
    ("graph", "other"),
    [pytest.param(convolutions(3, 5), convolutions(4, 5), marks=pytest.mark.sweep), (products(1), products(2))],
)
def test_what_was_planned_before_decides_nothing(graph: Graph, other: Graph, large: None) -> None:
    forget_plans()
    with counting() as counts:
        alone = compiler.plan(graph, MACHINE)
    assert counts[Counted.TAKEN_OVER]
    forget_plans()
    compiler.plan(other, MACHINE)
    assert compiler.plan(graph, MACHINE).plans == alone.plans
    assert compiler.plan(graph, MACHINE).plans == alone.plans, "nor does it matter that it was planned itself"


def test_small_models_and_forced_fusion_are_searched() -> None:
    graph = convolutions(3, 4)
    for fuse in (None, True, False):
        with counting() as counts:
            model = compiler.plan(graph, MACHINE, fuse=fuse)
        assert counts[Counted.TAKEN_OVER] == 0
        assert all(plan.taken_over is None and plan.unfused_price is not None for plan in model.plans)


def test_explain_says_what_was_taken_over(large: None) -> None:
    model = compiler.plan(products(1), MACHINE)
    taken = [plan for plan in model.plans if plan.taken_over is not None]
    searched = {plan.chain.name for plan in model.plans if plan.taken_over is None}
    assert taken
    assert {plan.taken_over.chain for plan in taken if plan.taken_over} <= searched
    assert all(plan.taken_over.efficiency * MOST_LOSS >= plan.taken_over.source_efficiency for plan in taken if plan.taken_over)
    text = explain(model)
    assert "loops of " in text
    assert "not searched" in text


def test_explain_says_of_which_operator_an_algorithm_was_taken_over(large: None) -> None:
    model = compiler.plan(convolutions(5), MACHINE)
    lost = [one for plan in model.plans for one in plan.rejected if isinstance(one.alternative, OtherAlgorithm)]
    sources = {one.reason.source for one in lost} - {""}
    assert sources
    assert sources <= {one.alternative.operator for one in lost if not one.reason.source}


def priced(graph: Graph, machine: Machine):
    options = options_for(machine, None)
    return price_chain(canonical_form(make_chain(graph, graph.operators)), machine, options.kernels, options.coefficients)


def product(rows: int, depth: int, columns: int) -> Graph:
    builder = Builder("product")
    weights = builder.constant(np.ones((depth, columns), np.float32))
    return builder.graph((builder.matmul(builder.input("x", (rows, depth), "float32"), weights).name,))


def test_loops_are_resized_and_priced_for_the_extents() -> None:
    source, chain = priced(product(512, 512, 512), MACHINE), priced(product(512, 640, 512), MACHINE).chain
    found = taken_over(chain, source)
    assert found is not None
    assert found.price.seconds > source.price.seconds
    assert efficiency(found) * MOST_LOSS >= efficiency(source)
    searched, cores = priced(product(512, 640, 512), MACHINE), MACHINE.cores
    assert found.price.on(cores) >= searched.price.on(cores) * (1 - 1e-9), "a search finds no dearer loops"


def test_what_loses_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many blocks of columns as before are too large, or too small."""
    source, searched = priced(product(512, 512, 512), MACHINE), priced(product(512, 512, 800), MACHINE)
    assert form_of(searched.chain).distance(form_of(source.chain)) <= NEAR
    assert taken_over(searched.chain, source) is None
    forget_plans()
    monkeypatch.setattr("tilewright.plan.whole_model.known_divisions.MOST_LOSS", float("inf"))
    found = taken_over(searched.chain, source)
    assert found is not None
    assert efficiency(found) < efficiency(source) / MOST_LOSS


def test_a_split_reduction_is_not_taken_over() -> None:
    source = priced(product(8, 65536, 16), Machine.named("cascadelake-6240"))
    assert source.plan().schedule.split
    assert taken_over(priced(product(8, 70000, 16), Machine.named("cascadelake-6240")).chain, source) is None
