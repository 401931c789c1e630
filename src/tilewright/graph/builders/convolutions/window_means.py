"""Pools: the largest element, or another reduction, of every window, and means.

Means are those of the elements inside of the image, or of image and padding. Sums are taken dimension by dimension; how many
elements a window has is known for every position, or, where extents are known at run time only, counted for every position.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.windows import PaddedWindow, RunTimeWindow, Window, windowed
from tilewright.graph.builders.elementwise import REDUCTIONS, accumulator_of
from tilewright.graph.expressions.extents import Extent, largest_extent, least_extent, minus, plus, times
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply, fold, scalar_of
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction, Tensor


def pooled(
    builder: Builder, x: Tensor, window: Window | PaddedWindow, reduction: Reduction, otherwise: float, first: int
) -> Tensor:
    """A reduction of every window, dimension by dimension from `first` on; padding is `otherwise`."""
    if isinstance(window, Window):
        return windowed(builder, x, window, reduction, otherwise, first)
    image = window.padded(builder, x, range(first, first + window.window.rank), otherwise)
    return windowed(builder, image, window.window, reduction, otherwise, first)


def pooled_mean(builder: Builder, x: Tensor, window: Window | PaddedWindow, *, with_padding: bool, first: int) -> Tensor:
    """The mean of every window; windows move along dimensions from `first` on."""
    if isinstance(window, Window):
        return windowed_mean(builder, x, window, with_padding=with_padding, first=first)
    return run_time_mean(builder, x, window, with_padding=with_padding, first=first)


def lowest(dtype: str) -> float:
    """What no element of a type is below.

    >>> lowest("int8"), lowest("float32")
    (-128.0, -inf)
    """
    return float(np.iinfo(dtype).min) if np.dtype(dtype).kind in "iu" else float("-inf")


def windowed_mean(builder: Builder, x: Tensor, window: Window, *, with_padding: bool, first: int) -> Tensor:
    """A sum for every dimension, and a division by the numbers of elements; windows move along dimensions from `first` on.

    >>> builder = Builder("f")
    >>> pairs = Window((2,), extents=(4,), strides=(2,), dilations=(1,), begins=(0,), ends=(0,), outputs=(2,))
    >>> windowed_mean(builder, builder.input("x", (3, 4), "float32"), pairs, with_padding=False, first=1).shape
    (3, 2)
    """
    sums = windowed(builder, x, window, REDUCTIONS["sum"], 0.0, first)
    counts = element_counts(window, with_padding=with_padding)
    if len(np.unique(counts)) <= 1:
        return builder.body(apply("divide", Load(0), Literal(float(counts.max(initial=1)))), sums, kind="mean")
    shaped = counts.astype(x.dtype).reshape(*counts.shape, *(1,) * (len(x.shape) - first - window.rank))
    return builder.map("divide", sums, builder.constant(shaped, "counts"))


def run_time_mean(builder: Builder, x: Tensor, given: PaddedWindow, *, with_padding: bool, first: int) -> Tensor:
    """The same over dimensions known at run time; what stands out behind the padding never counts.

    Windows that lie inside of what counts have as many elements as taps.
    """
    window = given.window
    sums = pooled(builder, x, given, REDUCTIONS["sum"], 0.0, first)
    limits = [_limits(given, d, with_padding=with_padding) for d in range(window.rank)]
    taps = prod(k for k, found in zip(window.kernel, limits, strict=True) if found is None)
    if not any(limits):
        return builder.body(apply("divide", Load(0), Literal(float(taps))), sums, kind="mean")
    counts = [
        builder.reshape(
            builder.record(_run_time_counts, window, d, found, x.dtype, kind="counts"),
            (window.outputs[d], *(1,) * (len(x.shape) - 1 - first - d)),
        )
        for d, found in enumerate(limits)
        if found is not None
    ]
    count = reduce(lambda left, right: builder.map("multiply", left, right), counts)
    elements = apply("maximum", apply("multiply", Load(0), Literal(float(taps))), Literal(1.0))
    return builder.map("divide", sums, builder.body(elements, count, kind="counts"))


def _limits(given: PaddedWindow, d: int, *, with_padding: bool) -> tuple[Extent, Extent] | None:
    """From which element of the padded image on, and up to which, elements count; None where all that windows see do."""
    begin, behind = given.begins[d], given.asked[d] if with_padding else 0
    low, high = 0 if with_padding else begin, plus(given.extents[d], begin, behind)
    window = given.window
    seen = plus(times(minus(window.outputs[d], 1), window.strides[d]), (window.kernel[d] - 1) * window.dilations[d] + 1)
    return None if largest_extent(low) <= 0 and least_extent(minus(high, seen)) >= 0 else (low, high)


def _run_time_counts(
    window: RunTimeWindow, d: int, limits: tuple[Extent, Extent], dtype: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """How many of its elements every window has within the limits along a dimension."""
    axes = (Axis("d0", window.outputs[d]), Axis("k", window.kernel[d], AxisKind.REDUCTION))
    steps = (("d0", window.strides[d]), ("k", window.dilations[d]))
    place = fold("add", [apply("multiply", AxisValue(name), Literal(float(step))) for name, step in steps])
    is_behind, is_before = apply("greater_equal", place, scalar_of(limits[0])), apply("less", place, scalar_of(limits[1]))
    body = apply("where", apply("logical_and", is_behind, is_before), Literal(1.0), Literal(0.0))
    write, accumulator = Access(result, (axis("d0"),)), accumulator_of(dtype)
    operator = Operator(name, "counts", axes, (), write, body, REDUCTIONS["sum"], accumulator)
    return operator, Tensor(result, (window.outputs[d],), dtype)


def element_counts(window: Window, *, with_padding: bool) -> Any:
    """How many elements every window has: inside of the input, or of the input and the padding that was asked for."""
    along = []
    for d in range(window.rank):
        places = np.arange(window.outputs[d])[:, None] * window.strides[d] + np.arange(window.kernel[d]) * window.dilations[d]
        places = places - window.begins[d]
        low = -window.begins[d] if with_padding else 0
        high = window.extents[d] + (window.ends[d] if with_padding else 0)
        along.append(np.maximum(((places >= low) & (places < high)).sum(axis=1), 1))
    return reduce(np.multiply.outer, along).astype(np.float64)
