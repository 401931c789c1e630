"""Convolution of integers less their zero points, summed in 32 bits, or in 64: one operator.

    y[n, g M + m, o] = sum of (x[n, g C + c, o * stride + k * dilation - begin] - x_zero) * (w[g M + m, c, k] - w_zero[g M + m])

What lies outside of the image stands for 0, which is x_zero: the image's guard gives that number where it is known. An image
whose zero point is known at run time only is padded first, by a copy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.run_time_windows import PaddedWindow
from tilewright.graph.builders.convolutions.windows import RunTimeWindow, Window
from tilewright.graph.builders.pad import RunTimePads, pad_lengths
from tilewright.graph.index import constant
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Guard, Operator, Tensor

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

    >>> window = Window((5,), (3,), strides=(2,), dilations=(1,), begins=(1,), ends=(1,), outputs=(3,))
    >>> x, w, zero = Tensor("x", (1, 8, 5), "uint8"), Tensor("w", (4, 8, 3), "int8"), Tensor("z", (), "uint8")
    >>> operator, y = integer_convolution(x, w, window, 1, zero, outside=128.0, name="conv", result="y")
    >>> y, len(operator.reads), operator.reads[0].guard.otherwise
    (Tensor(name='y', shape=(1, 4, 3), dtype='int32'), 3, 128.0)
    """
    operator, output = convolution(x, w, window, group, name=name, result=result)
    image, weights = operator.reads
    if image.guard is not None:
        image = replace(image, guard=Guard(image.guard.constraints, outside))
    reads, factors = [image, weights], list[Scalar]()
    zeros = (_zero_read(x_zero, 1, x, image), _zero_read(w_zero, w.shape[0], w, weights))
    for place, zero in enumerate(zeros):
        factors.append(Load(place) if zero is None else apply("subtract", Load(place), Load(len(reads))))
        reads += [] if zero is None else [zero]
    body = apply("multiply", *factors)
    return replace(operator, reads=tuple(reads), body=body, accumulator=dtype), replace(output, dtype=dtype)


def _zero_read(zero: Tensor | None, filters: object, tensor: Tensor, read: Access) -> Access | None:
    """The zero point that belongs to an element: of the tensor, or of its filter."""
    if zero is None:
        return None
    if zero.shape in ((), (1,)):
        return Access(zero.name, (constant(0),) * len(zero.shape))
    if zero.shape != (filters,):
        text = f"a zero point of shape {shape_text(zero.shape)} for an operand of {shape_text(tensor.shape)}"
        raise ShapeError(text, where="integer convolution", why="there is one of the image, and one of all filters or of each")
    return Access(zero.name, read.indices[:1])


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
    >>> window = Window((5,), (3,), strides=(1,), dilations=(1,), begins=(1,), ends=(1,), outputs=(5,))
    >>> padded_integer_convolution(builder, x, w, window, 1, z).shape, [operator.kind for operator in builder.operators]
    ((1, 4, 5), ['cast', 'pad', 'map', 'conv'])
    """
    zeros = tuple(None if zero is None or is_known_as_0(builder, zero) else zero for zero in (x_zero, w_zero))
    outside = _known(builder, zeros[0])
    if isinstance(window, Window) and outside is not None:
        return builder.record(integer_convolution, x, w, window, group, *zeros, outside, kind="conv", dtype=dtype)
    image, inside = _padded(builder, x, window, zeros[0], outside)
    return builder.record(integer_convolution, image, w, inside, group, *zeros, kind="conv", dtype=dtype)


def is_known_as_0(builder: Builder, zero: Tensor) -> bool:
    """Whether a zero point is a constant without other numbers than 0.

    >>> is_known_as_0(builder := Builder("f"), builder.constant(np.zeros(3, np.int8)))
    True
    """
    return zero.name in builder.known and not np.any(builder.known[zero.name])


def _known(builder: Builder, zero: Tensor | None) -> float | None:
    """The number of a zero point; None where it is known at run time only."""
    if zero is None:
        return 0.0
    return float(builder.known[zero.name].reshape(())) if zero.name in builder.known else None


def _padded(
    builder: Builder, x: Tensor, window: Window | PaddedWindow, zero: Tensor | None, outside: float | None
) -> tuple[Tensor, Window | RunTimeWindow]:
    """A copy of the image with its padding, and the windows over it."""
    if isinstance(window, Window):
        along = range(window.rank)
        sides = [(window.begins[d], max(window.seen(d) - window.begins[d] - window.extents[d], 0)) for d in along]
        seen = tuple(extent + before + behind for extent, (before, behind) in zip(window.extents, sides, strict=True))
        none = (0,) * window.rank
        inside: Window | RunTimeWindow = replace(window, extents=seen, begins=none, ends=none)
        pads: RunTimePads = ((0, 0), (0, 0), *sides)
    else:
        pads, inside = ((0, 0), (0, 0), *zip(window.begins, window.ends, strict=True)), window.window
    if not any(side != 0 for pad in pads for side in pad):
        return x, inside
    if outside is not None or zero is None:
        return pad_lengths(builder, x, pads, outside or 0.0), inside
    return _around(builder, x, pads, zero), inside


def _around(builder: Builder, x: Tensor, pads: RunTimePads, zero: Tensor) -> Tensor:
    """The image with its zero point around it: a number that no byte is stands for it first."""
    marked = pad_lengths(builder, builder.cast(x, "int16"), pads, OUTSIDE)
    is_outside = apply("equal", Load(0), Literal(OUTSIDE))
    return builder.body(apply("where", is_outside, Load(1), Load(0)), marked, builder.reshape(zero, ()), dtype=x.dtype)
