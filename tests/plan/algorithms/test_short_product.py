"""Products of bytes as products of 16-bit numbers: the expansion against the interpreter, and where it must not apply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.plan.algorithms.test_integer_product import extremes, graph_of
from tests.support.operators import integer_matmul_reference
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import integer_convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Guard
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.algorithms.convolution_gemm import FEW_CHANNELS
from tilewright.plan.algorithms.definition import Algorithm, Problem, expanded, registered
from tilewright.plan.algorithms.of_bytes.short_product import PRODUCTS

MACHINE = Machine.named("x86-64-v3")
PIXELS, FEW, MATRICES = PRODUCTS
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], Algorithm]] = {
    "many channels": ((2, 17, 6, 7), (5, 17, 3, 3), {"pads": (1, 1, 1, 1)}, PIXELS),
    "of a point": ((1, 18, 5, 6), (4, 18, 1, 1), {}, PIXELS),
    "every other point": ((1, 16, 9, 9), (4, 16, 1, 1), {"strides": (2, 2)}, PIXELS),
    "few channels": ((2, 3, 9, 11), (5, 3, 3, 7), {"pads": (1, 3, 1, 3), "strides": (2, 2)}, FEW),
    "whole groups": ((1, 4, 5, 8), (3, 4, 1, 2), {}, FEW),
}


def problem_of(graph: Graph, machine: Machine = MACHINE) -> Problem:
    constants = frozenset(name for name, _ in graph.constants)
    return Problem(graph.operators[-1], {tensor.name: tensor for tensor in graph.tensors}, constants, machine)


def convolved(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any], zeros: tuple[Any, Any]) -> Graph:
    """A convolution of constant filters; where windows stand out of the image they see its zero point."""
    builder = Builder("convolved")
    image = builder.input("x", x, "uint8")
    weights = builder.constant(extremes(np.random.default_rng(1), w, "int8"))
    numbers = [None if zero is None else builder.constant(zero) for zero in zeros]
    window, outside = window_of(x[2:], w[2:], where="Conv", **attributes), 0.0 if zeros[0] is None else float(zeros[0])
    result = builder.record(integer_convolution, image, weights, window, 1, *numbers, outside=outside, kind="conv")
    return builder.graph((result.name,))


def by(algorithm: Algorithm, graph: Graph) -> Graph:
    found = expanded(graph, {graph.operators[-1].name: algorithm}, problem_of(graph).constants, MACHINE)
    verify(found)
    return found


def check_same(graph: Graph, algorithm: Algorithm) -> None:
    x = extremes(np.random.default_rng(2), graph.tensor("x").shape, "uint8")  # type: ignore[arg-type]
    (wanted,), (found,) = (evaluate(one, {"x": x}).values() for one in (graph, by(algorithm, graph)))
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(
    "zeros", [(None, None), (np.array(255, np.uint8), np.array(-128, np.int8)), (np.array(7, np.uint8), None)]
)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_sums_are_those_of_the_operator(name: str, zeros: tuple[Any, Any]) -> None:
    x, w, attributes, algorithm = CONVOLUTIONS[name]
    graph = convolved(x, w, attributes, zeros)
    if zeros[1] is not None:
        algorithm = PIXELS  # what fills groups of few channels would be no 0
    assert [one for one in (PIXELS, FEW) if one.applies(problem_of(graph))] == [algorithm]
    check_same(graph, algorithm)


def test_few_channels_of_bytes_as_they_are() -> None:
    x, w, attributes, _ = CONVOLUTIONS["few channels"]
    graph = convolved(x, w, attributes, (None, None))
    assert FEW_CHANNELS.applies(problem_of(graph))
    check_same(graph, FEW_CHANNELS.algorithm())


def test_matrices() -> None:
    """Every difference that two bytes have, and sums that wrap nowhere."""
    random = np.random.default_rng(5)
    values = [
        extremes(random, (5, 9), "uint8"),
        extremes(random, (9, 3), "int8"),
        np.array(255, np.uint8),
        np.array(127, np.int8),
    ]
    graph = graph_of(*values)
    assert MATRICES.applies(problem_of(graph))
    (found,) = evaluate(by(MATRICES, graph), dict(zip(graph.inputs, values, strict=True))).values()
    np.testing.assert_array_equal(found, integer_matmul_reference(*values))


def test_zero_points_of_rows_and_padding_with_other_numbers_stay() -> None:
    """A map that widens a tensor has one zero point; and a guard is no element of it."""
    rows = graph_of(np.zeros((5, 9), "uint8"), np.zeros((9, 3), "int8"), np.zeros((5, 1), "uint8"))
    assert not any(one.applies(problem_of(rows)) for one in PRODUCTS)
    problem = problem_of(graph_of(np.zeros((5, 9), "uint8"), np.zeros((9, 3), "int8"), np.array(1, np.uint8)))
    left, *others = problem.operator.reads
    padded = replace(problem.operator, reads=(replace(left, guard=Guard((left.indices[0],), 0.0)), *others))
    assert MATRICES.applies(problem)
    assert not MATRICES.applies(replace(problem, operator=padded))


def test_filters_that_are_given_are_not_widened_in_every_call() -> None:
    graph = convolved(*CONVOLUTIONS["many channels"][:3], (None, None))
    assert not PIXELS.applies(replace(problem_of(graph), constants=frozenset()))


@pytest.mark.parametrize(("machine", "gains"), [("x86-64-v3", True), ("icelake", False), ("x86-64-v2", False)])
def test_machines_with_products_of_four_bytes_keep_bytes(machine: str, gains: bool) -> None:
    graph = convolved(*CONVOLUTIONS["many channels"][:3], (None, None))
    problem = problem_of(graph, Machine.named(machine))
    assert any(one.applies(problem) for one in registered() if one in PRODUCTS) == gains
