"""AveragePool, LpPool, global pools and MaxUnpool.

The p-norm is y = (sum |x|^p)^(1/p), of every window or of every channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Pooling, windows
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_means import element_counts, pooled, pooled_mean
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.positions import check_positions
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalLpPool:
    """The p-norm of every channel."""

    p: int = 2

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


@dataclass(frozen=True, slots=True)
class GlobalPool:
    """A reduction of every channel."""

    function: str
    """`mean` or `max`."""

    def reference(self, x: Any) -> Any:
        computed = x.astype(np.float32) if x.dtype == np.float16 else x
        return np.asarray(getattr(computed, self.function)(axis=tuple(range(2, x.ndim)), keepdims=True), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        if len(x.shape) < 3:
            text = f"a global pool of {shape_text(x.shape)}"
            raise ShapeError(text, where=self.function, why="there are no spatial dimensions")
        return builder.reduce(self.function, x, tuple(range(2, len(x.shape))), keepdims=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxUnpool:
    """Positions count in the pooled tensor's shape, whatever shape is asked for."""

    kernel_shape: Sequence[int]
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def reference(self, x: Any, positions: Any, output_shape: Any = None) -> Any:
        rank = len(self.kernel_shape)
        if x.ndim != rank + 2 or positions.shape != x.shape:
            raise ShapeError(
                f"MaxUnpool of {shape_text(x.shape)} with positions of {shape_text(positions.shape)}", where="MaxUnpool"
            )
        steps, cut = tuple(self.strides or (1,) * rank), tuple(self.pads or (0,) * (2 * rank))
        spatial = [(x.shape[d + 2] - 1) * steps[d] + self.kernel_shape[d] - cut[d] - cut[d + rank] for d in range(rank)]
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


define("AveragePool", AveragePool)
define("LpPool", LpPool)
define("GlobalLpPool", GlobalLpPool)
define("GlobalAveragePool", GlobalPool, "mean")
define("GlobalMaxPool", GlobalPool, "max")
define("MaxUnpool", MaxUnpool, since=9)
