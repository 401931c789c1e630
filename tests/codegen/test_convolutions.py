"""Convolutions and pools by generated code are those by NumPy in float64, for ragged shapes; no other memory is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.guarded import GuardedMemory, in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.precision import Precision

EPS = float(np.finfo(np.float32).eps)
Floats = np.ndarray[Any, Any]


def normal(*shape: int) -> Floats:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(graph: Graph, operands: list[Floats]) -> Floats:
    """The only output, with every input at the end of its memory."""
    return built(graph)(operands)


def built(graph: Graph) -> Callable[[list[Floats]], Floats]:
    """The same for any operands."""
    executable, constants = loading.load(
        generated(graph, Precision.FLOAT32),
        graph,
        Machine.detect(),
        threads=1,
        strict=lambda: generated(graph, Precision.STRICT),
    )

    def run_with(operands: list[Floats]) -> Floats:
        inputs = [*operands, *constants]
        outputs = executable.new_outputs(inputs)
        executable.run([at_end(value) for value in inputs], outputs)
        return outputs[0]

    return run_with


def generated(graph: Graph, precision: Precision) -> Artifact:
    return compiler.generate(compiler.plan(graph, Machine.detect(), precision=precision))


def at_end(value: Floats) -> Floats:
    place = GuardedMemory(max(value.nbytes, 4)).place(value.size, at_end=True, dtype=value.dtype).reshape(value.shape)
    place[...] = value
    return place


def check(name: str, operands: list[Floats], constants: bool, around: bool, options: dict[str, Any]) -> None:
    """Compare with NumPy; with `around`, between maps that work on required regions."""
    convolution = operator(name, 21, **options)
    builder = Builder(name)
    x = builder.input("x", operands[0].shape, "float32")
    others = [
        builder.constant(one) if constants else builder.input(f"w{i}", one.shape, "float32") for i, one in enumerate(operands[1:])
    ]
    y = convolution.lower(builder, builder.map("abs", x) if around else x, *others)
    y = builder.map("negative", y) if around else y
    result = run(builder.graph((y.name,)), operands[: 1 if constants else None])
    image = np.abs(operands[0]) if around else operands[0]
    exact, size = (
        convolution.reference(*(change(one.astype(np.float64)) for one in (image, *operands[1:])))
        for change in (np.array, np.abs)
    )
    depth = 4 + (0 if len(operands) == 1 else operands[1][0].size)
    assert result.shape == exact.shape
    assert np.all(np.abs(result - exact * (-1 if around else 1)) <= depth * EPS * (np.abs(size) + 1))


CONVOLUTIONS = {
    "a point": ((1, 5, 7, 9), (6, 5, 1, 1), {}),
    "slides": ((2, 9, 7, 5), (17, 9, 3, 3), {"pads": (1, 1, 1, 1)}),
    "slides unevenly": ((1, 8, 6, 13), (3, 8, 2, 5), {"pads": (0, 3, 2, 1)}),
    "dilated": ((1, 8, 11, 11), (5, 8, 3, 3), {"dilations": (2, 3), "auto_pad": "SAME_LOWER"}),
    "strided": ((2, 9, 17, 7), (4, 9, 3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 2)}),
    "few channels": ((1, 3, 23, 19), (8, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}),
    "one pixel": ((1, 16, 1, 1), (16, 16, 3, 3), {"pads": (1, 1, 1, 1)}),
    "groups": ((1, 18, 5, 6), (6, 9, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    "few channels in groups": ((2, 6, 5, 6), (9, 2, 3, 3), {"group": 3}),
    "by channel": ((1, 7, 9, 21), (7, 1, 3, 3), {"group": 7, "pads": (1, 1, 1, 1)}),
    "by channel, strided, several": ((1, 3, 9, 40), (6, 1, 3, 3), {"group": 3, "pads": (1, 1, 1, 1), "strides": (2, 2)}),
    "by channel, wide": ((1, 3, 12, 12), (3, 1, 7, 7), {"group": 3, "pads": (3, 3, 3, 3)}),
    "a row": ((2, 8, 31), (3, 8, 4), {"pads": (2, 1)}),
    "a volume": ((1, 8, 4, 5, 6), (3, 8, 2, 3, 3), {"pads": (0, 1, 1, 1, 1, 1)}),
    "an empty batch": ((0, 8, 4, 4), (3, 8, 3, 3), {}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str):
    x, w, options = CONVOLUTIONS[name]
    in_child(check, "Conv", [normal(*x), normal(*w), normal(w[0])], True, True, options)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_any_convolution(data: st.DataObject):
    group, channels, filters = (data.draw(st.integers(1, most)) for most in (3, 9, 5))
    size, kernel = (data.draw(st.tuples(st.integers(3, most), st.integers(3, most))) for most in (20, 3))
    strides, dilations = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))), data.draw(st.sampled_from([(1, 1), (2, 1)]))
    pads = data.draw(st.tuples(*[st.integers(2, 4)] * 4))
    operands = [normal(1, group * channels, *size), normal(group * filters, channels, *kernel)]
    options = {"group": group, "strides": strides, "dilations": dilations, "pads": pads}
    in_child(check, "Conv", operands, data.draw(st.booleans()), data.draw(st.booleans()), options)


TRANSPOSED = {
    "side by side": ((1, 9, 5, 7), (9, 4, 2, 2), {"strides": (2, 2)}),
    "overlapping": ((1, 9, 5, 7), (9, 4, 3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}),
    "groups": ((2, 6, 4, 5), (6, 2, 3, 3), {"group": 2, "dilations": (2, 1)}),
    "rows of two phases": ((1, 5, 3, 37), (5, 3, 4, 4), {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "phases without taps, and results cut off": ((1, 3, 3, 20), (3, 2, 2, 2), {"strides": (3, 4), "pads": (0, 1, 1, 0)}),
    "taps apart": ((1, 3, 18), (3, 4, 5), {"strides": (4,), "dilations": (2,), "output_padding": (3,)}),
    "a few filters, whose phases see different taps": (
        (2, 17, 6, 9),
        (17, 2, 5, 3),
        {"strides": (2, 2), "pads": (2, 1, 1, 0), "dilations": (1, 3)},
    ),
    "a signal": ((1, 9, 7), (9, 1, 24), {"strides": (10,)}),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions(name: str):
    x, w, options = TRANSPOSED[name]
    in_child(check, "ConvTranspose", [normal(*x), normal(*w)], True, True, options)


POOLS = {
    "largest": ("MaxPool", {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "largest, dilated": ("MaxPool", {"kernel_shape": (2, 3), "dilations": (3, 2), "ceil_mode": 1}),
    "mean": ("AveragePool", {"kernel_shape": (3, 2), "pads": (1, 0, 1, 1)}),
    "mean with padding": (
        "AveragePool",
        {"kernel_shape": (5, 5), "strides": (3, 3), "pads": (2, 2, 2, 2), "count_include_pad": 1},
    ),
    "norm": ("LpPool", {"kernel_shape": (3, 3), "strides": (1, 2), "p": 2}),
    "all": ("GlobalAveragePool", {}),
    "channels": ("LRN", {"size": 3}),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("size", [(7, 7), (13, 37)])
def test_pools(name: str, size: tuple[int, int]):
    operator, options = POOLS[name]
    in_child(check, operator, [normal(2, 3, *size)], True, True, options)
