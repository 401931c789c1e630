"""LRN, local response normalization: y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta.

A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", NIPS 2012, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.operators.reduce import REDUCTIONS
from tilewright.graph.operators.windows import Window, window_of, window_reduction, windows
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(x: Any, *, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0, size: int = 1) -> Any:
    """The same by NumPy."""
    data = np.moveaxis(x.astype(np.result_type(x.dtype, np.float32)), 1, -1)
    sums = windows(np.square(data), _window(x.shape, size), 0).sum(axis=-1)
    return np.asarray(np.moveaxis(data / (bias + alpha / size * sums) ** beta, -1, 1), x.dtype)


def lower(builder: Builder, x: Tensor, *, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0, size: int = 1) -> Tensor:
    """A map, a sum over windows of channels, and a map."""
    squares = builder.map("square", x)
    window = _window(x.shape, size)
    sums = builder.record(window_reduction, squares, 1, window, REDUCTIONS["sum"], 0.0, kind="window")
    base = apply("add", apply("multiply", Load(1), Literal(alpha / size)), Literal(bias))
    factor = apply("exp", apply("multiply", apply("log", base), Literal(-beta)))
    return builder.body(apply("multiply", Load(0), factor), x, sums, kind="lrn")


def _window(shape: Sequence[Any], size: int) -> Window:
    if len(shape) < 2 or size < 1:
        raise ShapeError(f"LRN of {shape_text(shape)} over {size} channels", where="LRN")
    return window_of((shape[1],), (size,), where="LRN", pads=((size - 1) // 2, size // 2))


define("LRN", meaning, lower)
