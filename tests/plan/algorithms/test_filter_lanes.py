"""Filter lanes: pixels as rows, constant filters as columns; the oracle is the interpreter of the operator as it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.plan.algorithms.test_algorithms import CASES, computed, convolved, names
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.algorithms.filter_lanes import ALGORITHM
from tilewright.plan.reasons import OtherAlgorithm

WITHOUT = ("by channel", "by channel at a point", "by channel at every other point", "more taps than a body takes")
"""One filter for each channel: nothing to put along lanes."""


def with_constant_filters(
    x: tuple[int, ...], w: tuple[int, ...], group: int = 1, dtype: str = "float32", **attributes: Any
) -> Graph:
    """A convolution whose filters are whole numbers."""
    builder = Builder("convolved")
    image = builder.input("x", x, dtype)
    weights = builder.constant(np.random.default_rng(0).integers(-8, 9, w).astype(dtype))
    window = window_of(x[2:], w[2:], where="Conv", **attributes)
    return builder.graph((builder.record(convolution, image, weights, window, group, kind="conv").name,))


@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_operator(name: str) -> None:
    shapes, attributes, _ = CASES[name]
    graph = with_constant_filters(*shapes, **attributes)
    if name in (*WITHOUT, "one dimension at a point"):
        assert ALGORITHM.name not in names(graph)
        return
    x = np.random.default_rng(1).integers(-8, 9, shapes[0]).astype(graph.tensor("x").dtype)
    (wanted,) = evaluate(graph, {"x": x}).values()
    for by_it in computed(graph, ALGORITHM):
        verify(by_it)
        (found,) = evaluate(by_it, {"x": x}).values()
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_filters_that_are_given_are_not_packed_ahead() -> None:
    assert ALGORITHM.name not in names(convolved((1, 8, 7, 7), (16, 8, 3, 3)))


@pytest.mark.parametrize(("channels", "filters", "size", "wins"), [(512, 512, 7, True), (64, 64, 56, False)])
def test_small_images_with_many_filters_are_computed_so(channels: int, filters: int, size: int, wins: bool) -> None:
    """Seven pixels leave most of a vector empty; large results are scattered over as many pages as there are filters."""
    graph = with_constant_filters((1, channels, size, size), (filters, channels, 3, 3), pads=(1, 1, 1, 1))
    rejected = [loser for plan in compiler.plan(graph, Machine.named("cascadelake-6240")).plans for loser in plan.rejected]
    lost = {loser.alternative.algorithm for loser in rejected if isinstance(loser.alternative, OtherAlgorithm)}
    assert (ALGORITHM.name not in lost) == wins
