"""Tensors with their dimensions in another order: the same results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import random
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.reorder_dimensions import with_orders
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify


@pytest.fixture
def graph() -> Graph:
    """A map, rows of it at positions that are given, and a map of these."""
    builder = Builder("between")
    x, rows = builder.input("x", (2, 5, 3), "float32"), builder.input("rows", (4,), "int64")
    return builder.graph((builder.map("exp", builder.record(gather, builder.map("relu", x), rows, 1, kind="gather")).name,))


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (0, 1, 2)])
def test_results_are_the_same(graph: Graph, order: tuple[int, ...]) -> None:
    between = {operator.write.tensor: order for operator in graph.operators if operator.write.tensor not in graph.outputs}
    changed = with_orders(graph, between)
    verify(changed, graph)
    inputs = {"x": random(2, 5, 3), "rows": np.array([4, 0, 0, 2])}
    for name, wanted in evaluate(graph, inputs).items():
        np.testing.assert_array_equal(evaluate(changed, inputs)[name], wanted)


def test_without_orders_nothing_changes(graph: Graph) -> None:
    assert with_orders(graph, {}) is graph
