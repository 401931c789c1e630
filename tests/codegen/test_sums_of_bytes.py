"""Filters of one channel over images of bytes, compiled: exactly the sums of integers, for any windows, at the end of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.test_convolutions import run
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import Layouts, convolution
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.machine import Machine

Array = np.ndarray[Any, Any]
LAST = (0, 3, 1, 2)
"""Where batch, channels, height and width of NHWC are among NCHW."""
SCALES = (0.5, 0.25, 2.0)
"""Of image, filters and result: powers of two, of which no product rounds."""


def quantised(x: tuple[int, ...], w: Array, window: dict[str, Any], zeros: tuple[int, int, int], dtype: str, last: bool) -> Graph:
    """A depthwise convolution between DequantizeLinear and QuantizeLinear."""
    builder, (batch, channels, height, width) = Builder("depthwise"), x
    image = builder.input("x", (batch, height, width, channels) if last else x, dtype)
    floats = _dequantised(builder, image, SCALES[0], zeros[0])
    filters = _dequantised(builder, builder.constant(w), SCALES[1], zeros[1])
    known = window_of(x[2:], w.shape[2:], where="Conv", **window)
    layouts = [Layouts(LAST, (0, 1, 2, 3), LAST)] if last else []
    y = builder.record(convolution, floats, filters, known, channels, *layouts, kind="conv")
    limits = np.iinfo(dtype)
    steps: Scalar = apply("add", apply("round", apply("divide", Load(0), Literal(SCALES[2]))), Literal(float(zeros[2])))
    steps = apply("minimum", apply("maximum", steps, Literal(float(limits.min))), Literal(float(limits.max)))
    y = builder.body(steps, y, dtype=dtype, accumulator="float32", kind="quantize")
    return builder.graph((y.name,))


def _dequantised(builder: Builder, number: Any, scale: float, zero: int) -> Any:
    body = apply("multiply", apply("subtract", Load(0), Load(2)), Load(1))
    parameters = builder.constant(np.float32(scale)), builder.constant(np.asarray(zero, number.dtype))
    return builder.body(body, number, *parameters, dtype="float32", kind="dequantize")


def bytes_of(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Half of them at the ends of the type."""
    random, limits = np.random.default_rng(seed), np.iinfo(dtype)
    ends = random.choice([limits.min, limits.max], shape)
    return np.where(random.random(shape) < 0.5, ends, random.integers(limits.min, limits.max, shape)).astype(dtype)


def check(graph: Graph, x: Array) -> None:
    """Compiled, the bytes are those of sums in float64, which are exact; the sums read the image of bytes themselves."""
    plan = compiler.plan(graph, Machine.detect())
    sums = [operator for chain in plan.plans for operator in chain.chain.operators if operator.reduction is not None]
    bindings = [chain.operator_plan(one.name).leaf for chain in plan.plans for one in chain.chain.operators if one in sums]
    assert [binding is not None and binding.windows != () for binding in bindings] == [True]
    assert [chain.chain.tensor(one.reads[0].tensor).dtype for chain, one in zip(plan.plans, sums, strict=True)] == [x.dtype.name]
    (wanted,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_array_equal(run(graph, [x]), wanted)


CASES: dict[str, tuple[tuple[int, ...], tuple[int, int], dict[str, Any]]] = {
    "3x3": ((2, 24, 5, 56), (3, 3), {"pads": (1, 1, 1, 1)}),
    "a lane more": ((1, 17, 9, 20), (3, 3), {"pads": (1, 1, 1, 1)}),
    "5x5 by two": ((1, 20, 13, 15), (5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 2)}),
    "by two, below and right": ((1, 3, 28, 28), (3, 3), {"pads": (0, 0, 1, 1), "strides": (2, 2)}),
    "short rows": ((1, 9, 7, 7), (3, 3), {"pads": (1, 1, 1, 1)}),
    "very short rows": ((1, 5, 6, 4), (3, 3), {"pads": (1, 1, 1, 1)}),
    "no padding": ((1, 2, 9, 33), (3, 4), {}),
    "dilated": ((1, 2, 17, 23), (3, 3), {"pads": (2, 4, 2, 4), "dilations": (2, 4)}),
}
LAST_TOO = ("3x3", "a lane more", "5x5 by two")


@pytest.mark.parametrize(("name", "last"), [*((name, False) for name in CASES), *((name, True) for name in LAST_TOO)])
def test_sums_of_bytes(name: str, last: bool) -> None:
    shape, kernel, window = CASES[name]
    dtype, zeros = ("uint8", (131, 0, 7)) if len(name) % 2 else ("int8", (0, -3, -128))
    w = bytes_of(1, (shape[1], 1, *kernel), "int8")
    graph = quantised(shape, w, window, zeros, dtype, last)
    in_child(check, graph, bytes_of(2, graph.tensor("x").shape, dtype))
