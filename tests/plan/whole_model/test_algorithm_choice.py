"""Every operator is computed by the cheapest algorithm that applies to it, and the others stay in the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.algorithms import problems
from tests.support.graphs import random
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.licences import Licence
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.algorithms import definition
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.reasons import Defeat, OtherAlgorithm
from tilewright.plan.whole_model import algorithm_prices
from tilewright.plan.whole_model.layout_choice import ChosenLayouts, Images
from tilewright.precision import Precision
from tilewright.report.explain import explain

MACHINE = Machine.named("x86-64-v3")


def product(rows: int, depth: int, columns: int) -> Graph:
    """relu(x @ w) twice, one behind the other, by layers of equal structure."""
    builder = Builder("layers")
    x = builder.input("x", (rows, depth), "float32")
    for width in (columns, depth):
        x = builder.map("relu", builder.matmul(x, builder.constant(random(x.shape[1], width))))
    return builder.graph((x.name,))


def transposed(problem: Problem, builder: Builder) -> Tensor:
    """C^T = B^T A^T, put back by a map."""
    left, right = (builder.transpose(problem.operand(read), (1, 0)) for read in (0, 1))
    return builder.transpose(builder.matmul(right, left), (1, 0))


def copied(problem: Problem, builder: Builder) -> Tensor:
    """The product with far more to do: its result is multiplied by 1, 40 times."""
    result = builder.matmul(problem.operand(0), problem.operand(1))
    for _ in range(40):
        result = builder.map("exp", builder.map("log", result))
    return result


def is_matrix_product(problem: Problem) -> bool:
    return problem.operator.kind == "matmul"


TRANSPOSED = Algorithm("transposed", Licence.EXACT, is_matrix_product, transposed)
COPIED = Algorithm("copied", Licence.EXACT, is_matrix_product, copied)


def with_algorithms(monkeypatch: pytest.MonkeyPatch, *algorithms: Algorithm) -> None:
    found = (*definition.registered(), *algorithms)
    monkeypatch.setattr(definition, "registered", lambda: found)


def test_losers_stay_in_the_plan_with_their_price(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product(64, 48, 80)
    plain = compiler.plan(graph, MACHINE)
    with_algorithms(monkeypatch, COPIED)
    plan = compiler.plan(graph, MACHINE)
    assert [one.schedule for one in plan.plans] == [one.schedule for one in plain.plans]
    lost = [one for each in plan.plans for one in each.rejected if isinstance(one.alternative, OtherAlgorithm)]
    assert len(lost) == 2
    assert all(one.figure > one.winner_figure for one in lost)
    assert "matmul by copied" in explain(plan)


def test_equal_layers_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product(64, 48, 48)
    with_algorithms(monkeypatch, COPIED)
    asked: list[Any] = []
    divided_groups = algorithm_prices.divided_groups
    monkeypatch.setattr(algorithm_prices, "divided_groups", lambda *given: asked.append(given) or divided_groups(*given))
    compiler.plan(graph, MACHINE)
    assert len(asked) == 5, "the second layer ends in an output, which keeps its shape; both are compared with one chain"


def test_a_chosen_expansion_means_what_the_operator_did(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product(20, 12, 28)
    monkeypatch.setattr(definition, "registered", lambda: (TRANSPOSED,))
    chosen = compiler.choose(compiler.rewrite(graph, compiler.REWRITES), MACHINE).graph
    assert chosen != compiler.rewrite(graph, compiler.REWRITES)
    inputs = {"x": random(20, 12)}
    for wanted, found in zip(evaluate(graph, inputs).values(), evaluate(chosen, inputs).values(), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_an_expansion_of_another_shape_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(problem: Problem, builder: Builder) -> Tensor:
        return builder.map("relu", problem.operand(0))

    with_algorithms(monkeypatch, Algorithm("wrong", Licence.EXACT, is_matrix_product, wrong))
    with pytest.raises(Exception, match="wrong makes"):
        compiler.plan(product(8, 4, 12), MACHINE)


def neighbours(*, both: bool) -> Graph:
    """A product over pixels, and with `both` filters channel by channel behind it, between maps."""
    builder = Builder("neighbours")
    y = builder.map("abs", builder.input("x", (1, 32, 28, 28), "float32"))
    for weights, group, pad in (((192, 32, 1, 1), 1, 0), ((192, 1, 3, 3), 192, 1))[: 1 + both]:
        window = window_of((28, 28), weights[2:], where="Conv", pads=(pad,) * 4)
        w = builder.constant(random(*weights))
        y = builder.map("relu", builder.record(convolution, y, w, window, group, kind="conv"))
    return builder.graph((builder.reduce("mean", y, (2, 3)).name,))


def chosen_for(graph: Graph, operator: str, machine: Machine) -> str:
    """The algorithm that is none of those that lost."""
    rewritten = compiler.rewrite(graph, compiler.REWRITES)
    problem = next(one for one in problems(rewritten) if one.operator.name == operator)
    rejected = compiler.choose(rewritten, machine).rejected[operator]
    lost = {one.alternative.algorithm for one in rejected}
    (found,) = {algorithm.name for algorithm in definition.applicable(problem, Precision.FAST)} - lost
    return found


def test_what_is_best_alone_gives_way_where_a_pair_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of pixels divide where the filters behind look at neighbours, so that the result would be stored between them."""
    as_written = ChosenLayouts(Images({}, {}), {}, {})
    monkeypatch.setattr(compiler, "choose_layouts", lambda prices, precision: as_written)
    machine = Machine.named("zen5")
    assert chosen_for(neighbours(both=False), "conv", machine) == "pointwise"
    assert chosen_for(neighbours(both=True), "conv", machine) == "as written"
    plan = compiler.plan(neighbours(both=True), machine)
    fused = next(one for one in plan.plans if any(operator.name == "conv" for operator in one.chain.operators))
    assert len(fused.chain.operators) > 2
    (alone,) = (one for one in fused.rejected if one.reason.defeat is Defeat.SLOWER_WITH_NEIGHBOUR)
    assert alone.figure <= alone.winner_figure
    assert "as written is faster together with its neighbour" in explain(plan)


def test_alternatives_whose_arithmetic_alone_is_slower_are_not_planned() -> None:
    rewritten = compiler.rewrite(neighbours(both=True), compiler.REWRITES)
    rejected = compiler.choose(rewritten, MACHINE).rejected["conv_2"]
    bounds = [one for one in rejected if one.reason.is_bound]
    assert bounds
    assert all(one.figure > 0 for one in bounds)
