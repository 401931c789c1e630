"""Conv, ConvTranspose, DeformConv and CausalConvWithState.

    Conv:           y[n, g M + m, o] = sum of x[n, g C + c, o * stride + k * dilation - pad] * w[g M + m, c, k] + b[g M + m]
    ConvTranspose:  y[n, g M + m, i * stride + k * dilation - pad] takes in x[n, g C + c, i] * w[g C + c, m, k] for all c, i, k

DeformConv moves its taps by offsets, between pixels, and weighs them by a mask: J. Dai et al., "Deformable Convolutional
Networks", arXiv:1703.06211 (2017), section 2.1; X. Zhu et al., arXiv:1811.11168 (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.nn.sliding import Sliding, is_same, taps_of, window_of, windows
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolved
from tilewright.graph.builders.convolutions.spread import Spread, written
from tilewright.graph.builders.convolutions.transposed_convolution import transposed_convolution
from tilewright.graph.builders.convolutions.windows import Taps, Window
from tilewright.graph.expressions.extents import least_extent, times
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Extent, Tensor, planned_extent
from tilewright.records import record


@record(kw_only=True)
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


@onnx_operator("Conv")
class Conv(Convolution):
    """The sums, and a bias for every filter."""

    def reference(self, x: Any, w: Any, b: Any = None) -> Any:
        sums = self.sums(x, w)
        sums = sums if b is None else sums + np.reshape(b.astype(sums.dtype), (-1,) + (1,) * (x.ndim - 2))
        return sums.astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return self.lowered_sums(builder, x, w, b)


@onnx_operator("ConvTranspose")
class ConvTranspose(Sliding):
    """Every tap added to its own places, and a bias for every filter."""

    group: int = 1
    output_padding: Sequence[int] | None = None
    output_shape: Sequence[int] | None = None

    def reference(self, x: Any, w: Any, b: Any = None) -> Any:
        found = self.spread(x.shape, w.shape)
        begins, outputs = tuple(map(planned_extent, found.begins)), tuple(map(planned_extent, found.outputs))
        ends = zip(written(x.shape[2:], found.taps), begins, outputs, strict=True)
        reach = (max(planned_extent(end), begin + output) for end, begin, output in ends)
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


@onnx_operator("DeformConv", since=19)
class DeformConv(SchemaAttributes):
    """Every tap sampled bilinearly, with zeros outside; then the products are summed."""

    def reference(self, x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None) -> Any:
        window = self._window(x.shape, w.shape, offset.shape)
        n, channels = x.shape[:2]
        taps, outputs, parts = prod(window.kernel), window.outputs, self.offset_group
        moves = offset.reshape(n, parts, taps, 2, *outputs).astype(np.float64)
        weights = np.ones((n, parts, taps, *outputs)) if mask is None else mask.reshape(n, parts, taps, *outputs)
        data = x.astype(np.float64).reshape(n, parts, channels // parts, *window.extents)
        sampled = [_sampled(data, window, tap, moves[:, :, tap]) * weights[:, :, None, tap] for tap in range(taps)]
        columns = np.stack(sampled, axis=3).reshape(n, self.group, channels // self.group, taps, *outputs)
        filters = w.astype(np.float64).reshape(self.group, w.shape[0] // self.group, w.shape[1], taps)
        sums = np.einsum("ngctij,gmct->ngmij", columns, filters, optimize=True).reshape(n, w.shape[0], *outputs)
        return np.asarray(sums if b is None else sums + np.reshape(b, (-1, 1, 1)), x.dtype)

    def _window(self, x: tuple[int, ...], w: tuple[int, ...], offset: tuple[int, ...]) -> Window:
        """The windows before they are moved. Raises `ShapeError` and `UnsupportedOperation` for shapes that do not fit."""
        if len(x) != 4 or len(w) != 4:
            raise UnsupportedOperation(f"DeformConv of {shape_text(x)}", where="DeformConv", why="only images are")
        window = window_of(x[2:], w[2:], where="DeformConv", pads=self.pads, strides=self.strides, dilations=self.dilations)
        moves = (x[0], self.offset_group * prod(window.kernel) * 2, *window.outputs)
        if offset != moves or x[1] % self.offset_group or x[1] != w[1] * self.group:
            raise ShapeError(f"DeformConv of {shape_text(x)} by {shape_text(w)} moved by {shape_text(offset)}")
        return window


def _sampled(data: Any, window: Window, tap: int, moves: Any) -> Any:
    """All channels at the moved places of one tap."""
    total: Any = 0.0
    places = []
    for d, k in enumerate(np.unravel_index(tap, window.kernel)):
        start = np.arange(window.outputs[d]) * window.strides[d] - window.begins[d] + int(k) * window.dilations[d]
        places.append(moves[:, :, d] + start.reshape((-1, 1) if d == 0 else (1, -1)))
    low = [np.floor(place) for place in places]
    images, groups = np.arange(data.shape[0])[:, None, None, None], np.arange(data.shape[1])[None, :, None, None]
    for corner in np.ndindex(2, 2):
        weight, index = 1.0, []
        for d, side in enumerate(corner):
            at = low[d] + side
            weight = weight * (1 - np.abs(places[d] - at)) * ((at >= 0) & (at < window.extents[d]))
            index.append(np.clip(at, 0, window.extents[d] - 1).astype(np.int64))
        values = np.moveaxis(data, 2, -1)[images, groups, index[0], index[1]]
        total = total + np.moveaxis(values * np.asarray(weight)[..., None], -1, 2)
    return total


@onnx_function("CausalConvWithState", since=27)
def causal_conv_with_state(x: Any, weight: Any, bias: Any = None, past_state: Any = None, *, activation: Any) -> Any:
    """Of x [batch, channels, length] and weight [channels, 1, k]: results like x, and the last k - 1 positions.

    `past_state` [batch, channels, k - 1] comes before x, zeros without it. Sums are float32 at least.
    """
    if activation not in ("none", "silu", "swish"):
        raise UnsupportedOperation(f"activation {activation!r}", where="CausalConvWithState")
    if np.ndim(x) != 3 or np.ndim(weight) != 3 or weight.shape[:2] != (x.shape[1], 1) or not weight.shape[2]:
        raise ShapeError(f"{np.shape(x)} with weights {np.shape(weight)}", where="CausalConvWithState")
    before = (*x.shape[:2], weight.shape[2] - 1)
    past = np.zeros(before, x.dtype) if past_state is None else past_state
    if np.shape(past) != before or (bias is not None and np.shape(bias) != x.shape[1:2]):
        raise ShapeError(f"a state of {np.shape(past)}, a bias of {np.shape(bias)}", where="CausalConvWithState")
    sequence = np.concatenate([past, x], axis=2)
    wide = np.result_type(x.dtype, np.float32)
    taps = np.lib.stride_tricks.sliding_window_view(np.asarray(sequence, wide), weight.shape[2], axis=2)
    sums = np.einsum("bclk,ck->bcl", taps, np.asarray(weight[:, 0], wide))
    sums = sums if bias is None else sums + np.asarray(bias, wide)[:, None]
    result = sums if activation == "none" else FUNCTIONS["silu"].numpy(sums)
    return result.astype(x.dtype), sequence[:, :, x.shape[2] :]
