"""Convolutions of floats and of integers.

Convolution: y[n, g M + m, o] = sum of x[n, g C + c, o * stride + k * dilation - begin] * w[g M + m, c, k].

It is one operator; what lies outside of the image is 0 by a guard. How it is computed is planning's matter, which reads roles
and windows back off the index maps (`plan/algorithms/padded_image.py`).

Convolution of integers less their zero points, summed in 32 bits, or in 64: one operator.

    y[n, g M + m, o] = sum of (x[n, g C + c, o * stride + k * dilation - begin] - x_zero) * (w[g M + m, c, k] - w_zero[g M + m])

What lies outside of the image stands for 0, which is x_zero: the image's guard gives that number where it is known. An image
whose zero point is known at run time only is padded first, by a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.windows import PaddedWindow, RunTimeWindow, Window, inside, position
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.zero_points import with_zero_points, zero_read
from tilewright.graph.expressions.index import Index, constant, of_extent
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Extent, Guard, Operator, Tensor, planned_extent

T = TypeVar("T")


class Layouts(NamedTuple):
    """Where the dimensions of the three tensors lie: dimension d of NC... (of OI... for filters) is dimension `places[d]`."""

    image: tuple[int, ...]
    filters: tuple[int, ...]
    result: tuple[int, ...]


def convolution(
    x: Tensor, w: Tensor, window: Window | RunTimeWindow, group: int, layouts: Layouts | None = None, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The sums of products, without a bias: axes of batch (n), groups (g), filters (m), outputs (o), channels (c), and taps (k).

    Without `layouts` the tensors are NC..., OI... and NC....

    >>> window = Window((3,), extents=(5,), strides=(2,), dilations=(1,), begins=(1,), ends=(1,), outputs=(3,))
    >>> x, w = Tensor("x", (1, 8, 5)), Tensor("w", (4, 8, 3))
    >>> operator, y = convolution(x, w, window, 1, name="conv", result="y")
    >>> y.shape, str(operator.reads[0].indices[2]), [str(limit) for limit in operator.reads[0].guard.constraints]
    ((1, 4, 3), 'k0 + 2*o0 + -1', ['k0 + 2*o0 + -1', '-1*k0 + -2*o0 + 5'])
    """
    layouts = layouts or Layouts(*(tuple(range(window.rank + 2)),) * 3)
    filters, channels = (planned_extent(w.shape[place]) for place in layouts.filters[:2])
    batch = x.shape[layouts.image[0]]
    parallel: dict[str, Extent] = {"n": batch, "g": group, "m": filters // group}
    parallel |= {f"o{d}": extent for d, extent in enumerate(window.outputs)}
    reduced = {"c": channels, **{f"k{d}": extent for d, extent in enumerate(window.kernel)}}
    unwritten = {"g"} if group == 1 else {"m"} if filters == group else set[str]()
    single = {axis for axis, extent in reduced.items() if extent == 1} - ({"c"} if set(reduced.values()) == {1} else set())
    place = {axis: constant(0) if axis in unwritten | single else axis_index(axis) for axis in (*parallel, *reduced)}
    channel, row = place["g"] * channels + place["c"], place["g"] * (filters // group) + place["m"]
    image = Access(x.name, _put((place["n"], channel, *_positions(window, place)), layouts.image), _guard(window, place))
    weights = Access(w.name, _put((row, place["c"], *(place[f"k{d}"] for d in range(window.rank))), layouts.filters))
    write = Access(result, _put((place["n"], row, *(place[f"o{d}"] for d in range(window.rank))), layouts.result))
    axes = [Axis(axis, extent) for axis, extent in parallel.items() if axis not in unwritten]
    axes += [Axis(axis, extent, AxisKind.REDUCTION) for axis, extent in reduced.items() if axis not in single]
    operator = Operator(name, "conv", tuple(axes), (image, weights), write, PRODUCT, SUM, accumulator_of(x.dtype))
    return operator, Tensor(result, _put((batch, filters, *window.outputs), layouts.result), x.dtype)


def _put(parts: Sequence[T], places: Sequence[int]) -> tuple[T, ...]:
    """Part d at place `places[d]`."""
    return tuple(parts[places.index(place)] for place in range(len(parts)))


def _positions(window: Window | RunTimeWindow, place: dict[str, Index]) -> list[Index]:
    return [position(window, d, place[f"o{d}"], place[f"k{d}"]) for d in range(window.rank)]


def _guard(window: Window | RunTimeWindow, place: dict[str, Index]) -> Guard | None:
    """Where the windows stand on the image; None where they always do."""
    positions = _positions(window, place)
    if isinstance(window, RunTimeWindow):
        limits = [index for index, begin in zip(positions, window.begins, strict=True) if begin]
        limits += [of_extent(end) - 1 - index for index, end in zip(positions, window.ends, strict=True) if end is not None]
    else:
        sizes = {f"o{d}": o for d, o in enumerate(window.outputs)} | {f"k{d}": k for d, k in enumerate(window.kernel)}
        pairs = zip(positions, window.extents, strict=True)
        limits = [limit for index, extent in pairs for limit in inside(index, extent, sizes)]
    return Guard(tuple(limits), 0.0) if limits else None


def convolved(
    builder: Builder,
    x: Tensor,
    w: Tensor,
    window: Window | PaddedWindow,
    group: int,
    layouts: Layouts | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """The convolution over an image of any extents, with a bias for every filter.

    Of run-time extents, filters of one channel read the image in its place, others a padded copy.

    >>> from tilewright.graph.builders.convolutions.windows import Taps, windows_over
    >>> from tilewright.graph.types import SymbolicExtent
    >>> s, builder = SymbolicExtent("s", 1, 9, 9), Builder("f")
    >>> x, w = builder.input("x", (1, 8, s), "float32"), builder.input("w", (8, 1, 3), "float32")
    >>> convolved(builder, x, w, windows_over((s,), Taps((3,), (1,), (1,)), ((1,), (1,))), 8).shape[2] == s
    True
    """
    layouts = layouts or Layouts(*(tuple(range(len(x.shape))),) * 3)
    seen: Window | RunTimeWindow | PaddedWindow = window
    if isinstance(window, PaddedWindow):
        guarded = window.guarded() if group > 1 and w.shape[layouts.filters[1]] == 1 else None
        x = x if guarded else window.padded(builder, x, layouts.image[2:], 0.0)
        seen = guarded or window.window
    y = builder.record(convolution, x, w, seen, group, layouts, kind="conv")
    return y if bias is None else biased(builder, y, bias, layouts.result[1])


def biased(builder: Builder, y: Tensor, bias: Tensor, place: int) -> Tensor:
    """The sums and a number for every index of a dimension."""
    return builder.map("add", y, builder.reshape(bias, (bias.shape[0], *(1,) * (len(y.shape) - 1 - place))))


OUTSIDE = -1000.0
"""No byte."""


def integer_convolution(
    x: Tensor,
    w: Tensor,
    window: Window | RunTimeWindow,
    group: int,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    outside: float = 0.0,
    *,
    name: str,
    result: str,
    dtype: str = "int32",
) -> tuple[Operator, Tensor]:
    """The sums in int32, which wraps, or int64.

    `x_zero` is one number, `w_zero` one or one for every filter; `outside` is that of `x_zero`.
    Raises `ShapeError` for zero points of other shapes.

    >>> window = Window((3,), extents=(5,), strides=(2,), dilations=(1,), begins=(1,), ends=(1,), outputs=(3,))
    >>> x, w, zero = Tensor("x", (1, 8, 5), "uint8"), Tensor("w", (4, 8, 3), "int8"), Tensor("z", (), "uint8")
    >>> operator, y = integer_convolution(x, w, window, 1, zero, outside=128.0, name="conv", result="y")
    >>> y, len(operator.reads), operator.reads[0].guard.otherwise
    (Tensor(name='y', shape=(1, 4, 3), dtype='int32'), 3, 128.0)
    """
    operator, output = convolution(x, w, window, group, name=name, result=result)
    image, weights = operator.reads
    if image.guard is not None:
        image = replace(image, guard=Guard(image.guard.constraints, outside))
    operator = replace(operator, reads=(image, weights))
    zeros = zero_read(operator, 0, x, x_zero, len(x.shape)), zero_read(operator, 1, w, w_zero, 0)
    return with_zero_points(operator, zeros, dtype), replace(output, dtype=dtype)


def padded_integer_convolution(
    builder: Builder,
    x: Tensor,
    w: Tensor,
    window: Window | PaddedWindow,
    group: int,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    dtype: str = "int32",
) -> Tensor:
    """The same, of an image that is padded as its windows say: zero points that are known as 0 are left out.

    >>> builder = Builder("f")
    >>> x, w, z = builder.input("x", (1, 8, 5), "uint8"), builder.input("w", (4, 8, 3), "int8"), builder.input("z", (), "uint8")
    >>> window = Window((3,), extents=(5,), strides=(1,), dilations=(1,), begins=(1,), ends=(1,), outputs=(5,))
    >>> padded_integer_convolution(builder, x, w, window, 1, z).shape, [operator.kind for operator in builder.operators]
    ((1, 4, 5), ['cast', 'pad', 'map', 'conv'])
    """
    zeros = tuple(None if zero is None or is_known_as_0(builder, zero) else zero for zero in (x_zero, w_zero))
    outside = _known_zero(builder, zeros[0])
    if isinstance(window, Window) and outside is not None:
        return builder.record(integer_convolution, x, w, window, group, *zeros, outside, kind="conv", dtype=dtype)
    padded = window.padded_image() if isinstance(window, Window) else window
    image = _padded(builder, x, padded, zeros[0], outside)
    return builder.record(integer_convolution, image, w, padded.window, group, *zeros, kind="conv", dtype=dtype)


def is_known_as_0(builder: Builder, zero: Tensor) -> bool:
    """Whether a zero point is a constant without other numbers than 0.

    >>> is_known_as_0(builder := Builder("f"), builder.constant(np.zeros(3, np.int8)))
    True
    """
    return zero.name in builder.known and not np.any(builder.known[zero.name])


def _known_zero(builder: Builder, zero: Tensor | None) -> float | None:
    """The number of a zero point; None where it is known at run time only."""
    if zero is None:
        return 0.0
    return float(builder.known[zero.name].reshape(())) if zero.name in builder.known else None


def _padded(builder: Builder, x: Tensor, window: PaddedWindow, zero: Tensor | None, outside: float | None) -> Tensor:
    """The image with its zero point around it: a number that no byte is stands for it first, where it is not known."""
    spatial = range(2, len(x.shape))
    if not any(side != 0 for side in (*window.begins, *window.ends)):
        return x
    if outside is not None or zero is None:
        return window.padded(builder, x, spatial, outside or 0.0)
    marked = window.padded(builder, builder.cast(x, "int16"), spatial, OUTSIDE)
    is_outside = apply("equal", Load(0), Literal(OUTSIDE))
    return builder.body(apply("where", is_outside, Load(1), Load(0)), marked, builder.reshape(zero, ()), dtype=x.dtype)
