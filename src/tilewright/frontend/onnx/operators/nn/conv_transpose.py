"""ConvTranspose: y[n, g M + m, i * stride + k * dilation - pad] takes in x[n, g C + c, i] * w[g C + c, m, k] for all c, i, k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Sliding, is_same, taps_of
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.run_time_windows import Taps
from tilewright.graph.builders.convolutions.transposed_convolution import Spread, transposed_convolution, written
from tilewright.graph.extents import least_extent, times
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Extent, Tensor, planned_extent


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvTranspose(Sliding):
    """Every tap added to its own places, and a bias for every filter."""

    group: int = 1
    output_padding: Sequence[int] | None = None
    output_shape: Sequence[int] | None = None

    def reference(self, x: Any, w: Any, b: Any = None) -> Any:
        found = self.spread(x.shape, w.shape)
        begins, outputs = tuple(map(planned_extent, found.begins)), tuple(map(planned_extent, found.outputs))
        reach = (
            max(planned_extent(r), begin + o)
            for r, begin, o in zip(written(x.shape[2:], found.taps), begins, outputs, strict=True)
        )
        computed = np.result_type(x.dtype, np.float32)
        data = x.astype(computed).reshape(x.shape[0], self.group, -1, *x.shape[2:])
        filters = w.astype(computed).reshape(self.group, w.shape[0] // self.group, *w.shape[1:])
        full: Any = np.zeros((x.shape[0], self.group * w.shape[1], *reach), computed)
        for tap in np.ndindex(*found.taps.kernel):
            part = np.einsum("ngc...,gcm->ngm...", data, filters[(..., *tap)], optimize=True)
            full[(..., *_places(tap, x.shape[2:], found.taps))] += part.reshape(x.shape[0], -1, *x.shape[2:])
        y = full[(..., *(slice(begin, begin + o) for begin, o in zip(begins, outputs, strict=True)))]
        y = y if b is None else y + np.reshape(b.astype(computed), (-1,) + (1,) * (x.ndim - 2))
        return y.astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        """The sums, and the bias as a map."""
        return transposed_convolution(builder, x, w, self.spread(x.shape, w.shape), self.group, b)

    def spread(self, x: Sequence[Extent], w: Sequence[Extent]) -> Spread:
        """Where the windows lie. Raises `ShapeError` where shapes and attributes do not fit each other."""
        shapes, rank, group = f"ConvTranspose of {shape_text(x)} by {shape_text(w)}", len(x) - 2, self.group
        if rank < 1 or len(w) != len(x) or group < 1 or x[1] != w[0] or not isinstance(w[0], int) or w[0] % group:
            why = f"both have the same channels first, a multiple of the {group} groups"
            raise ShapeError(shapes, where="ConvTranspose", why=why)
        if not are_known(w):
            raise UnsupportedOperation(f"{shapes}: a dimension of the filters is known at run time only", where="ConvTranspose")
        kernel = tuple(map(planned_extent, w[2:]))
        if self.kernel_shape is not None and tuple(self.kernel_shape) != kernel:
            raise ShapeError(shapes, where="ConvTranspose", why=f"kernel_shape is {tuple(self.kernel_shape)}")
        found = self._placed(x[2:], taps_of(rank, kernel, self.strides, self.dilations, shapes), shapes)
        if any(least_extent(times(*extents)) > MOST_ELEMENTS for extents in (found.outputs, written(x[2:], found.taps))):
            raise ShapeError(shapes, where="ConvTranspose", why=f"the result would have extents {shape_text(found.outputs)}")
        return found

    def _placed(self, extents: Sequence[Extent], taps: Taps, shapes: str) -> Spread:
        """By pads, or by the shape that is asked for."""
        rank = len(extents)
        more, pads = tuple(self.output_padding or (0,) * rank), tuple(self.pads or (0,) * (2 * rank))
        if (len(more), len(pads)) != (rank, 2 * rank) or min(*more, *pads) < 0:
            raise ShapeError(shapes, where="ConvTranspose", why="every spatial dimension takes padding from 0 on")
        is_given = self.output_shape is not None or is_same(self.auto_pad, "ConvTranspose")
        try:
            if not is_given:
                pads = pads if self.auto_pad == "NOTSET" else (0,) * (2 * rank)
                return Spread.cut(extents, taps, more, pads[:rank], pads[rank:])
            whole = (times(e, s) for e, s in zip(extents, taps.strides, strict=True))
            wanted = tuple(self.output_shape or whole)[-rank:]
            if len(wanted) != rank:
                raise ShapeError(f"output_shape {wanted} has {rank} dimensions")
            return Spread.to(extents, taps, more, wanted, is_upper=self.auto_pad == "SAME_UPPER")
        except ShapeError as error:
            error.where, error.why, error.message = "ConvTranspose", error.message, shapes
            raise


def _places(tap: Sequence[int], extents: Sequence[int], taps: Taps) -> tuple[slice, ...]:
    """Where the windows write a tap."""
    starts = [k * dilation for k, dilation in zip(tap, taps.dilations, strict=True)]
    return tuple(slice(at, at + (e - 1) * s + 1, s) for at, e, s in zip(starts, extents, taps.strides, strict=True))


define("ConvTranspose", ConvTranspose)
