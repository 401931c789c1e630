"""Merged arguments: where dimensions of inputs and outputs become one, where they must not, and arrays of any strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.flatten_tensors import with_merged_arguments
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify

FILTERS = np.random.default_rng(0).standard_normal((5, 3, 1, 1), dtype=np.float32)
WIDE = np.random.default_rng(1).standard_normal((4, 5, 3, 3), dtype=np.float32)
SHAPE = (2, 3, 4, 7)


def traced(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    return trace(function, [TensorSpec(shape) for shape in shapes])


def points(x: Any) -> Any:
    return tw.conv2d(x, FILTERS)


def test_pixels_of_pointwise_convolutions() -> None:
    graph = traced(lambda x, r: tw.relu(points(x)) + r, SHAPE, (2, 5, 4, 7))
    merged, joined = with_merged_arguments(graph)
    verify(merged)
    assert joined == {graph.inputs[0]: (2,), graph.inputs[1]: (2,), graph.outputs[0]: (2,)}
    assert [merged.tensor(name).shape for name in (*merged.inputs, *merged.outputs)] == [(2, 3, 28), (2, 5, 28), (2, 5, 28)]
    rng = np.random.default_rng(2)
    values = {name: rng.standard_normal(graph.tensor(name).shape) for name in graph.inputs}
    flat = {name: value.reshape(*value.shape[:2], -1) for name, value in values.items()}
    expected, found = evaluate(graph, values), evaluate(merged, flat)
    (name,) = graph.outputs
    np.testing.assert_array_equal(found[name].reshape(expected[name].shape), expected[name])


def test_volumes_lose_two_dimensions() -> None:
    graph = traced(lambda x: tw.conv3d(x, FILTERS[..., None]), (2, 3, 4, 5, 6))
    merged, joined = with_merged_arguments(graph)
    assert {name: sorted(dims) for name, dims in joined.items()} == {graph.inputs[0]: [2, 3], graph.outputs[0]: [2, 3]}
    assert merged.tensor(graph.inputs[0]).shape == (2, 3, 120)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tw.conv2d(points(x), WIDE),
        lambda x: (points(x), tw.max_pool(x, 2)),
        lambda x: points(x) + points(x)[:, :, ::-1],
        lambda x: points(x[:, :, :, ::2]),
        lambda x: tw.conv2d(x, FILTERS, stride=2),
        lambda x: tw.conv2d(x, FILTERS, padding=1),
        lambda x: tw.relu(x),
        lambda x: tw.matmul(x, np.ones((7, 2), np.float32)),
        lambda x: tw.sum(x, axis=3),
        lambda x: points(x) - tw.min(points(x), axis=2, keepdims=True),
        lambda x: points(x) - tw.min(points(x), axis=(1, 3), keepdims=True),
    ],
    ids=[
        "windows behind",
        "a pool beside",
        "reversed rows",
        "a slice",
        "steps",
        "padding",
        "a map",
        "rows",
        "sums of rows",
        "columns",
        "rows of all channels",
    ],
)
def test_an_operator_tells_them_apart(function: Callable[..., Any]) -> None:
    graph = traced(function, SHAPE)
    merged, joined = with_merged_arguments(graph)
    assert joined == {}
    assert merged is graph


@pytest.mark.parametrize("axis", [1, 2, 3, (1, 2), (1, 3), (2, 3), (1, 2, 3)])
def test_reductions_of_some_dimensions_of_a_result(axis: int | tuple[int, ...]) -> None:
    """Dimensions become one only where a reduction takes both or neither."""
    x = np.random.default_rng(5).standard_normal((2, *SHAPE), dtype=np.float32)
    vector = np.random.default_rng(6).standard_normal(7, dtype=np.float32)

    @tw.jit
    def less_the_least(x: Any, vector: Any) -> Any:
        y = x @ vector
        return y - tw.min(y, axis=axis, keepdims=True)

    y = x.astype(np.float64) @ vector
    np.testing.assert_allclose(less_the_least(x, vector), y - y.min(axis=axis, keepdims=True), rtol=1e-5, atol=1e-5)


def test_signatures_have_declared_shapes() -> None:
    kernel = tw.jit(points).lower(np.ones(SHAPE, np.float32)).compile()
    (x,), (y,) = kernel._executable.signature.inputs[:1], kernel._executable.signature.outputs
    assert (x.shape, x.unit_stride_dim, x.joined) == (SHAPE, 3, (2,))
    assert (y.shape, y.joined) == ((2, 5, 4, 7), (2,))


steps = st.sampled_from((1, 2, 3, -1, -2))


@given(st.tuples(steps, steps, steps, steps), st.permutations(range(4)), st.tuples(steps, steps, steps, steps))
def test_arrays_of_any_strides(step: tuple[int, ...], order: list[int], out_step: tuple[int, ...]) -> None:
    x, out = strided(SHAPE, step, order), strided((2, 5, 4, 7), out_step, order)
    x[...] = np.random.default_rng(3).standard_normal(SHAPE)
    expected = np.einsum("mc,nchw->nmhw", FILTERS[:, :, 0, 0], x)
    np.testing.assert_allclose(FUNCTION(x, out=out), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        FUNCTION(np.broadcast_to(x[:, :, :1], SHAPE)), np.broadcast_to(expected[:, :, :1], expected.shape), rtol=1e-5, atol=1e-5
    )


FUNCTION = tw.jit(points)


def strided(shape: tuple[int, ...], steps: tuple[int, ...], order: list[int]) -> np.ndarray[Any, Any]:
    """An array whose dimensions lie in memory in an order, and step by these strides."""
    lying = np.zeros([shape[dim] * abs(steps[dim]) for dim in order], np.float32)
    array = lying.transpose(np.argsort(order))
    return array[tuple(slice(None, None, step) for step in steps)]


@pytest.mark.parametrize("shape", [(0, 3, 4, 7), (1, 3, 1, 7), (1, 3, 4, 1), (1, 3, 1, 1)])
def test_extents_of_none_and_one(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).standard_normal(shape, dtype=np.float32)
    np.testing.assert_allclose(FUNCTION(x), np.einsum("mc,nchw->nmhw", FILTERS[:, :, 0, 0], x), rtol=1e-5, atol=1e-5)
