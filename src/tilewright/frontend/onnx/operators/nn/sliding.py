"""Sliding windows: the attributes that convolutions and pools share, where windows lie, and views of all windows of an array.

`auto_pad` and `ceil_mode` are those of the ONNX operators Conv and AveragePool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.convolutions.windows import PaddedWindow, Padding, Same, Taps, Window, windows_over
from tilewright.graph.expressions.extents import cuts_between, least_extent, plus
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Extent
from tilewright.records import record


@record(kw_only=True)
class Sliding:
    """The attributes of windows."""

    auto_pad: str = "NOTSET"
    dilations: Sequence[int] | None = None
    kernel_shape: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def windows(
        self, extents: Sequence[Extent], kernel: Sequence[int], where: str, *, ceil_mode: bool = False, is_pool: bool = False
    ) -> Window | PaddedWindow:
        """The windows over spatial dimensions of these extents.

        Raises `ShapeError`, and over run-time extents `Undecided` where no window fits into some of the images, and where windows
        of pools stand out of them.

        >>> from tilewright.graph.types import SymbolicExtent
        >>> images = (SymbolicExtent("s", 1, 64, 32), 5)
        >>> found = Sliding(auto_pad="SAME_UPPER", strides=(2, 2)).windows(images, (3, 3), "Conv")
        >>> [str(count) for count in found.window.outputs]
        ['(s + 1)//2', '3']
        """
        if are_known(extents):
            return self.window_over(extents, kernel, where, ceil_mode=ceil_mode, is_pool=is_pool)
        taps = taps_of(len(extents), kernel, self.strides, self.dilations, where)
        padding = _padding(len(extents), self.auto_pad, self.pads, where)
        if is_pool and not isinstance(padding, Same):
            _check_stands_inside(extents, taps, *padding)
        try:
            return windows_over(extents, taps, padding, ceil_mode=ceil_mode)
        except ShapeError as error:
            error.where = where
            raise

    def window_over(
        self, extents: Sequence[Extent], kernel: Sequence[int], where: str, *, ceil_mode: bool = False, is_pool: bool = False
    ) -> Window:
        """The same over known extents."""
        rules = {"auto_pad": self.auto_pad, "pads": self.pads, "strides": self.strides, "dilations": self.dilations}
        return window_of(extents, kernel, where=where, **rules, ceil_mode=ceil_mode, may_stand_out=is_pool)  # type: ignore[arg-type]


@record(kw_only=True)
class Pooling(Sliding):
    """The attributes of pools."""

    ceil_mode: int = 0
    kernel_shape: Sequence[int]

    def pools(self, shape: Sequence[Extent], where: str) -> Window | PaddedWindow:
        """The windows over a tensor. Raises `ShapeError` where the window has other dimensions than the tensor."""
        self._check_rank(shape, where)
        return self.windows(shape[2:], self.kernel_shape, where, ceil_mode=bool(self.ceil_mode), is_pool=True)

    def window(self, shape: Sequence[Extent], where: str) -> Window:
        """The same over known extents."""
        self._check_rank(shape, where)
        return self.window_over(shape[2:], self.kernel_shape, where, ceil_mode=bool(self.ceil_mode), is_pool=True)

    def _check_rank(self, shape: Sequence[Extent], where: str) -> None:
        if len(shape) < 3 or len(self.kernel_shape) != len(shape) - 2:
            raise ShapeError(f"{where} of {shape_text(shape)} with kernel_shape {tuple(self.kernel_shape)}", where=where)


def window_of(
    extents: Sequence[Extent],
    kernel: Sequence[int],
    *,
    where: str,
    auto_pad: str = "NOTSET",
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    may_stand_out: bool = False,
) -> Window:
    """The windows over spatial dimensions of these extents; `may_stand_out` as those of pools.

    A window of a pool may be larger than the input with its padding: ONNX's shape inference and onnxruntime divide integers of
    C++, which rounds a negative quotient up, so that by less than a step such a window stands out behind, by a step there is no
    window, and by more the pool is refused.

    Raises `ShapeError` for attributes that do not fit, and `UnsupportedOperation` for extents that are known at run time only.

    >>> window_of((5, 5), (3, 3), where="Conv", pads=(1, 1, 1, 1), strides=(2, 2)).outputs
    (3, 3)
    """
    if not are_known(extents):
        raise UnsupportedOperation(f"{where} over a spatial dimension that is known at run time only", where=where)
    taps = taps_of(len(extents), kernel, strides, dilations, where)
    found = windows_over(extents, taps, _padding(len(extents), auto_pad, pads, where), ceil_mode=ceil_mode)
    assert isinstance(found, Window)
    begins, ends, outputs = found.begins, found.ends, list(found.outputs)
    padded = [extent + begin + end for extent, begin, end in zip(found.extents, begins, ends, strict=True)]
    for d, (extent, span, step) in enumerate(zip(padded, taps.spans(), taps.strides, strict=True)):
        stands_out = may_stand_out and found.extents[d] and extent < span
        outputs[d] = 1 - (span - extent) // step if stands_out else outputs[d]
        if outputs[d] < 0 or (extent < span and not stands_out and (not ceil_mode or extent - span <= -step)):
            raise ShapeError(f"{where}: a window of {span} in {extent} elements, padding included", where=where)
    if prod(padded) > MOST_ELEMENTS:
        text = f"{where} with padding {(*begins, *ends)} of {found.extents}"
        raise UnsupportedOperation(text, where=where, why="it is absurdly large")
    return replace(found, outputs=tuple(outputs))


def _check_stands_inside(extents: Sequence[Extent], taps: Taps, begins: Sequence[int], ends: Sequence[int]) -> None:
    """Raises `Undecided` where the first window of a pool may be larger than the image and its padding."""
    for extent, span, begin, end in zip(extents, taps.spans(), begins, ends, strict=True):
        padded = plus(extent, begin + end)
        if least_extent(padded) < span:
            raise Undecided(f"whether a window of {span} fits into {padded} elements").with_cuts(cuts_between(padded, span, "<"))


def taps_of(rank: int, kernel: Sequence[int], strides: Sequence[int] | None, dilations: Sequence[int] | None, where: str) -> Taps:
    """Kernel, strides and dilations of every spatial dimension. Raises `ShapeError` for attributes that do not fit."""
    steps = _attribute("strides", strides, rank, 1, where)
    apart = _attribute("dilations", dilations, rank, 1, where)
    return Taps(_attribute("kernel_shape", kernel, rank, 1, where), steps, apart)


def is_same(auto_pad: str, where: str) -> bool:
    """Whether `auto_pad` is SAME_UPPER or SAME_LOWER. Raises `ShapeError` for names that there are not."""
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ShapeError(f"{where} with auto_pad {auto_pad!r}", where=where, hint="NOTSET, SAME_UPPER, SAME_LOWER or VALID")
    return auto_pad.startswith("SAME")


def _attribute(name: str, values: Sequence[int] | None, rank: int, least: int, where: str) -> tuple[int, ...]:
    found = tuple(int(value) for value in values or (1,) * rank)
    if len(found) != rank or any(value < least for value in found):
        why = f"there are {rank} spatial dimensions, and each takes a number from {least} on"
        raise ShapeError(f"{where} with {name} {found}", where=where, why=why)
    return found


def _padding(rank: int, auto_pad: str, pads: Sequence[int] | None, where: str) -> Padding:
    if is_same(auto_pad, where):
        return Same.UPPER if auto_pad == "SAME_UPPER" else Same.LOWER
    chosen = (0,) * (2 * rank) if not pads or auto_pad == "VALID" else tuple(int(pad) for pad in pads)
    if len(chosen) != 2 * rank or any(pad < 0 for pad in chosen):
        raise ShapeError(f"{where} with pads {chosen}", where=where, why=f"{2 * rank} numbers from 0 on are needed")
    return chosen[:rank], chosen[rank:]


def padded_array(x: Any, window: Window, fill: Any) -> Any:
    """An array whose last dimensions are cut and padded to what the windows see."""
    axes = range(window.rank)
    behind = [max(window.seen(d), window.spans()[d]) - window.begins[d] - window.extents[d] for d in axes]
    kept = tuple(slice(0, window.extents[d] + min(behind[d], 0)) for d in axes)
    widths = [(0, 0)] * (x.ndim - window.rank) + [(window.begins[d], max(behind[d], 0)) for d in axes]
    return np.pad(x[(..., *kept)], widths, constant_values=fill)


def windows(x: Any, window: Window, fill: Any) -> Any:
    """A view of all windows of an array: the leading dimensions, those of the outputs, those of the kernel.

    >>> windows(np.arange(4), window_of((4,), (2,), where="x"), 0).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    spans = window.spans()
    spatial = tuple(range(x.ndim - window.rank, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(padded_array(x, window, fill), spans, axis=spatial)
    steps = tuple(slice(0, count * step, step) for count, step in zip(window.outputs, window.strides, strict=True))
    apart = tuple(slice(None, None, dilation) for dilation in window.dilations)
    return view[(slice(None),) * (x.ndim - window.rank) + steps + apart]
