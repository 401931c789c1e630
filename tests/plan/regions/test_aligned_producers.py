"""Producers in the axes of their readers: values stay, padding included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tests.support.gpu_chains import graph_of
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.plan.chains import make_chain
from tilewright.plan.regions.aligned_producers import aligned, is_aligned


def windows(stride: int, padding: int) -> Graph:
    """A product, a bias that padding does not have, and windows over both."""

    def function(x: object, w: object, b: object, v: object) -> object:
        first = tw.conv2d(x, w) + tw.reshape(b, (1, 4, 1, 1))
        return tw.conv2d(first, v, padding=padding, stride=stride)

    return graph_of(function, (2, 3, 7, 6), (4, 3, 1, 1), (4,), (5, 4, 3, 3))


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 1), (1, 0), (2, 2)])
def test_values_stay(stride: int, padding: int) -> None:
    graph = windows(stride, padding)
    chain = make_chain(graph, graph.operators)
    moved = aligned(chain)
    assert all(is_aligned(moved, op, read) for op in moved.operators for read in op.reads if read.tensor in moved.intermediates)
    generator = np.random.default_rng(3)
    inputs = {name: generator.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    again = Graph("aligned", moved.tensors, moved.operators, moved.inputs, (moved.output,))
    wanted = evaluate(graph, inputs)[graph.outputs[0]]
    np.testing.assert_allclose(evaluate(again, inputs)[moved.output], wanted, rtol=1e-5, atol=1e-5)


def test_work_is_multiplied_by_the_positions_of_a_window() -> None:
    chain = make_chain(graph := windows(1, 1), graph.operators)
    first, moved = chain.operators[0], aligned(chain).operators[0]
    points = [np.prod([axis.extent for axis in operator.axes]) for operator in (first, moved)]
    assert points[1] == 9 * points[0]


def test_chains_without_windows_stay_as_they_are() -> None:
    graph = graph_of(lambda a, b, c: (a @ b) @ c, (5, 6), (6, 7), (7, 8))
    chain = make_chain(graph, graph.operators)
    assert aligned(chain) == chain


def heads(x: object, v: object) -> object:
    """Rows of weights, which several columns of a result read."""
    return tw.einsum("hml,lhd->mhd", tw.softmax(x, axis=-1), tw.reshape(v, (6, 3, 4)))


def ends(x: object, v: object) -> object:
    """The first weights of every row."""
    return tw.softmax(x, axis=-1)[:, ::2] @ v


def neighbours(x: object, v: object) -> object:
    """Windows over rows of weights and beyond their ends."""
    return tw.conv1d(tw.softmax(x, axis=-1), v, padding=1)


def turned(x: object, v: object) -> object:
    """Weights, and those of other rows."""
    return tw.softmax(x, axis=-1)[::-1] @ v


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (heads, ((3, 5, 6), (6, 12))),
        (ends, ((5, 6), (3, 4))),
        (neighbours, ((1, 5, 6), (4, 5, 3))),
        (turned, ((5, 6), (6, 4))),
    ],
)
def test_rows_are_reduced_from_end_to_end(function: Callable[..., object], shapes: tuple[tuple[int, ...], ...]) -> None:
    graph = graph_of(function, *shapes)
    chain = make_chain(graph, graph.operators)
    moved = aligned(chain)
    generator = np.random.default_rng(3)
    inputs = {name: generator.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    again = Graph("aligned", moved.tensors, moved.operators, moved.inputs, (moved.output,))
    wanted = evaluate(graph, inputs)[graph.outputs[0]]
    np.testing.assert_allclose(evaluate(again, inputs)[moved.output], wanted, rtol=1e-5, atol=1e-5)
