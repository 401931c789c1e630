"""Graphs for each leaf: an operator that it takes for every number of elements along its lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from tests.support.algorithms import forced
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.block.leaf_binding import LeafBinding
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad
from tilewright.graph.builders.convolutions.convolution import Layouts, convolution
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Graph, Tensor
from tilewright.leaves.declaration import Problem
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan

MACHINE = Machine.detect()
LANES = MACHINE.vector_bits // 32
EXTENTS = (1, LANES - 1, LANES, LANES + 1, 149)
"""Along the lanes of a leaf: around a vector, and a prime number of some vectors."""
WINDOWS: tuple[tuple[tuple[int, int], dict[str, tuple[int, ...]]], ...] = (
    ((3, 3), {"pads": (1, 1, 1, 1)}),
    ((2, 5), {"pads": (1, 2, 0, 2), "strides": (2, 2)}),
)
LAST = (0, 3, 1, 2)
"""Where batch, channels, height and width of NHWC are among NCHW."""

EXACT = ("float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
CONVERTED = ("float64", "float32", "float16", "bfloat16", "bool", "int8", "uint16", "int32", "uint32", "int64", "uint64")

Adding = Callable[[Builder, str, int], Tensor]
"""Adds an operator with so many elements along the lanes, whose inputs have this suffix."""


def _windows_along_columns(kernel: tuple[int, int], window: Mapping[str, Any]) -> Adding:
    def add(builder: Builder, suffix: str, extent: int) -> Tensor:
        width = extent * window.get("strides", (1, 1))[1]
        image = builder.input(f"x{suffix}", (1, 3, 5, width), "float32")
        weights = builder.input(f"w{suffix}", (3, 1, *kernel), "float32")
        return builder.record(convolution, image, weights, window_of((5, width), kernel, where="Conv", **window), 3, kind="conv")

    return add


def _windows_of_volumes(kernel: tuple[int, int, int], window: Mapping[str, Any]) -> Adding:
    def add(builder: Builder, suffix: str, extent: int) -> Tensor:
        points = (3, 5, extent * window.get("strides", (1, 1, 1))[2])
        image = builder.input(f"x{suffix}", (1, 2, *points), "float32")
        weights = builder.input(f"w{suffix}", (2, 1, *kernel), "float32")
        return builder.record(convolution, image, weights, window_of(points, kernel, where="Conv", **window), 2, kind="conv")

    return add


def _windows_of_channels(kernel: tuple[int, int], window: Mapping[str, Any]) -> Adding:
    def add(builder: Builder, suffix: str, channels: int) -> Tensor:
        image = builder.input(f"x{suffix}", (1, 5, 9, channels), "float32")
        weights = builder.constant(np.random.default_rng(0).standard_normal((channels, 1, *kernel)).astype("f4"))
        known, layouts = window_of((5, 9), kernel, where="Conv", **window), Layouts(LAST, (0, 1, 2, 3), LAST)
        return builder.record(convolution, image, weights, known, channels, layouts, kind="conv")

    return add


def _windows_of_filters(kernel: tuple[int, int], window: Mapping[str, Any]) -> Adding:
    """A vector more than asked for: few filters do not fill one."""

    def add(builder: Builder, suffix: str, filters: int) -> Tensor:
        image = builder.input(f"x{suffix}", (1, 3, 5, 19), "float32")
        weights = builder.constant(np.random.default_rng(0).standard_normal((filters + LANES, 3, *kernel)).astype("f4"))
        return builder.record(convolution, image, weights, window_of((5, 19), kernel, where="Conv", **window), 1, kind="conv")

    return add


def _packed(rows: int, bits: int, level: int = 0) -> Adding:
    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        random, blocks = np.random.default_rng(0), 3
        numbers = builder.constant(random.integers(0, 256, (columns, blocks, 32 * bits // 8), np.uint8))
        scales = builder.constant(random.uniform(0.5, 1.5, (columns, blocks)).astype("f4"))
        node = operator("MatMulNBits", 1, "com.microsoft", K=70, N=columns, bits=bits, block_size=32, accuracy_level=level)
        return node.lower(builder, builder.input(f"x{suffix}", (rows, 70), "float32"), numbers, scales, None)

    return add


def _exact(dtype: str, function: str) -> Adding:
    """Rows beside one row, and beside a column that lies apart."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        left, right = builder.input(f"x{suffix}", (6, columns), dtype), builder.input(f"y{suffix}", (columns,), dtype)
        column = builder.slice(builder.input(f"z{suffix}", (6, 3), dtype), (slice(None), slice(1, 2)))
        return builder.map("add", builder.map(function, left, right), column)

    return add


def _converted(source: str, dtype: str) -> Adding:
    """Every other element as another type."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x = builder.input(f"x{suffix}", (3, 2 * columns), source)
        return builder.cast(builder.slice(x, (slice(None), slice(None, None, 2))), dtype)

    return add


def _exact_reduction(function: str, dtype: str, axis: int) -> Adding:
    return lambda builder, suffix, columns: builder.reduce(function, builder.input(f"x{suffix}", (6, columns), dtype), (axis,))


def _broadcast(dtype: str) -> Adding:
    """Rows beside one row, one column and their reverse."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x, row = builder.input(f"x{suffix}", (6, columns), dtype), builder.input(f"y{suffix}", (columns,), "float32")
        column = builder.input(f"z{suffix}", (6, 1), "float32")
        backwards = builder.slice(x, (slice(None), slice(None, None, -1)))
        return builder.map("multiply", builder.map("add", builder.cast(backwards, "float32"), row), column)

    return add


def _with_gaps(step: int) -> Adding:
    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x = builder.input(f"x{suffix}", (3, columns * step), "float32")
        return builder.map("exp", builder.map("minimum", builder.slice(x, (slice(None), slice(None, None, step))), 1.0))

    return add


def _looked_up(axis: int) -> Adding:
    """Rows, or elements of each row."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x = builder.input(f"x{suffix}", (7, 9 if axis else columns), "float32")
        positions = np.random.default_rng(0).integers(-7, 7, columns if axis else 5)
        return builder.record(gather, x, builder.constant(positions), axis, kind="gather")

    return add


def _of_other_sign(builder: Builder, suffix: str, columns: int) -> Tensor:
    """Bytes by a constant that they do not hold as they are read."""
    x = builder.input(f"x{suffix}", (3, columns), "int8")
    return builder.body(apply("add", Load(0), Literal(128.0)), x, dtype="uint8", kind="shift")


def _padded(builder: Builder, suffix: str, columns: int) -> Tensor:
    x = builder.input(f"x{suffix}", (3, columns), "float32")
    return builder.record(pad, x, ((1, 0), (2, 3)), 0.5, kind="pad")


def _turned(dtype: str, rows: int, added: str, function: str = "negative") -> Adding:
    """A matrix whose columns become rows, beside another of the type that both are added in."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x, y = builder.input(f"x{suffix}", (columns, rows), dtype), builder.input(f"y{suffix}", (rows, columns), added)
        turned = builder.transpose(x if dtype == added else builder.cast(x, added), (1, 0))
        return builder.map(function, builder.map("subtract", turned, y))

    return add


def _to_planes(dtype: str, channels: int, target: str) -> Adding:
    """Normalised planes of an image of pixels."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x, scale = (
            builder.input(f"x{suffix}", (2, columns, channels), dtype),
            builder.input(f"y{suffix}", (channels, 1, 1), target),
        )
        return builder.map("add", builder.cast(builder.transpose(x, (2, 0, 1)), target), scale)

    return add


def _to_pixels(dtype: str, channels: int, target: str) -> Adding:
    """An image of pixels, from planes."""

    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x = builder.input(f"x{suffix}", (channels, 2, columns), dtype)
        return builder.cast(builder.transpose(builder.map("maximum", x, 1), (1, 2, 0)), target)

    return add


def _reduced(function: str, axis: int, dtype: str = "float32") -> Adding:
    def add(builder: Builder, suffix: str, columns: int) -> Tensor:
        x = builder.input(f"x{suffix}", (6, columns), dtype)
        return builder.reduce(function, builder.cast(x, "float32") if dtype != "float32" else x, (axis,))

    return add


def _softmax(axis: int) -> Adding:
    return lambda builder, suffix, columns: builder.softmax(builder.input(f"x{suffix}", (5, columns), "float32"), axis)


PROBLEMS: dict[str, tuple[str, tuple[Adding, ...]]] = {
    "row streaming": ("sliding sums", tuple(_windows_along_columns(*window) for window in WINDOWS)),
    "channel lanes": ("channel lanes", tuple(_windows_of_channels(*window) for window in WINDOWS)),
    "filter blocks": ("filters in place", tuple(_windows_of_filters(*window) for window in WINDOWS)),
    "packed sums": ("", (_packed(1, 4), _packed(7, 8), _packed(7, 4, level=4), _packed(2, 8, level=4))),
    "transposed maps": (
        "",
        (
            *(_turned(dtype, 9, "float32") for dtype in ("float32", "uint8", "bfloat16", "int32", "int64")),
            *(_turned(dtype, 37, dtype) for dtype in ("float64", "int8", "int16", "int64", "float16")),
            _turned("float32", 37, "float32", "exp"),
        ),
    ),
    "pixel maps": (
        "",
        (
            *(_to_planes("uint8", channels, "float32") for channels in (2, 3, 4)),
            *(_to_planes("int8", channels, "float64") for channels in (3, 4)),
            *(_to_planes(dtype, 3, dtype) for dtype in ("float32", "uint8", "int16", "float64")),
            *(_to_pixels("float32", channels, "uint8") for channels in (2, 3, 4)),
            *(_to_pixels(dtype, 3, dtype) for dtype in ("float32", "uint8", "int64")),
        ),
    ),
    "window tiles": (
        "sliding sums",
        (
            _windows_along_columns((13, 7), {"pads": (6, 3, 6, 3)}),
            _windows_of_volumes((3, 3, 3), {"pads": (1, 1, 1, 1, 1, 1), "strides": (1, 2, 2)}),
        ),
    ),
    "elementwise maps": (
        "",
        (
            *map(_broadcast, ("float32", "float16", "int8", "uint8", "bool")),
            *map(_with_gaps, (2, 3)),
            *map(_looked_up, (0, 1)),
            _padded,
            _of_other_sign,
            *map(_exact, EXACT, ("divide", *("maximum", "multiply", "floor_divide", "mod", "right_shift") * 2)),
            *map(_exact, EXACT[1:], ("multiply", "mod", "left_shift", "minimum", "floor_divide") * 2),
            *map(_converted, CONVERTED, (*CONVERTED[1:], CONVERTED[0])),
            *map(_converted, CONVERTED, (*CONVERTED[4:], *CONVERTED[:4])),
            *(_converted(source, "uint64") for source in CONVERTED[:4]),
        ),
    ),
    "row-wise reductions": (
        "",
        (
            *(_reduced(f, axis) for f in ("sum", "max") for axis in (0, 1)),
            _reduced("sum", 1, "int8"),
            *map(_softmax, (0, 1)),
            *(_exact_reduction(f, dtype, axis) for dtype in EXACT for f, axis in (("sum", 1), ("min", 0), ("max", 1))),
        ),
    ),
}
"""By leaf: the algorithm that makes operators for it, and problems."""


@cache
def planned(leaf: str) -> tuple[Graph, ModelPlan]:
    """All problems of a leaf at all extents, as independent operators of one graph, and its plan."""
    algorithm, problems = PROBLEMS[leaf]
    builder = Builder("contract")
    cases = [(problem, extent) for problem in problems for extent in EXTENTS]
    results = [problem(builder, f"_{number}", extent) for number, (problem, extent) in enumerate(cases)]
    with forced(algorithm) if algorithm else nullcontext():
        graph = builder.graph(tuple(result.name for result in results))
        return graph, compiler.plan(graph, MACHINE)


def bound(leaf: str) -> list[tuple[Problem, LeafBinding]]:
    """The operators that are bound to any leaf in that plan."""
    _, model_plan = planned(leaf)
    tensors = [{tensor.name: tensor for tensor in plan.chain.tensors} for plan in model_plan.plans]
    return [
        (Problem.of(plan.chain.operator(part.operator), known), part.leaf)
        for plan, known in zip(model_plan.plans, tensors, strict=True)
        for part in plan.operators
        if part.leaf is not None
    ]
