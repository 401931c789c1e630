"""Products of dequantised bytes as products of integers: what they give, and where they stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.integer_products import IntegerProducts
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Constant, Graph, Tensor
from tilewright.graph.verifier import verify

SCALED = apply("multiply", apply("subtract", Load(0), Load(2)), Load(1))
UNCENTRED = apply("multiply", Load(0), Load(1))
MOST_STEPS = 65793
"""The most for which 255 * 128 each fit into int32."""


def dequantised(builder: Builder, x: Tensor, scale: Any, zero: Any = None) -> Tensor:
    """As DequantizeLinear is recorded."""
    parameters = [builder.constant(np.asarray(scale, np.float32))]
    if zero is not None:
        parameters.append(builder.constant(np.asarray(zero, x.dtype)))
    return builder.body(UNCENTRED if zero is None else SCALED, x, *parameters, dtype="float32", kind="dequantize")


def product(steps: int = 8, scale: Any = 0.5, zero: Any = 3, types: tuple[str, str] = ("uint8", "int8")) -> Graph:
    """(2, steps) by (steps, 3), of which the left has this scale and zero point."""
    builder = Builder("f")
    left, right = builder.input("a", (2, steps), types[0]), builder.input("b", (steps, 3), types[1])
    result = builder.matmul(dequantised(builder, left, scale, zero), dequantised(builder, right, [[0.25, 0.5, 2.0]]))
    return builder.graph((result.name,))


def rewritten(graph: Graph) -> Graph:
    after = graph
    for step in (FoldIndexMaps(), IntegerProducts(), DeadCode()):
        after = step.run(after)
        verify(after)
    return after


def sums_integers(graph: Graph) -> bool:
    return any(operator.reduction is not None and operator.accumulator == "int32" for operator in rewritten(graph).operators)


@given(
    st.sampled_from([("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]),
    st.integers(2, 40),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_integers_give_the_product(types: tuple[str, str], steps: int, of_rows: bool, transposed: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    limits = [np.iinfo(dtype) for dtype in types]
    values = [
        generator.choice([limit.min, limit.max, int(generator.integers(limit.min, limit.max))], shape).astype(dtype)
        for limit, shape, dtype in zip(limits, ((2, steps), (3, steps) if transposed else (steps, 3)), types, strict=True)
    ]
    zeros = [generator.integers(limit.min, limit.max, endpoint=True, size=(2, 1) if of_rows else ()) for limit in limits]
    builder = Builder("f")
    left, right = (builder.input(name, array.shape, array.dtype.name) for name, array in zip("ab", values, strict=True))
    wide = [dequantised(builder, left, [[0.5], [0.01]] if of_rows else 0.3, zeros[0])]
    last = dequantised(builder, right, 0.07, zeros[1] if np.ndim(zeros[1]) == 0 else zeros[1][0, 0])
    wide.append(builder.transpose(last, (1, 0)) if transposed else last)
    graph = builder.graph((builder.matmul(*wide).name,))
    assert sums_integers(graph)
    inputs = dict(zip("ab", values, strict=True))
    got, expected = (next(iter(evaluate(g, inputs).values())) for g in (rewritten(graph), _in_float64(graph)))
    np.testing.assert_allclose(got, expected, rtol=4e-7)


def _in_float64(graph: Graph) -> Graph:
    """The same graph, computed in float64 from constants that are the same numbers."""
    operators = tuple(replace(operator, accumulator="float64") for operator in graph.operators)
    tensors = tuple(replace(t, dtype="float64") if t.dtype == "float32" else t for t in graph.tensors)
    constants = tuple(
        (name, Constant(c.array.astype(np.float64)) if c.array.dtype == np.float32 else c) for name, c in graph.constants
    )
    return replace(graph, operators=operators, tensors=tensors, constants=constants)


@pytest.mark.parametrize(
    ("graph", "is_integer"),
    [
        (product(), True),
        (product(zero=None, steps=MOST_STEPS), True),
        (product(zero=None, steps=MOST_STEPS + 1), False),  # 255 * 128 * 65794 leaves int32
        (product(scale=np.inf), False),
        (product(scale=np.nan), False),
        (product(scale=0.0), False),
        (product(scale=1e-38), False),  # times 0.25 it is denormal
        (product(scale=1e36), False),  # sums overflow
        (product(scale=np.full((1, 8), 0.5)), False),  # another scale at every step
        (product(zero=np.arange(8)[None, :]), False),  # another zero point at every step
        (product(types=("int16", "int8")), False),
    ],
)
def test_where_it_is_legal(graph: Graph, is_integer: bool) -> None:
    assert sums_integers(graph) == is_integer


def test_halves_that_are_rounded_stay_in_front() -> None:
    builder = Builder("f")
    a, b = builder.input("a", (2, 8), "uint8"), builder.input("b", (8, 3), "int8")
    scale = builder.constant(np.float32(0.3))
    half = builder.body(UNCENTRED, a, scale, dtype="float16", accumulator="float32", kind="dequantize")
    graph = builder.graph((builder.matmul(builder.cast(half, "float32"), dequantised(builder, b, 0.5)).name,))
    assert not sums_integers(graph)


def test_scales_that_are_arguments_stay_in_front() -> None:
    builder = Builder("f")
    a, b, scale = builder.input("a", (2, 8), "uint8"), builder.input("b", (8, 3), "int8"), builder.input("s", (), "float32")
    wide = builder.body(UNCENTRED, a, scale, dtype="float32", kind="dequantize")
    graph = builder.graph((builder.matmul(wide, dequantised(builder, b, 0.5)).name,))
    assert not sums_integers(graph)


@pytest.mark.parametrize(
    ("groups", "zero", "is_constant", "is_integer"),
    [(1, 7, True, True), (1, None, True, True), (2, 7, True, True), (4, 7, True, False), (1, 7, False, False)],
)
def test_padded_images(groups: int, zero: int | None, is_constant: bool, is_integer: bool) -> None:
    """Legal where the zero point is known; left alone where each filter sees one channel."""
    builder = Builder("f")
    x, w = builder.input("x", (1, 4, 5, 5), "uint8"), builder.input("w", (4, 4 // groups, 3, 3), "int8")
    window = Window((3, 3), extents=(5, 5), strides=(1, 1), dilations=(1, 1), begins=(1, 1), ends=(1, 1), outputs=(5, 5))
    image = dequantised(builder, x, 0.5, zero)
    if not is_constant:
        parameters = builder.constant(np.float32(0.5)), builder.input("zero", (), "uint8")
        image = builder.body(SCALED, x, *parameters, dtype="float32", kind="dequantize")
    result = builder.record(convolution, image, dequantised(builder, w, 0.25), window, groups, kind="conv")
    graph = builder.graph((result.name,))
    assert sums_integers(graph) == is_integer
    random = np.random.default_rng(0)
    inputs = {name: random.integers(0, 120, graph.tensor(name).shape).astype(graph.tensor(name).dtype) for name in graph.inputs}
    got, expected = (next(iter(evaluate(g, inputs).values())) for g in (rewritten(graph), graph))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(("taps", "is_whole"), [(16, True), (24, False)])
def test_filters_of_one_channel_are_whole_numbers_in_float32(taps: int, is_whole: bool) -> None:
    """As long as float32 holds every sum: 256 taps of 255 times 128 each, and not 576."""
    builder = Builder("f")
    x, w = builder.input("x", (1, 3, taps, taps + 1), "uint8"), builder.constant(np.full((3, 1, taps, taps), -128, np.int8))
    window = Window((taps, taps), (1, 1), (1, 1), (taps, taps + 1), (0, 0), (0, 0), outputs=(1, 2))
    image, filters = dequantised(builder, x, 0.3), dequantised(builder, w, 0.7)
    graph = builder.graph((builder.record(convolution, image, filters, window, 3, kind="conv").name,))
    after = rewritten(graph)
    assert any("round" in operator.functions() for operator in after.operators) == is_whole
    assert not sums_integers(graph)
    inputs = {"x": np.random.default_rng(0).integers(200, 256, (1, 3, taps, taps + 1)).astype(np.uint8)}
    got, expected = (next(iter(evaluate(g, inputs).values())) for g in (after, _in_float64(graph)))
    np.testing.assert_allclose(got, expected, rtol=3e-7 if is_whole else 1e-4)
