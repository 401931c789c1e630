"""Pools: the mean, the p-norm and the largest element of every window or channel, where that lies, and MaxUnpool.

The p-norm is y = (sum |x|^p)^(1/p). The maximum over a window is taken dimension by dimension: along rows of the image, whole
vectors are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, define, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.nn.sliding import Pooling, taps_of, windows
from tilewright.frontend.onnx.operators.operands import total
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_elements import WindowElements
from tilewright.graph.builders.convolutions.window_means import element_counts, lowest, pooled, pooled_mean
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Operator, Tensor
from tilewright.records import record


@onnx_operator("AveragePool")
class AveragePool(Pooling):
    """The mean of every window."""

    count_include_pad: int = 0

    def reference(self, x: Any) -> Any:
        window = self.window(x.shape, "AveragePool")
        view = windows(x.astype(np.result_type(x.dtype, np.float32)), window, 0)
        sums = view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim)))
        return np.asarray(sums / element_counts(window, with_padding=bool(self.count_include_pad)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A sum for every dimension, and a division by the numbers of elements."""
        window = self.pools(x.shape, "AveragePool")
        return pooled_mean(builder, x, window, with_padding=bool(self.count_include_pad), first=2)


@onnx_operator("LpPool")
class LpPool(Pooling):
    """The p-norm of every window."""

    p: int = 2

    def reference(self, x: Any) -> Any:
        window = self.window(x.shape, "LpPool")
        view = windows(_powers(x, self.p), window, 0)
        return np.asarray(view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim))) ** (1 / self.p), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum for every dimension, and a map."""
        powers = builder.body(_power(self.p), x, kind="power")
        sums = pooled(builder, powers, self.pools(x.shape, "LpPool"), REDUCTIONS["sum"], 0.0, 2)
        return builder.body(_root(self.p), sums, kind="root")


@onnx_operator("GlobalLpPool")
class GlobalLpPool(SchemaAttributes):
    """The p-norm of every channel."""

    def reference(self, x: Any) -> Any:
        return np.asarray(_powers(x, self.p).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / self.p), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum and a map."""
        powers = builder.body(_power(self.p), x, kind="power")
        sums = builder.reduce("sum", powers, tuple(range(2, len(x.shape))), keepdims=True)
        return builder.body(_root(self.p), sums, kind="root")


def _powers(x: Any, p: int) -> Any:
    return np.abs(x.astype(np.result_type(x.dtype, np.float32))) ** p


def _power(p: int) -> Scalar:
    """|x|^p."""
    size = apply("abs", Load(0))
    result: Scalar = size
    for _ in range(p - 1):
        result = apply("multiply", result, size)
    return apply("square", Load(0)) if p == 2 else result


def _root(p: int) -> Scalar:
    """x^(1/p) for x >= 0, which gives whole numbers for powers of such."""
    if p <= 2:
        return Load(0) if p == 1 else apply("sqrt", Load(0))
    return apply("pow", Load(0), Literal(1.0 / p))


@record
class GlobalPool:
    """A reduction of every channel."""

    function: str
    """`mean` or `max`."""
    has_channels_last: bool = False

    def reference(self, x: Any) -> Any:
        computed = x.astype(np.float32) if x.dtype == np.float16 else x
        return np.asarray(getattr(computed, self.function)(axis=self._axes(x.ndim), keepdims=True), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        if len(x.shape) < 3:
            text = f"a global pool of {shape_text(x.shape)}"
            raise ShapeError(text, where=self.function, why="there are no spatial dimensions")
        return builder.reduce(self.function, x, self._axes(len(x.shape)), keepdims=True)

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(range(1, rank - 1) if self.has_channels_last else range(2, rank))


@onnx_function("MaxUnpool", since=9)
def max_unpool(x: Any, positions: Any, output_shape: Any = None, *, kernel_shape: Any, pads: Any, strides: Any) -> Any:
    """Positions count in the pooled tensor's shape, whatever shape is asked for."""
    rank = len(kernel_shape)
    if x.ndim != rank + 2 or positions.shape != x.shape:
        raise ShapeError(f"MaxUnpool of {shape_text(x.shape)} with positions of {shape_text(positions.shape)}", where="MaxUnpool")
    steps, cut = tuple(strides or (1,) * rank), tuple(pads or (0,) * (2 * rank))
    spatial = [(x.shape[d + 2] - 1) * steps[d] + kernel_shape[d] - cut[d] - cut[d + rank] for d in range(rank)]
    pooled = (*x.shape[:2], *spatial)
    shape = pooled if output_shape is None else tuple(int(extent) for extent in output_shape)
    if len(shape) != x.ndim or min(shape) < 0 or prod(shape) > MOST_ELEMENTS:
        raise ShapeError(f"MaxUnpool of {shape_text(x.shape)} into {shape_text(shape)}", where="MaxUnpool")
    places = _places(positions, pooled, shape)
    y = np.zeros(shape, x.dtype)
    y[places] = x
    return y


def _places(positions: Any, pooled: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The indices of all positions, checked."""
    where = f"MaxUnpool of {shape_text(pooled)} into {shape_text(shape)}"
    check_positions(positions, prod(pooled), where, least=0)
    places = np.unravel_index(positions, pooled)
    for coordinates, extent in zip(places, shape, strict=True):
        check_positions(coordinates, extent, where, least=0)
    return places


@onnx_operator("MaxPool")
class MaxPool(Pooling):
    """The largest element of every window. Of equal ones the first one counts; positions are those in all of x, flattened."""

    storage_order: int = 0
    output_count: int = 1

    def reference(self, x: Any) -> Any:
        window = self._window(x.shape)
        view = windows(x, window, lowest(x.dtype.name))
        flat = view.reshape(*view.shape[: -window.rank], prod(window.kernel))
        largest = np.asarray(flat.max(axis=-1), x.dtype)
        if self.output_count == 1:
            return largest
        return largest, _positions(x.shape, window, flat, self.storage_order)

    def lower(self, builder: Builder, x: Tensor) -> Any:
        """A reduction for every dimension; positions are the first ones where these are found again."""
        self._check(x.shape)
        if self.output_count == 1:
            return pooled(builder, x, self.pools(x.shape, "MaxPool"), REDUCTIONS["max"], lowest(x.dtype), 2)
        window = self._window(x.shape)
        largest = pooled(builder, x, window, REDUCTIONS["max"], lowest(x.dtype), 2)
        channels = x.shape[1]
        if prod(window.extents) > LARGEST_WHOLE or not isinstance(channels, int):
            raise UnsupportedOperation(f"MaxPool with positions in {channels} images of {window.extents}", where="MaxPool")
        place = builder.cast(builder.record(_first_places, x, largest, window, kind="places"), "int64")
        return largest, builder.body(_numbered(window, channels, self.storage_order), place, kind="positions")

    def _window(self, shape: Sequence[Extent]) -> Window:
        self._check(shape)
        return self.window(shape, "MaxPool")

    def _check(self, shape: Sequence[Extent]) -> None:
        """Raises `ShapeError` where a window sees padding only."""
        rank = len(shape) - 2
        begins = tuple(self.pads or ())[:rank] if self.auto_pad == "NOTSET" else ()
        spans = taps_of(rank, self.kernel_shape, self.strides, self.dilations, "MaxPool").spans()
        if any(begin >= span for begin, span in zip(begins, spans, strict=False)) or 0 in shape[2:]:
            text = f"MaxPool of {shape_text(shape)} with pads {self.pads}"
            raise ShapeError(text, where="MaxPool", why="a window sees padding only")


def _positions(shape: tuple[int, ...], window: Window, flat: Any, storage_order: int) -> Any:
    """Where the largest element of every window lies; the order of storage is that of rows, or with 1 that of columns."""
    rank = window.rank
    inside = windows(np.ones(shape, bool), window, False).reshape(flat.shape)
    is_largest = (flat == flat.max(axis=-1, keepdims=True)) & inside
    taps = np.unravel_index(is_largest.argmax(axis=-1), window.kernel)
    extents = shape[2:]
    steps = [prod(extents[d + 1 :]) if storage_order == 0 else prod(extents[:d]) for d in range(rank)]
    planes = np.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *(1,) * rank) * prod(extents)
    place = planes
    for d in range(rank):
        outputs = np.arange(window.outputs[d]).reshape(-1, *(1,) * (rank - 1 - d))
        coordinate = outputs * window.strides[d] + taps[d] * window.dilations[d] - window.begins[d]
        place = place + coordinate * steps[d]
    return np.asarray(place, np.int64)


def _first_places(x: Tensor, largest: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where in an image the largest element of a window stands first: a float32, which numbers the elements by rows."""
    elements = WindowElements.of(x, largest.shape, window)
    reads = (elements.read(float("nan")), elements.of_window(largest))
    body = apply("where", apply("equal", Load(0), Load(1)), elements.number, Literal(float(prod(window.extents))))
    accumulator = "float64" if x.dtype == "float64" else "float32"
    return elements.least(body, reads, accumulator, "float32", name=name, result=result)


def _numbered(window: Window, channels: int, storage_order: int) -> Scalar:
    """The number of an element among those of all images, from its number among those of its own, by rows."""
    place: Scalar = Load(0)
    if storage_order:
        parts: list[Scalar] = []
        for d, extent in enumerate(window.extents):
            row = apply("floor_divide", place, Literal(float(prod(window.extents[d + 1 :]))))
            coordinate = apply("mod", row, Literal(float(extent)))
            parts.append(apply("multiply", coordinate, Literal(float(prod(window.extents[:d])))))
        place = total(parts)
    image = apply("add", apply("multiply", AxisValue("d0"), Literal(float(channels))), AxisValue("d1"))
    return apply("add", apply("multiply", image, Literal(float(prod(window.extents)))), place)


define("GlobalAveragePool", GlobalPool, "mean")
define("GlobalMaxPool", GlobalPool, "max")
