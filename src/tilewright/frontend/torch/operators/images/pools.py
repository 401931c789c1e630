"""Pools: the largest element of every window and where it lies, and means of windows.

ATen's kernels take the first of equal elements, and the last NaN (`aten/src/ATen/native/cpu/MaxPoolKernel.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.registry import lowers
from tilewright.frontend.torch.windows import as_numbers, nothing, per_dimension
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_elements import WindowElements
from tilewright.graph.builders.convolutions.window_means import element_counts, lowest, pooled, pooled_mean
from tilewright.graph.builders.convolutions.windows import PaddedWindow, Taps, Window, windows_over
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.builders.reshape import gather
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Extent, Operator, Tensor, planned_extent

_IS_NAN = apply("isnan", Load(0))
_NUMBER = apply("where", apply("less", Load(0), Literal(0.0)), apply("subtract", Literal(-1.0), Load(0)), Load(0))
"""Of a NaN, -1 less which was found."""


@lowers(
    "aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default", "aten.mkldnn_max_pool2d.default",
    "aten.mkldnn_max_pool3d.default", "aten.quantized_max_pool2d.default",
)  # fmt: skip
def max_pool(call: Call) -> Tensor:
    """The largest element of every window."""
    x, window = _image_and_windows(call)
    return _largest(call.builder, x, window)


@lowers(
    "aten.max_pool1d_with_indices.default",
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default",
)
def max_pool_with_indices(call: Call) -> tuple[Tensor, Tensor | None]:
    """The largest element of every window, and its number among those of its plane, row by row."""
    x, window = _image_and_windows(call)
    largest = _largest(call.builder, x, window)
    return largest, _places(call, x, largest, window) if call.results[1].is_used else None


def _image_and_windows(call: Call) -> tuple[Tensor, Window | PaddedWindow]:
    """Windows move along the last dimensions."""
    x = call.tensor("self")
    kernel = as_numbers(call, "kernel_size")
    rank = _rank(call)
    kernel = per_dimension(kernel, rank)
    strides = per_dimension(as_numbers(call, "stride") or kernel, rank)
    dilations = per_dimension(as_numbers(call, "dilation"), rank) if call.has("dilation") else (1,) * rank
    sides = per_dimension(as_numbers(call, "padding"), rank)
    if 0 in x.shape:
        raise call.refuse("a tensor without elements")
    window = windows_over(x.shape[-rank:], Taps(kernel, strides, dilations), (sides, sides), ceil_mode=bool(call["ceil_mode"]))
    if isinstance(window, Window) and min(window.outputs) < 1:
        raise call.refuse("no window fits into the image")
    return x, window


def _rank(call: Call) -> int:
    """How many dimensions windows have, by the operator's name."""
    return int(next(part[-2] for part in call.operator.split("_") if part.endswith("d") and part[-2:-1].isdigit()))


def _largest(builder: Builder, x: Tensor, window: Window | PaddedWindow) -> Tensor:
    rank = len(window.extents)
    return pooled(builder, x, window, REDUCTIONS["max"], lowest(x.dtype), len(x.shape) - rank)


def _places(call: Call, x: Tensor, largest: Tensor, window: Window | PaddedWindow) -> Tensor:
    """The numbers of the largest elements."""
    if not isinstance(window, Window) or prod(window.extents) > LARGEST_WHOLE:
        raise call.refuse("where largest elements lie in images of run-time extents, or very large ones")
    builder = call.builder
    if "float" not in x.dtype:
        x, largest = (call.cast(tensor, "int64") for tensor in (x, largest))
        return builder.record(_found_places, x, largest, window, kind="places")
    place = builder.record(_found_places, x, largest, window, kind="places")
    return call.cast(builder.body(_NUMBER, place, kind="places"), "int64")


def _as_floats(call: Call, x: Tensor) -> Tensor:
    """Integers as floats that are as many."""
    if x.dtype in ("int64", "uint64"):
        raise call.refuse(f"where the largest {x.dtype} lies")
    return call.cast(x, "float64" if x.dtype in ("int32", "uint32") else "float32")


def _found_places(x: Tensor, largest: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The number of the first largest element of every window, a float32, or of int64 such; -1 less the number of the last NaN.

    Two reads say what lies outside of the image: one of floats is NaN there, and the other, which is asked for NaN, is 0;
    those of integers differ.
    """
    is_float, elements = "float" in x.dtype, WindowElements.of(x, largest.shape, window)
    reads = (elements.read(0.0), elements.read(float("nan") if is_float else 1.0), elements.of_window(largest))
    nothing = Literal(float(prod(window.extents)))
    of_nan = apply("where", _IS_NAN, apply("subtract", Literal(-1.0), elements.number), nothing) if is_float else nothing
    is_largest = apply("equal", Load(1), Load(2))
    if elements.limits and not is_float:
        is_largest = apply("logical_and", is_largest, apply("equal", Load(0), Load(1)))
    body = apply("where", is_largest, elements.number, of_nan)
    accumulator, dtype = (x.dtype, x.dtype) if not is_float else ("float64" if x.dtype == "float64" else "float32", "float32")
    return elements.least(body, reads, accumulator, dtype, name=name, result=result)


# Means


@lowers("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(call: Call) -> Tensor:
    """The mean of every window; of integers the quotient without its fraction."""
    if 0 in call.result.shape:
        return nothing(call)
    x, window = _image_and_windows(call)
    dtype, first = wide_type(x.dtype), len(x.shape) - len(window.extents)
    divisor = call["divisor_override"] if call.has("divisor_override") else None
    if divisor is None and "float" in dtype:
        x = call.cast(x, dtype)
        mean = pooled_mean(call.builder, x, window, with_padding=bool(call["count_include_pad"]), first=first)
        return call.cast(mean, call.result.dtype)
    sums = pooled(call.builder, call.cast(x, dtype), window, REDUCTIONS["sum"], 0.0, first)
    return call.cast(_divided(call, sums, window, divisor), call.result.dtype)


def _divided(call: Call, sums: Tensor, window: Window | PaddedWindow, divisor: int | None) -> Tensor:
    """Sums over a number, or integers over the numbers of elements."""
    builder = call.builder
    if "float" in sums.dtype and divisor is not None:
        return builder.body(apply("divide", Load(0), Literal(float(divisor))), sums, kind="mean")
    if not isinstance(window, Window):
        raise call.refuse("a mean of integers over run-time extents")
    if divisor is not None and divisor < 0:
        sums = builder.map("negative", sums)
    counts = (
        np.full((1,) * window.rank, abs(divisor)) if divisor else element_counts(window, with_padding=call["count_include_pad"])
    )
    whole = apply("floor_divide", apply("abs", Load(0)), Load(1))
    quotient = apply("where", apply("less", Load(0), Literal(0.0)), apply("negative", whole), whole)
    return builder.body(quotient, sums, builder.constant(counts.astype(sums.dtype), "counts"), kind="mean")


@lowers(
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten.mkldnn_adaptive_avg_pool2d.default",
)
def adaptive_avg_pool(call: Call) -> Tensor:
    """The mean of as many parts of each of the last dimensions as are asked for; neighbours overlap where they are uneven."""
    dtype, x = wide_type(call.result.dtype), call.tensor("self")
    if 0 in call.result.shape:
        return nothing(call)
    if "float" not in dtype:
        raise call.refuse("means of integers")
    parts, first = _parts(call, x)
    return call.cast(_means(call, call.cast(x, dtype), parts, first), call.result.dtype)


def _means(call: Call, x: Tensor, parts: Sequence[int], first: int) -> Tensor:
    if set(parts) == {1}:
        return call.builder.reduce("mean", x, tuple(range(first, len(x.shape))), keepdims=True)
    window = _even_windows(x.shape[first:], parts)
    if window is not None:
        return pooled_mean(call.builder, x, window, with_padding=False, first=first)
    for d, count in enumerate(parts, first):
        x = _reduced_parts(call, "mean", x, d, count)
    return x


def _parts(call: Call, x: Tensor) -> tuple[tuple[int, ...], int]:
    """How many parts each of the last dimensions has, and which is the first of these."""
    wanted = as_numbers(call, "output_size")
    parts = per_dimension(wanted, _rank(call))
    if 0 in (*x.shape, *parts):
        raise call.refuse("a tensor without elements")
    return parts, len(x.shape) - len(parts)


def _even_windows(extents: Sequence[Extent], parts: Sequence[int]) -> Window | None:
    """Windows side by side, where parts are equal."""
    if not are_known(extents):
        return None
    sizes = tuple(map(planned_extent, extents))
    if any(extent % count for extent, count in zip(sizes, parts, strict=True)):
        return None
    kernel, none = tuple(extent // count for extent, count in zip(sizes, parts, strict=True)), (0,) * len(parts)
    return Window(kernel, kernel, (1,) * len(parts), sizes, none, none, tuple(parts))


def _reduced_parts(call: Call, function: str, x: Tensor, d: int, count: int) -> Tensor:
    """The sum, mean or maximum of parts of a dimension, of any lengths, each of at least one element."""
    if count == 1:
        return call.builder.reduce(function, x, (d,), keepdims=True)
    if x.shape[d] == count:
        return x
    places, lengths = _elements(call, x, d, count)
    builder = call.builder
    elements = builder.record(gather, x, builder.constant(places, "places"), d, kind="gather")
    if function == "max":
        return builder.reduce("max", elements, (d + 1,))
    behind = (1,) * (len(x.shape) - 1 - d)
    is_inside = builder.constant((np.arange(places.shape[1]) < lengths[:, None]).reshape(*places.shape, *behind), "inside")
    inside_only = builder.body(apply("where", Load(1), Load(0), Literal(0.0)), elements, is_inside, dtype=x.dtype, kind="inside")
    counts = builder.constant(lengths.astype(x.dtype).reshape(-1, *behind), "counts")
    return builder.map("divide", builder.reduce("sum", inside_only, (d + 1,)), counts)


def _elements(call: Call, x: Tensor, d: int, count: int) -> tuple[Any, Any]:
    """The positions of the elements of every part, the last one again where a part is shorter than others; the lengths.

    Part n of extent e is from floor(n e / count) on up to ceil((n + 1) e / count)
    (`aten/src/ATen/native/AdaptivePooling.h`).
    """
    extent = x.shape[d]
    if not isinstance(extent, int):
        raise call.refuse("parts of a run-time extent")
    numbers = np.arange(count)
    starts, ends = numbers * extent // count, -(-(numbers + 1) * extent // count)
    places = starts[:, None] + np.arange((ends - starts).max())
    return np.minimum(places, ends[:, None] - 1), ends - starts


@lowers("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(call: Call) -> tuple[Tensor, Tensor | None]:
    """The largest element of every part, and its number among those of its plane, row by row."""
    x = call.tensor("self")
    parts, first = _parts(call, x)
    window = _even_windows(x.shape[first:], parts)
    if window is not None:
        largest = _largest(call.builder, x, window)
        return largest, _places(call, x, largest, window) if call.results[1].is_used else None
    largest = x
    for d, count in enumerate(parts, first):
        largest = _reduced_parts(call, "max", largest, d, count)
    return largest, _places_in_parts(call, x, largest, parts, first) if call.results[1].is_used else None


def _places_in_parts(call: Call, x: Tensor, largest: Tensor, parts: Sequence[int], first: int) -> Tensor:
    """The numbers of the largest elements: those of all parts are compared with these."""
    builder, rank = call.builder, len(parts)
    if not are_known(x.shape[first:]) or prod(map(planned_extent, x.shape[first:])) > LARGEST_WHOLE:
        raise call.refuse("where largest elements lie in images of run-time extents, or very large ones")
    if "float" not in x.dtype:
        x, largest = (_as_floats(call, tensor) for tensor in (x, largest))
    numbers: Any = np.zeros((1,) * (2 * rank))
    elements = x
    for d in reversed(range(rank)):
        places, _ = _elements(call, x, first + d, parts[d])
        elements = builder.record(gather, elements, builder.constant(places, "places"), first + d, kind="gather")
        step = prod(map(planned_extent, x.shape[first + d + 1 :]))
        numbers = numbers + step * places.reshape(*(1,) * (2 * d), *places.shape, *(1,) * (2 * (rank - 1 - d)))
    shape = [extent for d, count in enumerate(parts) for extent in (largest.shape[first + d], 1) if count]
    compared = builder.reshape(largest, (*x.shape[:first], *shape))
    of_nan = apply("where", _IS_NAN, apply("subtract", Literal(-1.0), Load(2)), Literal(float("inf")))
    body = apply("where", apply("equal", Load(0), Load(1)), Load(2), of_nan)
    candidates = builder.body(body, elements, compared, builder.constant(numbers.astype(np.float32), "numbers"), dtype="float32")
    place = builder.reduce("min", candidates, tuple(first + 2 * d + 1 for d in range(rank)))
    return call.cast(builder.body(_NUMBER, place, kind="places"), "int64")
