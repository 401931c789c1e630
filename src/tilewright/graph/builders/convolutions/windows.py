"""Windows of convolutions and pooling.

Sliding windows: where they lie, and reductions over the window along one dimension.

Output o of a dimension sees the inputs o * stride + k * dilation - begin for k = 0..kernel-1; those outside are padding
(V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285, 2016).

Windows over images of any extents; where these are known at run time, over a padded copy in which all windows lie inside.

Where it is known how far the first window stands out, guards may take the place of the copy (`PaddedWindow.guarded`). Windows are
as many as over a fixed image of the same extents, and see the same elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from enum import Enum
from math import prod
from typing import TypeAlias

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad_lengths
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.expressions.extents import (
    Extent,
    ceil_quotient,
    cuts_between,
    largest_extent,
    least_extent,
    maximum,
    minimum,
    minus,
    plus,
    quotient,
    remainder,
)
from tilewright.graph.expressions.index import Index, constant
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Reduction, Tensor, planned_extent
from tilewright.records import record


@record
class Taps:
    """What every window is made of, along each spatial dimension."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def rank(self) -> int:
        """How many spatial dimensions there are."""
        return len(self.kernel)

    def spans(self) -> tuple[int, ...]:
        """Elements from the first to the last of a window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def window(self, outputs: Sequence[Extent]) -> RunTimeWindow:
        """So many of them, from the first element on."""
        begins, ends = (0,) * self.rank, (None,) * self.rank
        return RunTimeWindow(self.kernel, self.strides, self.dilations, tuple(outputs), begins, ends)


@record
class Window(Taps):
    """The windows along every spatial dimension."""

    extents: tuple[int, ...]
    """Of the input."""
    begins: tuple[int, ...]
    """Padding before the first element; less than 0 cuts elements off."""
    ends: tuple[int, ...]
    """Padding behind the last element, as it was asked for."""
    outputs: tuple[int, ...]

    def seen(self, dimension: int) -> int:
        """Elements from the first of the first window to the last of the last one, padding included."""
        return (self.outputs[dimension] - 1) * self.strides[dimension] + self.spans()[dimension]

    def is_pointwise(self) -> bool:
        """Whether every window is the element of the same position."""
        is_whole = not any(self.begins) and self.outputs == self.extents
        return prod(self.kernel) == 1 and set(self.strides) <= {1} and is_whole

    def padded_image(self) -> PaddedWindow:
        """The same over a copy of the image with the padding that they see."""
        sides = zip(map(self.seen, range(self.rank)), self.begins, self.extents, strict=True)
        behind = tuple(max(seen - begin - extent, 0) for seen, begin, extent in sides)
        return PaddedWindow(self.extents, self.begins, behind, self.ends, self.window(self.outputs))


@record
class RunTimeWindow(Taps):
    """The windows along spatial dimensions known at run time."""

    outputs: tuple[Extent, ...]
    begins: tuple[int, ...]
    """How far the first one stands out before the first element: nothing where padding was copied."""
    ends: tuple[Extent | None, ...]
    """Of the image, where windows may stand out behind; None where they all lie inside."""

    def is_pointwise(self) -> bool:
        """Whether every window is the element of the same position."""
        return {*self.kernel, *self.strides} == {1} and not any(self.begins) and set(self.ends) == {None}


def position(window: Window | RunTimeWindow, dimension: int, output: Index, tap: Index) -> Index:
    """Where in the input tap k of the window of an output lies."""
    return output * window.strides[dimension] + tap * window.dilations[dimension] - constant(window.begins[dimension])


def inside(index: Index, extent: int, extents: dict[str, int]) -> tuple[Index, ...]:
    """The constraints that an index lies in a dimension, without those that always hold for axes of these extents."""
    low, high = index.bounds(extents)
    return (*((index,) if low < 0 else ()), *((constant(extent - 1) - index,) if high >= extent else ()))


def elements_seen(
    window: Window, outputs: Sequence[Index], taps: Sequence[Index], sizes: dict[str, int]
) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
    """Where taps of windows lie in the image, and the constraints that they lie inside: for axes of these sizes."""
    places = tuple(position(window, d, output, tap) for d, (output, tap) in enumerate(zip(outputs, taps, strict=True)))
    limits = (limit for place, extent in zip(places, window.extents, strict=True) for limit in inside(place, extent, sizes))
    return places, tuple(limits)


def window_reduction(
    x: Tensor, dimension: int, window: Window | RunTimeWindow, reduction: Reduction, otherwise: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Combine the elements of every window along a dimension; `window` has that dimension only.

    >>> from tilewright.graph.builders.elementwise import REDUCTIONS
    >>> pairs = Window(extents=(4,), kernel=(2,), strides=(1,), dilations=(1,), begins=(0,), ends=(0,), outputs=(3,))
    >>> window_reduction(Tensor("x", (3, 4)), 1, pairs, REDUCTIONS["max"], 0.0, name="pool", result="y")[1].shape
    (3, 3)
    """
    shape = (*x.shape[:dimension], window.outputs[0], *x.shape[dimension + 1 :])
    moved = position(window, 0, axis_index(f"d{dimension}"), axis_index("k"))
    constraints: tuple[Index, ...] = ()
    if isinstance(window, Window):
        constraints = inside(moved, window.extents[0], {f"d{dimension}": window.outputs[0], "k": window.kernel[0]})
    indices = tuple(moved if d == dimension else index for d, index in enumerate(points(len(shape))))
    read = Access(x.name, indices, Guard(constraints, otherwise) if constraints else None)
    operator, tensor = map_of("window", shape, [read], Load(0), x.dtype, name, result)
    tap = Axis("k", window.kernel[0], AxisKind.REDUCTION)
    return replace(operator, axes=(*operator.axes, tap), reduction=reduction), tensor


def windowed(
    builder: Builder, x: Tensor, window: Window | RunTimeWindow, reduction: Reduction, otherwise: float, first: int
) -> Tensor:
    """Combine every window, dimension by dimension from the outside in; they move along dimensions from `first` on."""
    for d in range(window.rank):
        window_along = type(window)(*(getattr(window, field.name)[d : d + 1] for field in fields(window)))
        if not window_along.is_pointwise():
            dimension = first + d
            x = builder.record(window_reduction, x, dimension, window_along, reduction, otherwise, kind="window")
    return x


@record
class PaddedWindow:
    """Padding of every spatial dimension, and the windows over the padded image."""

    extents: tuple[Extent, ...]
    """Of the image."""
    begins: tuple[Extent, ...]
    """Padding before the first element."""
    ends: tuple[Extent, ...]
    """Padding behind the last element: what windows see, or more."""
    asked: tuple[Extent, ...]
    """The padding behind that means take for elements: as it was asked for, or as the name of the padding says."""
    window: RunTimeWindow

    def guarded(self) -> RunTimeWindow | None:
        """The windows over the image itself, of which some stand out; None where it is not known how far the first one does."""
        begins = tuple(begin for begin in self.begins if isinstance(begin, int))
        if len(begins) < len(self.begins):
            return None
        ends = tuple(extent if end != 0 else None for extent, end in zip(self.extents, self.ends, strict=True))
        return replace(self.window, begins=begins, ends=ends)

    def padded(self, builder: Builder, x: Tensor, dimensions: Sequence[int], value: float) -> Tensor:
        """`x` with `value` around these dimensions."""
        sides = dict(zip(dimensions, zip(self.begins, self.ends, strict=True), strict=True))
        return pad_lengths(builder, x, tuple(sides.get(d, (0, 0)) for d in range(len(x.shape))), value)


class Same(Enum):
    """As much padding as ceil(extent / stride) windows need: with an odd element behind (upper) or before."""

    UPPER, LOWER = "upper", "lower"


Padding: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]] | Same
"""Elements before and behind every dimension."""


def windows_over(extents: Sequence[Extent], taps: Taps, padding: Padding, *, ceil_mode: bool = False) -> Window | PaddedWindow:
    """The windows over an image with this padding. Where all extents are known there may be less than one: none fits then.

    With `ceil_mode` a last window may stand out behind, but none begins in the padding there (PyTorch 2.13,
    torch.nn.MaxPool2d). Raises `ShapeError` where no window fits, and `Undecided` where that depends on the value of an extent.

    >>> windows_over((5,), Taps((3,), (2,), (1,)), Same.UPPER).outputs
    (3,)
    >>> [windows_over((6,), Taps((3,), (2,), (1,)), ((0,), (0,)), ceil_mode=ceil_mode).outputs for ceil_mode in (False, True)]
    [(2,), (3,)]
    """
    if isinstance(padding, Same):
        found = _same_padded(extents, taps, is_upper=padding is Same.UPPER)
    else:
        found = _explicitly_padded(extents, taps, *padding, ceil_mode=ceil_mode)
    if not are_known(extents):
        return found
    given = (found.extents, found.begins, found.asked, found.window.outputs)
    sizes, begins, ends, outputs = (tuple(map(planned_extent, each)) for each in given)
    return Window(taps.kernel, taps.strides, taps.dilations, sizes, begins, ends, outputs)


def _explicitly_padded(
    extents: Sequence[Extent], taps: Taps, begins: Sequence[int], ends: Sequence[int], *, ceil_mode: bool
) -> PaddedWindow:
    """Windows over an image with so many elements of padding.

    >>> from tilewright.graph.expressions.extents import SymbolicExtent
    >>> found = windows_over((SymbolicExtent("s", 5, 64, 32), 9), Taps((3, 3), (2, 1), (1, 2)), ((0, 0), (0, 0)))
    >>> [str(count) for count in found.window.outputs]
    ['((s + 1)//2) - 1', '5']
    """
    each = list(zip(extents, taps.spans(), taps.strides, begins, ends, strict=True))
    outputs = tuple(_rounded_up_count(*along) if ceil_mode else _count(*along) for along in each)
    if not are_known(extents):
        _check_fits([(span, plus(extent, begin + end)) for extent, span, _, begin, end in each], outputs)
    behind = tuple(end + (stride - 1 if ceil_mode else 0) for end, stride in zip(ends, taps.strides, strict=True))
    return PaddedWindow(tuple(extents), tuple(begins), behind, tuple(ends), taps.window(outputs))


def _same_padded(extents: Sequence[Extent], taps: Taps, *, is_upper: bool) -> PaddedWindow:
    """ceil(extent / stride) windows: an odd element of padding is behind if `is_upper` (SAME_UPPER, SAME_LOWER of ONNX's Conv).

    With m = (extent - 1) mod stride the padding is max(span - 1 - m, 0), as (ceil(extent / stride) - 1) stride is
    extent - 1 - m. As much as m = 0 needs is put behind. No padding is less than 0: where a stride is longer than its window, and
    the last window ends before the last element, no element is cut off, and there are (extent - span) // stride + 1 windows as
    elsewhere. Let extent = q stride + r with 0 <= r < stride, and span <= stride. For r = 0 and for r >= span nothing is padded,
    and these are q + (r > 0) windows; for 0 < r < span the padding is span - r.

    >>> from tilewright.graph.expressions.dimensions import multiple_of
    >>> from tilewright.graph.expressions.extents import SymbolicExtent
    >>> s = SymbolicExtent("s", 1, 64, 32)
    >>> found = windows_over((s, multiple_of(s, 2)), Taps((3, 3), (2, 2), (1, 1)), Same.LOWER)
    >>> [str(count) for count in found.window.outputs], str(found.begins[1]), found.ends
    (['(s + 1)//2', 's//2'], '1', (1, 1))
    """
    outputs = tuple(ceil_quotient(extent, stride) for extent, stride in zip(extents, taps.strides, strict=True))
    begins, ends, asked = [], [], []
    for extent, span, stride in zip(extents, taps.spans(), taps.strides, strict=True):
        seen = minus(span - 1, remainder(minus(extent, 1), stride))
        total = minimum(maximum(seen, 0), span - 1)
        begins.append(quotient(total if is_upper else plus(total, 1), 2))
        asked.append(minus(total, begins[-1]))
        ends.append((span if is_upper else span - 1) // 2)
    return PaddedWindow(tuple(extents), tuple(begins), tuple(ends), tuple(asked), taps.window(outputs))


def _count(extent: Extent, span: int, stride: int, begin: int, end: int) -> Extent:
    """(extent + padding - span) // stride + 1."""
    return plus(quotient(plus(extent, begin + end - span), stride), 1)


def _rounded_up_count(extent: Extent, span: int, stride: int, begin: int, end: int) -> Extent:
    """The same rounded up, but for a last window that begins behind the image and the padding before it.

    Let n be the number rounded up and c = ceil((extent + begin) / stride) that of the windows that begin before. For
    span - end >= stride n <= c holds; for 0 <= span - end < stride c <= n <= c + 1; for span < end n > c: one window is left out.
    """
    rounded = plus(ceil_quotient(plus(extent, begin + end - span), stride), 1)
    if span - end >= stride:
        return rounded
    return ceil_quotient(plus(extent, begin), stride) if span >= end else minus(rounded, 1)


def _check_fits(windows: Sequence[tuple[int, Extent]], counts: Sequence[Extent]) -> None:
    """Raises for windows, as (span, padded extent), that are larger than some images: for all dimensions at once."""
    missing = [(window, count) for window, count in zip(windows, counts, strict=True) if least_extent(count) < 1]
    if not missing:
        return
    text = "; ".join(f"a window of {span} in {extent} elements, padding included" for (span, extent), _ in missing)
    if any(largest_extent(count) < 1 for _, count in missing):
        raise ShapeError(text)
    cuts = tuple(cut for _, count in missing for cut in cuts_between(count, 0, "<="))
    raise Undecided(text, why="no window fits into the shortest of them").with_cuts(cuts)
