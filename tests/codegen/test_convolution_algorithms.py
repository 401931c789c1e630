"""Convolutions by every algorithm that applies, compiled: the same sums, and NaN and infinity in the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_convolutions import CONVOLUTIONS, EPS, Floats, built, normal
from tests.support.algorithms import forced, problems
from tests.support.guarded import in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import applicable
from tilewright.precision import Precision

VALUES = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -2.0], np.float32)


def graph_of(x: Floats, w: Floats, options: dict[str, Any], constant: bool) -> Graph:
    """A convolution, its bias and a relu."""
    builder = Builder("convolution")
    image = builder.input("x", x.shape, "float32")
    weights = builder.constant(w) if constant else builder.input("w", w.shape, "float32")
    bias = builder.constant(np.linspace(-1, 1, w.shape[0], dtype=np.float32))
    y = operator("Conv", 21, **options).lower(builder, image, weights, bias)
    return builder.graph((builder.map("relu", y).name,))


def wanted(x: Floats, w: Floats, options: dict[str, Any]) -> tuple[Floats, Floats]:
    """The result in float64, and what its error is measured by."""
    bias = np.linspace(-1, 1, w.shape[0], dtype=np.float32)
    convolution = operator("Conv", 21, **options)
    exact, size = (
        convolution.reference(*(change(one.astype(np.float64)) for one in (x, w, bias))) for change in (np.array, np.abs)
    )
    return np.maximum(exact, 0), size


def names(graph: Graph) -> set[str]:
    """The algorithms of the convolution, as planning meets it, whose error is that of sums in float32."""
    rewritten = compiler.rewrite(graph, compiler.rewrites_for(Machine.detect()))
    offered = (algorithm for problem in problems(rewritten) for algorithm in applicable(problem, Precision.FLOAT32))
    return {algorithm.name for algorithm in offered} - {"as written"}


def check(images: list[Floats], w: Floats, options: dict[str, Any], constant: bool) -> None:
    """Every algorithm computes the same of every image, to the error of its sums."""
    with np.errstate(invalid="ignore"):
        expected = [wanted(x, w, options) for x in images]
    graph, depth = graph_of(images[0], w, options, constant), 4 + w[0].size
    for name in names(graph):
        with forced(name):
            compute = built(graph)
            results = [compute([x] if constant else [x, w]) for x in images]
        for found, (exact, size) in zip(results, expected, strict=True):
            finite = np.isfinite(exact)
            assert np.array_equal(found[~finite], exact[~finite].astype(np.float32), equal_nan=True), name
            assert np.all(np.abs(found - exact)[finite] <= depth * EPS * (size[finite] + 1)), name


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_algorithms(name: str) -> None:
    shape, filters, options = CONVOLUTIONS[name]
    x = normal(*shape)
    special = x.copy()
    if x.size:
        places = np.random.default_rng(len(name)).choice(x.size, min(x.size, 6), replace=False)
        special.flat[places] = VALUES[: places.size]
    in_child(check, [x, special], normal(*filters), options, True)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_convolution_by_every_algorithm(data: st.DataObject) -> None:
    group, channels, filters = (data.draw(st.integers(1, most)) for most in (3, 9, 7))
    size = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 40)))
    kernel = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    strides, dilations = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))), data.draw(st.sampled_from([(1, 1), (2, 1)]))
    pads = data.draw(st.tuples(*[st.integers(3, 6)] * 4))
    options = {"group": group, "strides": strides, "dilations": dilations, "pads": pads}
    x, w = normal(1, group * channels, *size), normal(group * filters, channels, *kernel)
    in_child(check, [x], w, options, data.draw(st.booleans()))
