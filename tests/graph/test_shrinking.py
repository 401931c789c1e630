"""Small instances of graphs: which extents may become shorter, and which stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.interpreter import evaluate
from tilewright.graph.shrinking import points, shrunken
from tilewright.graph.types import Access, Axis, Graph, Operator, SymbolicExtent, Tensor
from tilewright.graph.verifier import verify

WEIGHTS = np.arange(300.0 * 200, dtype=np.float32).reshape(300, 200)


def small(function: Any, *shapes: tuple[Any, ...], most_points: int = 2000) -> Graph:
    graph = shrunken(trace(function, [TensorSpec(shape) for shape in shapes]), most_points)
    verify(graph)
    return graph


def shapes(graph: Graph) -> list[tuple[Any, ...]]:
    return [graph.tensor(name).shape for name in graph.inputs]


def test_a_small_graph_stays_as_it_is() -> None:
    graph = trace(lambda x: x + 1.0, [TensorSpec((3, 4))])
    assert shrunken(graph, 12) is graph


def test_extents_of_one_class_become_shorter_together() -> None:
    graph = small(lambda x, y: tw.softmax(x @ y), (300, 200), (200, 100))
    assert shapes(graph) == [(9, 9), (9, 9)]
    assert points(graph) <= 2000


def test_constants_are_cut_like_their_tensors() -> None:
    graph = small(lambda x: x @ tw.asarray(WEIGHTS), (500, 300))
    ((_, constant),) = graph.constants
    np.testing.assert_array_equal(constant.array, WEIGHTS[:9, :9])


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (lambda x: x[:, 1:] * 2, (1000, 7), (257, 7)),
        (lambda x: x.reshape(1000, 4, 2) * 2, (1000, 8), (257, 8)),
        (lambda x: x[::-1] * 2, (8, 1000), (8, 257)),
        (lambda x: x[3] + x[4], (8, 4000), (8, 257)),
    ],
    ids=["slices", "split", "reversed", "single rows"],
)
def test_dimensions_of_other_indices_keep_their_extents(function: Any, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    graph = small(function, shape, most_points=6000)
    assert shapes(graph) == [expected]
    values = np.random.default_rng(0).standard_normal(expected)
    assert np.isfinite(evaluate(graph, {graph.inputs[0]: values})[graph.outputs[0]]).all()


def test_dimensions_that_are_looked_into_keep_their_extents() -> None:
    read = Access("table", (constant(0), axis("n")), lookups=((0, 1),))
    gather = Operator(
        "gather",
        "gather",
        (Axis("m", 900), Axis("n", 800)),
        (read, Access("rows", (axis("m"),))),
        write("out", "m", "n"),
        Load(0),
    )
    tensors = (Tensor("table", (700, 800)), Tensor("rows", (900,), "int64"), Tensor("out", (900, 800)))
    graph = shrunken(Graph("g", tensors, (gather,), ("table", "rows"), ("out",)), 100)
    verify(graph)
    assert shapes(graph) == [(700, 9), (9,)]


def write(tensor: str, *axes: str) -> Access:
    return Access(tensor, tuple(axis(name) for name in axes))


def test_symbolic_extents_stay() -> None:
    rows = SymbolicExtent("rows", 2, 100_000, 50_000)
    graph = small(lambda x: tw.exp(x), (rows, 500))
    assert shapes(graph) == [(rows, 2)]
