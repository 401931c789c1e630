"""Rewrites keep the meaning of a graph and do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright.frontend.tracing import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.dead_code import DeadCode
from tilewright.graph.rewrites.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.fold_scales import FoldScales
from tilewright.graph.rewrites.inline_conditions import InlineConditions
from tilewright.graph.scaled_points import point_factor
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify

PASSES = (FoldIndexMaps(), InlineConditions(), DeadCode(), FoldScales(), DeadCode())


def rewritten(graph: Graph) -> Graph:
    for one in PASSES:
        graph = one.run(graph)
        verify(graph)
    return graph


def heads(x: Any, w: Any) -> Any:
    return (x @ w).reshape(2, 8, 3, 4).transpose(0, 2, 1, 3)


def attention(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    q, k, v = heads(x, wq), heads(x, wk), heads(x, wv)
    scores = tw.softmax(q @ k.mT / np.sqrt(4))
    return (scores @ v).transpose(0, 2, 1, 3).reshape(2, 8, 12)


def masked(x: Any, y: Any) -> Any:
    return tw.where((x > 0) & (y.T <= 0.5), x * 2, y.T[0])


CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "attention": (attention, [(2, 8, 12), (12, 12), (12, 12), (12, 12)]),
    "masked": (masked, [(3, 4), (4, 3)]),
    "slices": (lambda x, y: x[::-1, 1:] @ y[1:4], [(5, 4), (6, 3)]),
    "only index changes": (lambda x: (x.T.T, x.T), [(5, 4)]),
    "merge, then split": (lambda x: x.reshape(12).reshape(3, 4) + 1.0, [(3, 4)]),
    "kept dimensions": (lambda x: x - tw.mean(x, axis=1, keepdims=True), [(3, 4)]),
    "unused": (lambda x, y: (x + y, (x @ y.T))[0], [(3, 4), (3, 4)]),
    "a condition used twice": (lambda x: tw.where(x > 0, x, 0.0) + tw.where(x > 0, 1.0, x) * (x > 1), [(7,)]),
}


SCALED: dict[str, tuple[Any, list[str], float]] = {
    "behind the product": (lambda q, k: tw.softmax(q @ k * 0.125), ["matmul", "softmax"], 0.125),
    "divided": (lambda q, k: tw.softmax(q @ k / 8.0), ["matmul", "softmax"], 0.125),
    "on one operand": (lambda q, k: tw.softmax((0.5 * q) @ k), ["matmul", "softmax"], 0.5),
    "on both operands": (lambda q, k: tw.softmax((0.5 * q) @ (k * 0.25)), ["matmul", "softmax"], 0.125),
    "in front of a mask": (
        lambda q, k: tw.softmax(tw.where(q @ k > 0, 2.0 * (q @ (k * 1.5)), -np.inf)),
        ["matmul", "matmul", "where", "softmax"],
        3.0,
    ),
    "through another axis": (lambda q, k: tw.softmax((q @ k * 2.0).T, axis=0), ["matmul", "softmax"], 2.0),
    "twice": (lambda q, k: tw.softmax(q @ k * 2.0 / 4.0), ["matmul", "softmax"], 0.5),
    "not of a sum": (lambda q, k: tw.softmax(q @ k * 0.5 + 1.0), ["matmul", "multiply", "add", "softmax"], 1.0),
    "not negative": (lambda q, k: tw.softmax(q @ k * -0.5), ["matmul", "multiply", "softmax"], 1.0),
    "not where it is read twice": (
        lambda q, k: next(tw.softmax(s) + s for s in [q @ k * 0.5]),
        ["matmul", "multiply", "softmax", "add"],
        1.0,
    ),
    "not before other reductions": (lambda q, k: tw.sum(q @ k * 0.5, axis=-1), ["matmul", "multiply", "sum"], 1.0),
}
"""Functions of (5, 4) and (4, 6), the operators that are left, and the factor in the row operator."""
CASES |= {f"scaled {name}": (function, [(5, 4), (4, 6)]) for name, (function, _, _) in SCALED.items()}


def traced(name: str) -> Graph:
    function, shapes = CASES[name]
    return trace(function, [TensorSpec(shape, name=f"x{i}") for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", CASES)
def test_the_meaning_stays(name: str) -> None:
    graph = traced(name)
    values = {f"x{i}": random(*shape, seed=i) for i, shape in enumerate(CASES[name][1])}
    before, after = evaluate(graph, values, dtype="float64"), evaluate(rewritten(graph), values, dtype="float64")
    for output in graph.outputs:
        np.testing.assert_allclose(after[output], before[output], rtol=1e-12)


def test_splits_and_transposes_of_attention_vanish_and_only_the_merge_is_copied() -> None:
    graph = rewritten(traced("attention"))
    kinds = [operator.kind for operator in graph.operators]
    assert kinds == ["matmul"] * 3 + ["matmul", "softmax", "matmul", "reshape"]
    assert all(operator.is_contraction() for operator in graph.operators if operator.kind == "matmul")


def test_a_merge_is_undone_by_a_split() -> None:
    assert [operator.kind for operator in rewritten(traced("merge, then split")).operators] == ["add"]


def test_kept_dimensions_are_read_through() -> None:
    assert [operator.kind for operator in rewritten(traced("kept dimensions")).operators] == ["mean", "subtract"]


def test_index_changes_that_are_outputs_stay() -> None:
    graph = rewritten(traced("only index changes"))
    assert graph.outputs == ("out_0", "out_1")
    assert all(operator.reads[0].tensor == "x0" for operator in graph.operators)
    assert len(graph.operators) == 2


def test_no_truth_value_is_stored() -> None:
    for name in ("masked", "a condition used twice"):
        graph = rewritten(traced(name))
        assert {tensor.dtype for tensor in graph.tensors} == {"float32"}


def test_dead_code_keeps_inputs() -> None:
    graph = rewritten(traced("unused"))
    assert [operator.kind for operator in graph.operators] == ["add"]
    assert graph.inputs == ("x0", "x1")
    assert [tensor.name for tensor in graph.tensors] == ["x0", "x1", "out"]


@pytest.mark.parametrize("name", SCALED)
def test_scales_move_into_row_operators(name: str) -> None:
    _, kinds, factor = SCALED[name]
    graph = rewritten(traced(f"scaled {name}"))
    assert [operator.kind for operator in graph.operators] == kinds
    reductions = [operator.reduction for operator in graph.operators if operator.reduction and operator.is_row_operator()]
    assert [point_factor(reduction) for reduction in reductions] == [factor] * len(reductions)


def test_passes_are_idempotent() -> None:
    for name in CASES:
        graph = rewritten(traced(name))
        assert rewritten(graph) == graph
