"""Conv: y[n, g M + m, o] = sum of x[n, g C + c, o * stride + k * dilation - pad] * w[g M + m, c, k] + b[g M + m]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Sliding, windows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolved
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution(Sliding):
    """The attributes of convolutions, and their sums without a bias."""

    group: int = 1

    def sums(self, x: Any, w: Any) -> Any:
        """The sums by an einsum over a view of all windows, in the type of x, or in float32 where that is wider."""
        window = self.window_over(x.shape[2:], self.kernel(x.shape, w.shape), "Conv")
        computed = np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else x.dtype
        view = windows(x.astype(computed), window, 0)
        view = view.reshape(x.shape[0], self.group, w.shape[1], *view.shape[2:])
        filters = w.astype(computed).reshape(self.group, w.shape[0] // self.group, *w.shape[1:])
        rank = window.rank
        out, taps = list(range(4, 4 + rank)), list(range(4 + rank, 4 + 2 * rank))
        sums = np.einsum(view, [0, 1, 2, *out, *taps], filters, [1, 3, 2, *taps], [0, 1, 3, *out], optimize=True)
        return sums.reshape(x.shape[0], w.shape[0], *window.outputs)

    def lowered_sums(self, builder: Builder, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        """One operator, behind a padded copy of some images of run-time extents: planning chooses how it is computed."""
        return convolved(builder, x, w, self.windows(x.shape[2:], self.kernel(x.shape, w.shape), "Conv"), self.group, bias=b)

    def kernel(self, x: Sequence[Extent], w: Sequence[Extent]) -> tuple[int, ...]:
        """The taps; raises `ShapeError` where shapes and attributes do not fit each other."""
        shapes, group = f"Conv of {shape_text(x)} by {shape_text(w)}", self.group
        if len(x) < 3 or len(w) != len(x):
            raise ShapeError(shapes, where="Conv", why="both have a dimension each for batch and channels, and as many for space")
        kernel = tuple(extent for extent in w[2:] if isinstance(extent, int))
        fits = group >= 1 and isinstance(w[0], int) and isinstance(w[1], int) and w[0] % group == 0 and x[1] == w[1] * group
        if not fits or len(kernel) != len(w) - 2 or (self.kernel_shape is not None and tuple(self.kernel_shape) != kernel):
            why = f"with {group} groups the filters need {group} times their input channels, and a multiple of {group} of them"
            raise ShapeError(shapes, where="Conv", why=why)
        return kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Conv(Convolution):
    """The sums, and a bias for every filter."""

    def reference(self, x: Any, w: Any, b: Any = None) -> Any:
        sums = self.sums(x, w)
        sums = sums if b is None else sums + np.reshape(b.astype(sums.dtype), (-1,) + (1,) * (x.ndim - 2))
        return sums.astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return self.lowered_sums(builder, x, w, b)


define("Conv", Conv)
