"""Winograd's algorithm on 16-bit numbers: bit for bit the sums of the operator, at the extremes, and where it must not apply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.plan.algorithms.test_short_product import check_same, convolved, problem_of
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import integer_convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import expanded
from tilewright.plan.algorithms.of_bytes.short_product import MOST_CHANNELS, WINOGRAD

ALGORITHM, IN_ROWS = WINOGRAD
MACHINE = Machine.named("x86-64-v3")
PADDED = {"pads": (1, 1, 1, 1)}
ZEROS = [
    (None, None),
    (np.array(255, np.uint8), np.array(-128, np.int8)),
    (np.array(0, np.uint8), np.array(127, np.int8)),
    (np.array(7, np.uint8), None),
]


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize(
    ("image", "filters", "attributes"), [((2, 17, 6, 7), 5, PADDED), ((1, 4, 5, 8), 3, {}), ((1, 2, 3, 3), 1, {})]
)
def test_sums_are_those_of_the_operator(
    image: tuple[int, ...], filters: int, attributes: dict[str, Any], zeros: tuple[Any, Any]
) -> None:
    graph = convolved(image, (filters, image[1], 3, 3), attributes, zeros)
    assert ALGORITHM.applies(problem_of(graph))
    for algorithm in WINOGRAD:
        check_same(graph, algorithm)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_fit_and_one_channel_more_is_refused(sign: int) -> None:
    """All weights and all elements at the extremes of one sign: four times the sum is just within 32 bits."""
    for channels in (MOST_CHANNELS, MOST_CHANNELS + 1):
        builder = Builder("largest")
        image = builder.input("x", (1, channels, 3, 3), "uint8")
        weights = builder.constant(np.full((1, channels, 3, 3), 127 if sign > 0 else -128, np.int8))
        zeros = [builder.constant(np.array(0, np.uint8)), builder.constant(np.array(-128 if sign > 0 else 127, np.int8))]
        result = builder.record(
            integer_convolution, image, weights, window_of((3, 3), (3, 3), where="Conv"), 1, *zeros, kind="conv"
        )
        graph = builder.graph((result.name,))
        assert ALGORITHM.applies(problem_of(graph)) == (channels == MOST_CHANNELS)
        x = np.full((1, channels, 3, 3), 255, np.uint8)
        found = expanded(graph, {graph.operators[-1].name: ALGORITHM}, problem_of(graph).constants, MACHINE)
        (sums,) = evaluate(found, {"x": x}).values()
        assert (sums == sign * 9 * channels * 255**2).all() == (channels == MOST_CHANNELS), "the bound is sharp"


def test_what_windows_see_outside_is_a_byte() -> None:
    """Data of 16 bits hold what padding gives only where it is an element of the image's type."""
    problem = problem_of(convolved((1, 4, 5, 8), (3, 4, 3, 3), PADDED, (np.array(7, np.uint8), None)))
    image, *others = problem.operator.reads
    assert image.guard is not None
    outside = replace(image, guard=replace(image.guard, otherwise=70000.0))
    assert ALGORITHM.applies(problem)
    assert not ALGORITHM.applies(replace(problem, operator=replace(problem.operator, reads=(outside, *others))))


@pytest.mark.parametrize(
    ("filters", "attributes"),
    [((3, 4, 5, 5), {}), ((3, 4, 3, 3), {"strides": (2, 2)}), ((3, 4, 3, 3), {"dilations": (2, 2)}), ((3, 4, 1, 1), {})],
)
def test_other_windows_stay(filters: tuple[int, ...], attributes: dict[str, Any]) -> None:
    assert not ALGORITHM.applies(problem_of(convolved((1, 4, 9, 9), filters, attributes, (None, None))))


def test_long_rows_are_not_rows_of_one_product() -> None:
    """Of images of over 32 outputs a row."""
    for extent, is_short in ((34, True), (35, False)):
        problem = problem_of(convolved((1, 4, extent, 9), (3, 4, 3, 3), {}, (None, None)))
        assert (ALGORITHM.applies(problem), IN_ROWS.applies(problem)) == (True, is_short)


def test_filters_that_are_given_and_machines_with_products_of_four_bytes_stay() -> None:
    graph: Graph = convolved((1, 4, 9, 9), (3, 4, 3, 3), {}, (None, None))
    assert not ALGORITHM.applies(replace(problem_of(graph), constants=frozenset()))
    assert not ALGORITHM.applies(problem_of(graph, Machine.named("icelake")))
