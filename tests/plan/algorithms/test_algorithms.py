"""Every algorithm computes what its operator does: the oracle is the interpreter of the operator as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.algorithms import computed_by, problems
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import Algorithm, Problem, applicable, registered
from tilewright.precision import Precision


def convolved(
    x: tuple[int, ...], w: tuple[int, ...], group: int = 1, dtype: str = "float32", is_constant: bool = False, **attributes: Any
) -> Graph:
    """A convolution of an input by another one, or by constant integers."""
    builder = Builder("convolved")
    image = builder.input("x", x, dtype)
    weights = builder.constant(integers(w, dtype)) if is_constant else builder.input("w", w, dtype)
    window = window_of(x[2:], w[2:], where="Conv", **attributes)
    return builder.graph((builder.record(convolution, image, weights, window, group, kind="conv").name,))


def integers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(-8, 9, shape).astype(dtype)


def names(graph: Graph, precision: Precision = Precision.FAST) -> list[str]:
    return [algorithm.name for problem in problems(graph) for algorithm in applicable(problem, precision)]


def computed(graph: Graph, algorithm: Algorithm) -> Iterator[Graph]:
    """The graph by an algorithm: as it was expanded, and with its index changes folded."""
    by_it = computed_by(graph, algorithm.name)
    yield by_it
    yield compiler._simplified(by_it, frozenset((*graph.inputs, *graph.outputs)))


def check(graph: Graph, only: str = "") -> None:
    """The sums by every algorithm that applies, or by one."""
    inputs = {tensor.name: integers(tensor.shape, tensor.dtype) for tensor in map(graph.tensor, graph.inputs)}  # type: ignore[arg-type]
    (wanted,) = evaluate(graph, inputs).values()
    for algorithm in applicable(*problems(graph), Precision.STRICT):
        if only not in ("", algorithm.name):
            continue
        for by_it in computed(graph, algorithm):
            verify(by_it)
            (found,) = evaluate(by_it, inputs).values()
            np.testing.assert_array_equal(found, wanted, algorithm.name, strict=True)


KNOWN = ("as written", "im2col", "map of taps", "pointwise", "shifted rows", "sliding sums", "windows by columns")
"""The algorithms of convolutions whose conditions are checked below; more of them have tests of their own."""
POINT, LINES, COLUMNS = ["as written", "pointwise"], ["im2col", "shifted rows"], ["windows by columns"]
WINDOWS, CHANNELS = [*LINES, *COLUMNS], ["im2col", "shifted rows", "sliding sums", *COLUMNS]
"""Without rows of taps there are lines only."""
CASES = {
    "a point": (((1, 5, 7, 9), (6, 5, 1, 1)), {}, POINT),
    "a point with steps": (((2, 5, 7, 9), (6, 5, 1, 1)), {"strides": (2, 3)}, ["as written", "im2col"]),
    "a point with padding": (((2, 5, 7, 9), (6, 5, 1, 1)), {"pads": (1, 0, 0, 2)}, LINES),
    "windows that fit": (((2, 3, 7, 5), (4, 3, 3, 2)), {}, ["as written", *WINDOWS]),
    "padded": (((2, 9, 7, 5), (17, 9, 3, 3)), {"pads": (1, 1, 1, 1)}, WINDOWS),
    "unevenly padded": (((1, 8, 6, 13), (3, 8, 2, 5)), {"pads": (0, 3, 2, 1)}, WINDOWS),
    "dilated": (((1, 8, 11, 11), (5, 8, 3, 3)), {"dilations": (2, 3), "auto_pad": "SAME_LOWER"}, WINDOWS),
    "with steps": (((2, 9, 17, 7), (4, 9, 3, 3)), {"pads": (1, 1, 1, 1), "strides": (2, 2)}, ["im2col"]),
    "with steps along columns": (((2, 9, 17, 7), (4, 9, 3, 3)), {"pads": (1, 1, 1, 1), "strides": (1, 2)}, ["im2col", *COLUMNS]),
    "a column of taps": (((1, 4, 6, 9), (5, 4, 3, 1)), {"pads": (1, 0, 1, 0)}, WINDOWS),
    "a row of taps": (((1, 4, 6, 9), (5, 4, 1, 3)), {"pads": (0, 1, 0, 1)}, LINES),
    "a column of points": (((1, 5, 8, 3), (3, 5, 1, 3)), {}, ["as written", *LINES]),
    "one point": (((1, 16, 1, 1), (16, 16, 3, 3)), {"pads": (1, 1, 1, 1)}, WINDOWS),
    "groups": (((1, 18, 5, 6), (6, 9, 3, 3)), {"group": 2, "pads": (1, 1, 1, 1)}, WINDOWS),
    "groups at a point": (((1, 18, 5, 6), (6, 9, 1, 1)), {"group": 2}, POINT),
    "one channel": (((2, 1, 5, 6), (4, 1, 3, 3)), {"pads": (1, 1, 1, 1)}, CHANNELS),
    "by channel": (((1, 7, 9, 11), (7, 1, 3, 3)), {"group": 7, "pads": (1, 1, 1, 1)}, CHANNELS),
    "by channel, several": (
        ((1, 3, 9, 14), (6, 1, 3, 3)),
        {"group": 3, "pads": (1, 1, 1, 1), "strides": (2, 2)},
        ["im2col", "sliding sums"],
    ),
    "by channel at a point": (((1, 3, 4, 5), (3, 1, 1, 1)), {"group": 3}, POINT),
    "by channel at every other point": (
        ((1, 3, 4, 5), (3, 1, 1, 1)),
        {"group": 3, "strides": (2, 2)},
        ["as written", "im2col", "map of taps"],
    ),
    "more taps than a body takes": (
        ((1, 3, 12, 12), (3, 1, 9, 9)),
        {"group": 3, "pads": (4, 4, 4, 4)},
        [*LINES, "sliding sums", *COLUMNS],
    ),
    "one dimension": (((2, 8, 31), (3, 8, 4)), {"pads": (2, 1)}, LINES),
    "one dimension at a point": (((2, 8, 31), (3, 8, 1)), {}, ["as written"]),
    "a volume": (((1, 8, 4, 5, 6), (3, 8, 2, 3, 3)), {"pads": (0, 1, 1, 1, 1, 1)}, WINDOWS),
    "integers": (((1, 3, 6, 7), (4, 3, 3, 3)), {"pads": (1, 1, 1, 1), "dtype": "int32"}, ["as written", *WINDOWS]),
    "an empty batch": (((0, 8, 4, 4), (3, 8, 3, 3)), {}, ["as written", *WINDOWS]),
}


@pytest.mark.parametrize("name", CASES)
def test_algorithms_that_apply_compute_the_operator(name: str) -> None:
    shapes, attributes, expected = CASES[name]
    graph = convolved(*shapes, **attributes)
    assert [name for name in names(graph) if name in KNOWN] == expected
    check(graph)


@given(st.data())
def test_any_convolution(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))

    def numbers(least: int, most: int, count: int = rank) -> tuple[int, ...]:
        return data.draw(st.tuples(*[st.integers(least, most)] * count))

    group, channels, filters, batch = (data.draw(st.integers(1, most)) for most in (3, 3, 3, 2))
    size, kernel = numbers(3, 6), numbers(1, 3)
    attributes = {"strides": numbers(1, 3), "dilations": numbers(1, 2), "pads": numbers(1, 2, 2 * rank), "group": group}
    check(convolved((batch, group * channels, *size), (group * filters, channels, *kernel), **attributes))


def test_every_known_algorithm_is_used() -> None:
    assert {name for _, _, expected in CASES.values() for name in expected} == set(KNOWN)
    assert set(KNOWN) <= {algorithm.name for algorithm in registered()}


def test_volumes_by_channel_have_one_algorithm() -> None:
    graph = convolved((1, 3, 4, 5, 6), (3, 1, 2, 3, 3), group=3, pads=(0, 1, 1, 1, 1, 1))
    assert names(graph) == ["sliding sums"]
    check(graph)


@pytest.mark.parametrize(("taps", "is_offered"), [(3, True), (11, False)])
def test_maps_gather_few_taps(taps: int, is_offered: bool) -> None:
    """Where columns lie side by side in the image, and channels in the result."""
    (problem,) = problems(convolved((1, 16, 40), (16, 1, taps), group=16, strides=(2,)))
    write = problem.operator.write
    turned = replace(problem.operator, write=replace(write, indices=(write.indices[0], *reversed(write.indices[1:]))))
    found = applicable(Problem(turned, problem.tensors, problem.constants, problem.machine))
    assert ("map of taps" in {algorithm.name for algorithm in found}) == is_offered


def test_windows_beside_each_other_are_not_free_to_load() -> None:
    """Rows stream past once, though a map of nine windows has as many functions: depthwise 3x3, ReLU behind it."""
    builder = Builder("depthwise")
    image, weights = builder.input("x", (1, 200, 33, 33), "float32"), builder.constant(integers((200, 1, 3, 3), "float32"))
    window = window_of((33, 33), (3, 3), where="Conv", pads=(1, 1, 1, 1))
    conv = builder.record(convolution, image, weights, window, 200, kind="conv")
    plan = compiler.plan(builder.graph((builder.map("relu", conv, dtype="float32").name,)), Machine.named("zen4"))
    assert [operator.leaf.leaf for chain in plan.plans for operator in chain.operators if operator.leaf] == ["row streaming"]
