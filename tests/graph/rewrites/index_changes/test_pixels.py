"""Pixels as one axis: values stay, and images lose a dimension wherever nothing divides then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.gpu_chains import graph_of
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.pixels import with_joined_pixels
from tilewright.graph.verifier import verify_stage


def windows(first: int, second: int, stride: int) -> Callable[..., Any]:
    def function(x: Any, w: Any, b: Any, v: Any) -> Any:
        inner = tw.relu(tw.conv2d(x, w, padding=first // 2, stride=stride) + tw.reshape(b, (1, 4, 1, 1)))
        return tw.conv2d(inner, v, padding=second // 2)

    return function


@pytest.mark.parametrize(("first", "second", "stride"), [(3, 1, 1), (3, 1, 2), (1, 3, 1), (3, 3, 2)])
def test_values_stay_and_outputs_are_joined(first: int, second: int, stride: int) -> None:
    graph = graph_of(windows(first, second, stride), (2, 3, 7, 6), (4, 3, first, first), (4,), (5, 4, second, second))
    joined, dimensions = with_joined_pixels(graph)
    verify_stage(joined)
    (output,) = graph.outputs
    assert dimensions[output] == (2,)
    assert all(len(operator.write.indices) == 3 for operator in joined.operators)
    generator = np.random.default_rng(5)
    inputs = {name: generator.standard_normal(graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    flat = {name: array.reshape(joined.tensor(name).shape) for name, array in inputs.items()}
    wanted = evaluate(graph, inputs)[output]
    np.testing.assert_allclose(evaluate(joined, flat)[output].reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-5)


def test_images_that_are_read_at_windows_alone_keep_their_shape() -> None:
    graph = graph_of(windows(3, 1, 2), (2, 3, 7, 6), (4, 3, 3, 3), (4,), (5, 4, 1, 1))
    joined, dimensions = with_joined_pixels(graph)
    assert joined.tensor(graph.inputs[0]).shape == (2, 3, 7, 6)
    assert graph.inputs[0] not in dimensions


def test_graphs_without_windows_stay_as_they_are() -> None:
    graph = graph_of(lambda a, b: tw.relu(a @ b), (4, 5, 6), (4, 6, 7))
    assert with_joined_pixels(graph) == (graph, {})
