"""Convolution: y[n, g M + m, o] = sum of x[n, g C + c, o * stride + k * dilation - pad] * w[g M + m, c, k].

It is recorded as contractions that the matrix micro kernels compute, by what the windows are like:

- pointwise: a product of matrices over all pixels at once;
- windows that move by one: over the rows of the padded image laid one behind the other. Column p of the product is the pixel p
  of that line, and tap k sees the pixel p + k Q, with Q pixels from row to row of the padded image: sums at the ends of rows are
  left out afterwards (A. Anderson, A. Vasudevan, C. Keane, D. Gregg, "Low-memory GEMM-based convolution algorithms for deep
  neural networks", arXiv:1709.03395, 2017);
- one channel in and few taps: a map, the sum of the taps' products;
- all others: the windows are copied, one column each (K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural
  Networks for Document Processing", IWFHR 2006), and the product is one of matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.windows import Window, inside, position
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Extent, Guard, Operator, Tensor

FEW_CHANNELS = 8
"""Below so many input channels windows are copied: the product's depth would be no more than them."""
MOST_TAPS = 32
"""Up to so many taps a convolution of one channel is one map."""


def convolved(builder: Builder, x: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    """The sums of products, without a bias."""
    channels = w.shape[1]
    if window.is_pointwise():
        return _pointwise(builder, x, w, window, group)
    if channels == 1 and prod(window.kernel) <= MOST_TAPS:
        return builder.record(_taps, _padded(builder, x, window), w, window, group, kind="conv")
    if set(window.strides) <= {1} and isinstance(channels, int) and channels >= FEW_CHANNELS:
        return _shifted(builder, x, w, window, group)
    columns = builder.record(_unfolded, x, window, kind="unfold")
    taps = builder.reshape(w, (w.shape[0], prod(w.shape[1:])))  # type: ignore[arg-type]
    sums = builder.record(product, columns, taps, group, kind="conv")
    return builder.reshape(sums, (*sums.shape[:2], *window.outputs))


def _pointwise(builder: Builder, x: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    pixels = builder.reshape(x, (*x.shape[:2], prod(window.extents)))
    filters = builder.reshape(w, w.shape[:2])
    sums = builder.record(product, pixels, filters, group, kind="conv")
    return builder.reshape(sums, (*sums.shape[:2], *window.outputs))


def _shifted(builder: Builder, x: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    seen = tuple(window.seen(d) for d in range(window.rank))
    padded = _padded(builder, x, window)
    line = builder.reshape(padded, (*padded.shape[:2], prod(seen)))
    sums = builder.record(_over_line, line, w, window, group, kind="conv")
    return builder.record(_without_row_ends, sums, window, kind="crop")


def product(x: Tensor, w: Tensor, group: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """y[n, m, p] = sum over k of w[m, k] x[n, k, p], for every group of channels."""
    filters, depth = w.shape
    assert isinstance(filters, int)
    extents = {"n": x.shape[0], "g": group, "m": filters // group, "p": x.shape[2], "c": depth}
    left = Access(w.name, (_grouped("m", group, filters // group), axis_index("c")))
    right = Access(x.name, (axis_index("n"), _grouped("c", group, depth), axis_index("p")))
    return _contraction(extents, ("c",), (right, left), (x.shape[0], filters, x.shape[2]), group, x.dtype, name, result)


def _over_line(x: Tensor, w: Tensor, window: Window, group: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """y[n, m, p] = sum over c, k of w[m, c, k] x[n, c, p + k Q], where rows lie one behind the other."""
    filters, depth, *kernel = w.shape
    assert isinstance(filters, int)
    taps = {f"k{d}": extent for d, extent in enumerate(kernel)}
    steps = _steps(tuple(window.seen(d) for d in range(window.rank)))
    length = 1 + sum((o - 1) * step for o, step in zip(window.outputs, steps, strict=True))
    moved = axis_index("p")
    for d, step in enumerate(steps):
        moved = moved + axis_index(f"k{d}") * (step * window.dilations[d])
    extents = {"n": x.shape[0], "g": group, "m": filters // group, "p": length, "c": depth, **taps}
    left = Access(w.name, (_grouped("m", group, filters // group), axis_index("c"), *map(axis_index, taps)))
    right = Access(x.name, (axis_index("n"), _grouped("c", group, depth), moved))
    return _contraction(extents, ("c", *taps), (right, left), (x.shape[0], filters, length), group, x.dtype, name, result)


def _grouped(axis: str, group: int, extent: Extent) -> Index:
    """An axis inside every group; one of a single point in each group does not exist."""
    assert isinstance(extent, int)
    if group == 1:
        return axis_index(axis)
    return axis_index("g") * extent + axis_index(axis) if extent > 1 else axis_index("g")


def _contraction(
    extents: Mapping[str, Extent],
    reduced: Sequence[str],
    reads: tuple[Access, ...],
    shape: tuple[Extent, ...],
    group: int,
    dtype: str,
    name: str,
    result: str,
) -> tuple[Operator, Tensor]:
    kinds = {axis: AxisKind.REDUCTION if axis in reduced else AxisKind.PARALLEL for axis in extents}
    single = {"g"} if group == 1 else {axis for axis in ("m", "c") if extents[axis] == 1}
    if {"c"} <= single and len(reduced) == 1:
        single -= {"c"}
    axes = tuple(Axis(axis, extent, kinds[axis]) for axis, extent in extents.items() if axis not in single)
    write = Access(result, (axis_index("n"), _grouped("m", group, extents["m"]), axis_index("p")))
    body = apply("multiply", Load(0), Load(1))
    return Operator(name, "conv", axes, reads, write, body, SUM, accumulator_of(dtype)), Tensor(result, shape, dtype)


def _steps(extents: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours along every dimension of rows that lie one behind the other."""
    return tuple(prod(extents[d + 1 :]) for d in range(len(extents)))


def _without_row_ends(sums: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The pixels of the output out of those of the padded image."""
    shape = (*sums.shape[:2], *window.outputs)
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    pixel = constant(0)
    for d, step in enumerate(_steps(tuple(window.seen(d) for d in range(window.rank)))):
        pixel = pixel + axis_index(f"d{d + 2}") * (step if window.outputs[d] > 1 else 0)
    read = Access(sums.name, (axis_index("d0"), axis_index("d1"), pixel))
    write = Access(result, tuple(axis_index(axis.name) for axis in axes))
    return Operator(name, "crop", axes, (read,), write, Load(0), accumulator=accumulator_of(sums.dtype)), Tensor(
        result, shape, sums.dtype
    )


def _padded(builder: Builder, x: Tensor, window: Window) -> Tensor:
    """What all windows see; the input itself if that is all of it and no more."""
    exact = all(window.begins[d] == 0 and window.seen(d) == window.extents[d] for d in range(window.rank))
    return x if exact else builder.record(_pad, x, window, kind="pad")


def _pad(x: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    shape = (*x.shape[:2], *(window.seen(d) for d in range(window.rank)))
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    indices, constraints = [axis_index("d0"), axis_index("d1")], list[Index]()
    for d in range(window.rank):
        index = axis_index(f"d{d + 2}") - constant(window.begins[d])
        indices.append(index)
        constraints += inside(index, window.extents[d], {f"d{d + 2}": window.seen(d)})
    read = Access(x.name, tuple(indices), Guard(tuple(constraints), 0.0) if constraints else None)
    write = Access(result, tuple(axis_index(axis.name) for axis in axes))
    return Operator(name, "pad", axes, (read,), write, Load(0), accumulator=accumulator_of(x.dtype)), Tensor(
        result, shape, x.dtype
    )


def _unfolded(x: Tensor, window: Window, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """One column for every window: t[n, (c, k), o], rows by channel and tap."""
    rank, channels = window.rank, x.shape[1]
    assert isinstance(channels, int)
    whole = {"c": channels}
    whole |= {f"k{d}": window.kernel[d] for d in range(rank)} | {f"o{d}": window.outputs[d] for d in range(rank)}
    place = {axis: axis_index(axis) if extent > 1 else constant(0) for axis, extent in whole.items()}
    indices, constraints = [axis_index("n"), place["c"]], list[Index]()
    for d in range(rank):
        index = position(window, d, place[f"o{d}"], place[f"k{d}"])
        indices.append(index)
        constraints += inside(index, window.extents[d], whole)
    row = _digits([("c", channels), *((f"k{d}", window.kernel[d]) for d in range(rank))])
    column = _digits([(f"o{d}", window.outputs[d]) for d in range(rank)])
    read = Access(x.name, tuple(indices), Guard(tuple(constraints), 0.0) if constraints else None)
    write = Access(result, (axis_index("n"), row, column))
    shape = (x.shape[0], channels * prod(window.kernel), prod(window.outputs))
    axes = (Axis("n", x.shape[0]), *(Axis(axis, extent) for axis, extent in whole.items() if extent > 1))
    return Operator(name, "unfold", axes, (read,), write, Load(0), accumulator=accumulator_of(x.dtype)), Tensor(
        result, shape, x.dtype
    )


def _digits(extents: Sequence[tuple[str, int]]) -> Index:
    """The number whose digits are axes, the last one changing fastest."""
    number = constant(0)
    for axis, extent in extents:
        number = number * extent + (axis_index(axis) if extent > 1 else constant(0))
    return number


def _taps(x: Tensor, w: Tensor, window: Window, group: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The sum of the products of all taps, for filters of one channel; `x` is what all windows see."""
    filters = w.shape[0]
    assert isinstance(filters, int)
    extents = {"n": x.shape[0], "g": group, "m": filters // group, **{f"o{d}": e for d, e in enumerate(window.outputs)}}
    channel = axis_index("g")
    out = axis_index("g") if filters == group else axis_index("g") * (filters // group) + axis_index("m")
    image, weights = [], []
    for tap in np.ndindex(*window.kernel):
        moved = (axis_index(f"o{d}") * window.strides[d] + constant(k * window.dilations[d]) for d, k in enumerate(tap))
        image.append(Access(x.name, (axis_index("n"), channel, *moved)))
        weights.append(Access(w.name, (out, constant(0), *map(constant, tap))))
    products: list[Scalar] = [apply("multiply", Load(i), Load(len(image) + i)) for i in range(len(image))]
    body = products[0]
    for product in products[1:]:
        body = apply("add", body, product)
    axes = tuple(Axis(axis, extent) for axis, extent in extents.items() if axis != "m" or filters > group)
    shape = (x.shape[0], filters, *window.outputs)
    write = Access(result, (axis_index("n"), out, *(axis_index(f"o{d}") for d in range(window.rank))))
    operator = Operator(name, "conv", axes, (*image, *weights), write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)
