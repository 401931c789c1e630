"""Means of windows: over the elements inside of the image, or over those of image and padding.

Sums are taken dimension by dimension; how many elements a window has is known for every position.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.windows import RunTimeWindow, Window, windowed
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor


def windowed_mean(builder: Builder, x: Tensor, window: Window, *, with_padding: bool, first: int | None = None) -> Tensor:
    """A sum for every dimension, and a division by the numbers of elements; windows move along dimensions from `first` on.

    >>> builder = Builder("f")
    >>> pairs = Window((4,), (2,), strides=(2,), dilations=(1,), begins=(0,), ends=(0,), outputs=(2,))
    >>> windowed_mean(builder, builder.input("x", (3, 4), "float32"), pairs, with_padding=False).shape
    (3, 2)
    """
    first = len(x.shape) - window.rank if first is None else first
    sums = windowed(builder, x, window, REDUCTIONS["sum"], 0.0, first)
    counts = element_counts(window, with_padding=with_padding)
    if len(np.unique(counts)) <= 1:
        return builder.body(apply("multiply", Load(0), Literal(1.0 / float(counts.max(initial=1)))), sums, kind="mean")
    inverse = (1.0 / counts).astype(x.dtype).reshape(*counts.shape, *(1,) * (len(x.shape) - first - window.rank))
    return builder.map("multiply", sums, builder.constant(inverse, "inverse_counts"))


def run_time_mean(builder: Builder, x: Tensor, window: RunTimeWindow, first: int) -> Tensor:
    """The mean of windows that all lie inside of dimensions known at run time only."""
    sums = windowed(builder, x, window, REDUCTIONS["sum"], 0.0, first)
    return builder.body(apply("multiply", Load(0), Literal(1.0 / prod(window.kernel))), sums, kind="mean")


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
