"""AveragePool: the mean of every window, over its elements inside of the input, or of input and padding.

Sums are taken dimension by dimension; how many elements a window has is known for every position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.operators.reduce import REDUCTIONS
from tilewright.graph.operators.windows import Window, window_of, windowed, windows
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(
    x: Any,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """The same by NumPy."""
    window = _window(x.shape, kernel_shape, auto_pad, ceil_mode, dilations, pads, strides)
    computed = np.result_type(x.dtype, np.float32)
    view = windows(x.astype(computed), window, 0)
    sums = view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim)))
    return np.asarray(sums / _counts(window, bool(count_include_pad)), x.dtype)


def lower(
    builder: Builder,
    x: Tensor,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """A sum for every dimension, and a division by the numbers of elements."""
    window = _window(x.shape, kernel_shape, auto_pad, ceil_mode, dilations, pads, strides)
    sums = windowed(builder, x, window, REDUCTIONS["sum"], 0.0)
    counts = _counts(window, bool(count_include_pad))
    if counts.min() == counts.max():
        return builder.body(apply("multiply", Load(0), Literal(1.0 / float(counts.flat[0]))), sums, kind="mean")
    return builder.map("multiply", sums, builder.constant((1.0 / counts).astype(x.dtype), "inverse_counts"))


def _counts(window: Window, with_padding: bool) -> Any:
    """How many elements every window has: inside of the input, or of the input and the padding that was asked for."""
    along = []
    for d in range(window.rank):
        places = np.arange(window.outputs[d])[:, None] * window.strides[d] + np.arange(window.kernel[d]) * window.dilations[d]
        places = places - window.begins[d]
        low = -window.begins[d] if with_padding else 0
        high = window.extents[d] + (window.ends[d] if with_padding else 0)
        along.append(np.maximum(((places >= low) & (places < high)).sum(axis=1), 1))
    return reduce(np.multiply.outer, along).astype(np.float64)


def _window(
    shape: Sequence[Any],
    kernel_shape: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Window:
    if len(shape) < 3 or len(kernel_shape) != len(shape) - 2 or prod(kernel_shape) < 1:
        raise ShapeError(f"AveragePool of {shape_text(shape)} with kernel_shape {tuple(kernel_shape)}", where="AveragePool")
    return window_of(
        shape[2:],
        kernel_shape,
        where="AveragePool",
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=bool(ceil_mode),
    )


define("AveragePool", meaning, lower)
