"""ConvTranspose: y[n, g M + m, i * stride + k * dilation - pad] takes in x[n, g C + c, i] * w[g C + c, m, k] for all c, i, k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Sliding
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.transposed_convolution import Spread, transposed_convolution
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor, planned_extent


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvTranspose(Sliding):
    """Every tap added to its own places, and a bias for every filter."""

    group: int = 1
    output_padding: Sequence[int] | None = None
    output_shape: Sequence[int] | None = None

    def reference(self, x: Any, w: Any, b: Any = None) -> Any:
        found = self.spread(x.shape, w.shape)
        computed = np.result_type(x.dtype, np.float32)
        data = x.astype(computed).reshape(x.shape[0], self.group, -1, *found.extents)
        filters = w.astype(computed).reshape(self.group, w.shape[0] // self.group, *w.shape[1:])
        full: Any = np.zeros((x.shape[0], self.group * w.shape[1], *found.reach()), computed)
        for tap in np.ndindex(*found.kernel):
            part = np.einsum("ngc...,gcm->ngm...", data, filters[(..., *tap)], optimize=True)
            full[(..., *found.places(tap))] += part.reshape(x.shape[0], -1, *found.extents)
        cut = tuple(slice(begin, begin + o) for begin, o in zip(found.begins, found.outputs, strict=True))
        y = full[(..., *cut)]
        y = y if b is None else y + np.reshape(b.astype(computed), (-1,) + (1,) * len(found.kernel))
        return y.astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        """The sums, and the bias as a map."""
        found = self.spread(x.shape, w.shape)
        y = transposed_convolution(builder, x, w, found, self.group)
        return y if b is None else builder.map("add", y, builder.reshape(b, (b.shape[0], *(1,) * len(found.kernel))))

    def spread(self, x: Sequence[Extent], w: Sequence[Extent]) -> Spread:
        """Where the windows lie. Raises `ShapeError` where shapes and attributes do not fit each other."""
        shapes, rank, group = f"ConvTranspose of {shape_text(x)} by {shape_text(w)}", len(x) - 2, self.group
        if rank < 1 or len(w) != len(x) or group < 1 or x[1] != w[0] or not isinstance(w[0], int) or w[0] % group:
            why = f"both have the same channels first, a multiple of the {group} groups"
            raise ShapeError(shapes, where="ConvTranspose", why=why)
        if any(isinstance(extent, SymbolicExtent) for extent in (*x[2:], *w)):
            raise UnsupportedOperation(f"{shapes}: a dimension is known at run time only", where="ConvTranspose")
        extents, kernel = tuple(map(planned_extent, x[2:])), tuple(map(planned_extent, w[2:]))
        if self.kernel_shape is not None and tuple(self.kernel_shape) != kernel:
            raise ShapeError(shapes, where="ConvTranspose", why=f"kernel_shape is {tuple(self.kernel_shape)}")
        steps, apart = tuple(self.strides or (1,) * rank), tuple(self.dilations or (1,) * rank)
        more, pads = tuple(self.output_padding or (0,) * rank), tuple(self.pads or (0,) * (2 * rank))
        if (
            {len(steps), len(apart), len(more), len(pads) // 2} != {rank}
            or min(*steps, *apart, 1) < 1
            or min(*more, *pads, 0) < 0
        ):
            why = "every spatial dimension takes a stride and a dilation from 1 on, and padding from 0 on"
            raise ShapeError(shapes, where="ConvTranspose", why=why)
        reach = [s * (e - 1) + a + (k - 1) * d + 1 for s, e, a, k, d in zip(steps, extents, more, kernel, apart, strict=True)]
        begins, outputs = self._cut(reach, extents, steps, pads)
        if min(*outputs, 1) < 1 or prod(outputs) > MOST_ELEMENTS or prod(reach) > MOST_ELEMENTS:
            raise ShapeError(shapes, where="ConvTranspose", why=f"the result would have extents {outputs}")
        return Spread(extents, kernel, steps, apart, begins, outputs)

    def _cut(
        self, reach: Sequence[int], extents: Sequence[int], steps: Sequence[int], pads: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(elements cut off at the beginning, extents of the result) by pads, or by the shape that is asked for."""
        rank = len(reach)
        if self.output_shape is None and self.auto_pad in ("NOTSET", "VALID"):
            begins = tuple(pads[:rank]) if self.auto_pad == "NOTSET" else (0,) * rank
            ends = tuple(pads[rank:]) if self.auto_pad == "NOTSET" else (0,) * rank
            return begins, tuple(r - b - e for r, b, e in zip(reach, begins, ends, strict=True))
        wanted = tuple(self.output_shape or (e * s for e, s in zip(extents, steps, strict=True)))[-rank:]
        if len(wanted) != rank:
            raise ShapeError(f"ConvTranspose with output_shape {wanted}", where="ConvTranspose", why=f"it has {rank} dimensions")
        totals = [r - o for r, o in zip(reach, wanted, strict=True)]
        return tuple(max(t // 2 if self.auto_pad == "SAME_UPPER" else t - t // 2, 0) for t in totals), wanted


define("ConvTranspose", ConvTranspose)
