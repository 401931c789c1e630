"""Maps behind weighted sums in their finish: those that keep the columns, along which lanes run, and read all sums."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.algorithms import computed_by
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.fusion.fuse_maps import FinishWeightedSums
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps, FoldWrites
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify


@pytest.mark.parametrize(
    ("order", "with_map", "operators"),
    [
        ((0, 1, 2, 3), True, 1),
        ((2, 0, 1, 3), True, 1),
        ((0, 2, 3, 1), True, 2),
        ((2, 0, 1, 3), False, 1),
        ((0, 2, 3, 1), False, 2),
    ],
)
def test_columns_stay(order: tuple[int, ...], with_map: bool, operators: int) -> None:
    builder = Builder("f")
    x, w = builder.input("x", (1, 2, 5, 6), "float32"), builder.input("w", (2, 1, 3, 3), "float32")
    y = builder.record(convolution, x, w, window_of((5, 6), (3, 3), where="Conv"), 2, kind="conv")
    y = builder.transpose(builder.map("relu", y) if with_map else y, order)
    graph = computed_by(builder.graph((y.name,)), "sliding sums")
    after = finished(graph)
    assert len(after.operators) == operators
    check(after, graph)


def finished(graph: Graph) -> Graph:
    after = graph
    for step in (FoldIndexMaps(), DeadCode(), FoldWrites(keeps_columns=True), FinishWeightedSums()):
        after = step.run(after)
        verify(after, graph)
    return after


def check(after: Graph, graph: Graph) -> None:
    random = np.random.default_rng(0)
    inputs = {name: random.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    got, expected = (next(iter(evaluate(g, inputs).values())) for g in (after, graph))
    np.testing.assert_array_equal(got, expected)


def test_a_map_of_some_of_the_sums_stays() -> None:
    builder = Builder("f")
    x, w = builder.input("x", (1, 2, 5, 6), "float32"), builder.input("w", (2, 1, 3, 3), "float32")
    y = builder.record(convolution, x, w, window_of((5, 6), (3, 3), where="Conv"), 2, kind="conv")
    y = builder.map("relu", builder.slice(y, (slice(None), slice(None), slice(0, 2))))
    graph = computed_by(builder.graph((y.name,)), "sliding sums")
    after = finished(graph)
    assert len(after.operators) == 2
    check(after, graph)
