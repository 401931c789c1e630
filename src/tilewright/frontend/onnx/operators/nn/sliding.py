"""Sliding windows: the attributes that convolutions and pools share, where windows lie, and views of all windows of an array.

`auto_pad` and `ceil_mode` are those of the ONNX operators Conv and AveragePool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.run_time_windows import PaddedWindow, Taps, explicitly_padded, same_padded
from tilewright.graph.builders.convolutions.windows import Window, same_padding, window_count, windowed
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.extents import cuts_between, least_extent, plus
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding:
    """The attributes of windows."""

    auto_pad: str = "NOTSET"
    dilations: Sequence[int] | None = None
    kernel_shape: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def rules(self, where: str) -> dict[str, Any]:
        """The arguments of `window_of` that these attributes are."""
        taken = {"auto_pad": self.auto_pad, "pads": self.pads, "strides": self.strides, "dilations": self.dilations}
        return {"where": where, **taken}

    def padded_windows(
        self, extents: Sequence[Extent], kernel: Sequence[int], where: str, *, ceil_mode: bool = False, is_pool: bool = False
    ) -> PaddedWindow:
        """The windows of `window_of` where an extent is known at run time.

        Raises `Undecided` where no window fits into some of the images, and where windows of pools stand out of them.

        >>> images = (SymbolicExtent("s", 1, 64, 32), 5)
        >>> found = Sliding(auto_pad="SAME_UPPER", strides=(2, 2)).padded_windows(images, (3, 3), "Conv")
        >>> [str(count) for count in found.window.outputs]
        ['(s + 1)//2', '3']
        """
        taps = taps_of(len(extents), kernel, self.strides, self.dilations, where)
        try:
            if is_same(self.auto_pad, where):
                return same_padded(extents, taps, is_upper=self.auto_pad == "SAME_UPPER")
            begins, ends = _explicit_padding(len(extents), self.auto_pad, self.pads, where)
            if is_pool:
                _check_stands_inside(extents, taps, begins, ends)
            return explicitly_padded(extents, taps, begins, ends, ceil_mode=ceil_mode)
        except ShapeError as error:
            error.where = where
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling(Sliding):
    """The attributes of pools."""

    ceil_mode: int = 0
    kernel_shape: Sequence[int]

    def window(self, shape: Sequence[Extent], where: str) -> Window:
        """The windows over a tensor. Raises `ShapeError` where the window has other dimensions than the tensor."""
        self._check_rank(shape, where)
        rules = {**self.rules(where), "ceil_mode": bool(self.ceil_mode), "may_stand_out": True}
        return window_of(shape[2:], self.kernel_shape, **rules)

    def padded_window(self, shape: Sequence[Extent], where: str) -> PaddedWindow:
        """The same where an extent is known at run time."""
        self._check_rank(shape, where)
        return self.padded_windows(shape[2:], self.kernel_shape, where, ceil_mode=bool(self.ceil_mode), is_pool=True)

    def reduced(self, builder: Builder, x: Tensor, function: str, otherwise: float, where: str) -> Tensor:
        """A reduction of every window, dimension by dimension; padding is `otherwise`."""
        if are_known(x.shape[2:]):
            return windowed(builder, x, self.window(x.shape, where), REDUCTIONS[function], otherwise)
        padded = self.padded_window(x.shape, where)
        image = padded.padded(builder, x, range(2, len(x.shape)), otherwise)
        return windowed(builder, image, padded.window, REDUCTIONS[function], otherwise)

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
    """The windows over spatial dimensions of these extents; `may_stand_out` as those of pools: see `_pool_count`.

    Raises `ShapeError` for attributes that do not fit, and `UnsupportedOperation` for extents that are known at run time only.

    >>> window_of((5, 5), (3, 3), where="Conv", pads=(1, 1, 1, 1), strides=(2, 2)).outputs
    (3, 3)
    """
    rank = len(extents)
    sizes = tuple(extent for extent in extents if not isinstance(extent, SymbolicExtent))
    if len(sizes) < rank:
        raise UnsupportedOperation(f"{where} over a spatial dimension that is known at run time only", where=where)
    taps = taps_of(rank, kernel, strides, dilations, where)
    spans = taps.spans()
    if is_same(auto_pad, where):
        begins, ends = same_padding(sizes, spans, taps.strides, is_upper=auto_pad == "SAME_UPPER")
    else:
        begins, ends = _explicit_padding(rank, auto_pad, pads, where)
    outputs = []
    for extent, span, step, begin, end in zip(sizes, spans, taps.strides, begins, ends, strict=True):
        count = _pool_count if may_stand_out and extent else _count
        outputs.append(count(extent, span, step, begin, end, ceil_mode, where))
    if prod(extent + begin + end for extent, begin, end in zip(sizes, begins, ends, strict=True)) > MOST_ELEMENTS:
        raise UnsupportedOperation(f"{where} with padding {(*begins, *ends)} of {sizes}", where=where, why="it is absurdly large")
    return Window(sizes, taps.kernel, taps.strides, taps.dilations, begins, ends, tuple(outputs))


def _check_stands_inside(extents: Sequence[Extent], taps: Taps, begins: Sequence[int], ends: Sequence[int]) -> None:
    """Raises `Undecided` where the first window of a pool may be larger than the image and its padding: see `_pool_count`."""
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
    found = (1,) * rank if values is None else tuple(int(value) for value in values)
    if len(found) != rank or any(value < least for value in found):
        raise ShapeError(
            f"{where} with {name} {found}",
            where=where,
            why=f"there are {rank} spatial dimensions, and each takes a number from {least} on",
        )
    return found


def _explicit_padding(
    rank: int, auto_pad: str, pads: Sequence[int] | None, where: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    chosen = (0,) * (2 * rank) if pads is None or auto_pad == "VALID" else tuple(int(pad) for pad in pads)
    if len(chosen) != 2 * rank or any(pad < 0 for pad in chosen):
        raise ShapeError(f"{where} with pads {chosen}", where=where, why=f"{2 * rank} numbers from 0 on are needed")
    return chosen[:rank], chosen[rank:]


def _count(extent: int, span: int, step: int, begin: int, end: int, ceil_mode: bool, where: str) -> int:
    """How many windows there are. Raises `ShapeError` where none fits."""
    room = extent + begin + end - span
    if room < 0 and (not ceil_mode or room <= -step):
        raise _too_large(span, extent + begin + end, where)
    return window_count(extent, span, step, begin, end, ceil_mode=ceil_mode)


def _pool_count(extent: int, span: int, step: int, begin: int, end: int, ceil_mode: bool, where: str) -> int:
    """How many windows a pool has, where one may be larger than the input with its padding.

    ONNX's shape inference and onnxruntime divide integers of C++, which rounds a negative quotient up: by less than a step such a
    window stands out behind, by a step there is no window, and by more the pool is refused.
    """
    room = extent + begin + end - span
    if room >= 0:
        return _count(extent, span, step, begin, end, ceil_mode, where)
    outputs = 1 - -room // step
    if outputs < 0:
        raise _too_large(span, extent + begin + end, where)
    return outputs


def _too_large(span: int, extent: int, where: str) -> ShapeError:
    return ShapeError(f"{where}: a window of {span} in {extent} elements, padding included", where=where)


def padded_array(x: Any, window: Window, fill: Any) -> Any:
    """An array whose last dimensions are cut and padded to what the windows see."""
    axes = range(window.rank)
    behind = [max(window.seen(d), window.span(d)) - window.begins[d] - window.extents[d] for d in axes]
    kept = tuple(slice(0, window.extents[d] + min(behind[d], 0)) for d in axes)
    widths = [(0, 0)] * (x.ndim - window.rank) + [(window.begins[d], max(behind[d], 0)) for d in axes]
    return np.pad(x[(..., *kept)], widths, constant_values=fill)


def windows(x: Any, window: Window, fill: Any) -> Any:
    """A view of all windows of an array: the leading dimensions, those of the outputs, those of the kernel.

    >>> windows(np.arange(4), window_of((4,), (2,), where="x"), 0).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    spans = tuple(window.span(d) for d in range(window.rank))
    spatial = tuple(range(x.ndim - window.rank, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(padded_array(x, window, fill), spans, axis=spatial)
    steps = tuple(slice(0, count * step, step) for count, step in zip(window.outputs, window.strides, strict=True))
    apart = tuple(slice(None, None, dilation) for dilation in window.dilations)
    return view[(slice(None),) * (x.ndim - window.rank) + steps + apart]
