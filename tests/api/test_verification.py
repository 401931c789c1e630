"""TILEWRIGHT_VERIFY finds what changes results, and names the first stage that does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright import compiler, verification
from tilewright.artifact import Artifact
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.expressions.scalar import Literal, apply
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.verification import Expected, verify_results

MACHINE = Machine.named("x86-64-v2")
pytestmark = pytest.mark.needs("sse4_2")


@dataclass(frozen=True)
class Spoil:
    """A pass that adds a little to the body of the last operator."""

    name: str = "spoil"

    def run(self, graph: Graph) -> Graph:
        *others, last = graph.operators
        return replace(graph, operators=(*others, replace(last, body=apply("add", last.body, Literal(1e-3)))))


def normalised(x: Any, y: Any) -> Any:
    return tw.exp(x @ y) - 1.0


def graph(*shapes: tuple[int, ...]) -> Graph:
    return trace(normalised, [TensorSpec(shape) for shape in shapes])


def test_a_right_graph_passes() -> None:
    verify_results(graph((4, 5), (5, 6)), MACHINE)


def test_a_rewrite_that_changes_results_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "REWRITES", (*compiler.REWRITES[:5], Spoil(), *compiler.REWRITES[5:]))
    with pytest.raises(tw.InternalError, match="the rewrite spoil changes the result 'out'") as caught:
        verify_results(graph((4, 5), (5, 6)), MACHINE)
    assert "graph normalised" in caught.value.dump


def test_code_that_computes_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    generate = compiler.generate

    def spoiled(model_plan: Any) -> Artifact:
        return generate(compiler.plan(Spoil().run(graph((4, 5), (5, 6))), MACHINE))

    monkeypatch.setattr(compiler, "generate", spoiled)
    with pytest.raises(tw.InternalError, match="code generation changes the result 'out'"):
        verify_results(graph((4, 5), (5, 6)), MACHINE)


LONG_SUMS: dict[str, tuple[tuple[int, ...], Any, Any]] = {
    "products": ((100_003,), lambda x, y: x @ y, lambda x, y: x[:-1] @ y[:-1]),
    "a sum": ((100_003,), lambda x, y: tw.sum(x + y), lambda x, y: tw.sum((x + y)[:-1])),
    "a mean of rows": ((2, 30_011), lambda x, y: tw.mean(x * y, axis=1), lambda x, y: tw.mean((x * y)[:, :-1], axis=1)),
    "norms of columns": (
        (30_011, 3),
        lambda x, y: tw.sqrt(tw.sum(x * x, axis=0)),
        lambda x, y: tw.sqrt(tw.sum(x[1:] ** 2, axis=0)),
    ),
    "a product of matrices": ((7, 9_001), lambda x, y: x @ y.T, lambda x, y: x[:, 1:] @ y[:, 1:].T),
}
"""Shapes, a function with long sums, and the same with a term less in each."""


def graph_of(function: Any, shape: tuple[int, ...]) -> Graph:
    return trace(function, [TensorSpec(shape), TensorSpec(shape)])


@pytest.mark.parametrize("case", LONG_SUMS)
def test_the_roundings_of_a_long_sum_pass(case: str) -> None:
    shape, function, _ = LONG_SUMS[case]
    verify_results(graph_of(function, shape), MACHINE)


@pytest.mark.parametrize("case", LONG_SUMS)
def test_a_term_that_a_long_sum_lost_is_found(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, function, spoiled = LONG_SUMS[case]
    generate = compiler.generate
    monkeypatch.setattr(compiler, "generate", lambda _: generate(compiler.plan(graph_of(spoiled, shape), MACHINE)))
    with pytest.raises(tw.InternalError, match="code generation changes the result"):
        verify_results(graph_of(function, shape), MACHINE)


def test_large_graphs_are_verified_on_short_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Graph] = []
    plan = compiler.plan
    monkeypatch.setattr(compiler, "plan", lambda graph, *rest, **options: seen.append(graph) or plan(graph, *rest, **options))
    verify_results(graph((5000, 4000), (4000, 3000)), MACHINE)
    assert [seen[0].tensor(name).shape for name in seen[0].inputs] == [(67, 67), (67, 67)]


def test_kernels_are_verified_where_the_knob_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(verification, "verify_results", lambda graph, *_, **__: calls.append(graph.name))
    for value in ("0", "1"):
        monkeypatch.setenv("TILEWRIGHT_VERIFY", value)
        tw.jit(normalised, target=MACHINE)(random(4, 5), random(5, 6))
    assert calls == ["normalised"]


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([1.0, 2.0], 0.0),
        ([1.0, 2.00001], 0.0),
        ([1.0, 2.5], 0.5),
        ([1.0, np.nan], np.inf),
        ([np.inf, 2.0], np.inf),
        ([[1.0, 2.0]], np.inf),
    ],
    ids=["equal", "rounded", "wrong", "NaN", "infinite", "of another shape"],
)
def test_what_counts_as_a_difference(actual: Any, expected: float) -> None:
    one = np.array([1.0, 2.0])
    assert Expected(one, one.astype(np.float32), 1e-4).difference(np.array(actual, np.float32)) == expected


def test_infinities_and_nan_where_they_are_expected_are_no_difference() -> None:
    one = np.array([np.inf, -np.inf, np.nan])
    assert Expected(one, one, 1e-4).difference(one.astype(np.float32)) == 0.0


def test_comparisons_may_fall_on_either_side_of_a_rounding() -> None:
    assert Expected(np.array([True, False]), np.array([False, False]), 0.0).difference(np.array([False, False])) == 0.0
