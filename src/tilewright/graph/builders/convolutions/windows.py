"""Sliding windows: where they lie, and reductions over the window along one dimension.

Output o of a dimension sees the inputs o * stride + k * dilation - begin for k = 0..kernel-1; those outside are padding
(V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, AxisKind, Extent, Guard, Operator, Reduction, Tensor


@dataclass(frozen=True, slots=True)
class Window:
    """The windows along every spatial dimension."""

    extents: tuple[int, ...]
    """Of the input."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    """Padding before the first element; less than 0 cuts elements off."""
    ends: tuple[int, ...]
    """Padding behind the last element, as it was asked for."""
    outputs: tuple[int, ...]

    @property
    def rank(self) -> int:
        """How many spatial dimensions there are."""
        return len(self.extents)

    def span(self, dimension: int) -> int:
        """Elements from the first to the last of a window."""
        return (self.kernel[dimension] - 1) * self.dilations[dimension] + 1

    def seen(self, dimension: int) -> int:
        """Elements from the first of the first window to the last of the last one, padding included."""
        return (self.outputs[dimension] - 1) * self.strides[dimension] + self.span(dimension)

    def is_pointwise(self) -> bool:
        """Whether every window is the element of the same position."""
        is_whole = not any(self.begins) and self.outputs == self.extents
        return prod(self.kernel) == 1 and set(self.strides) <= {1} and is_whole


@dataclass(frozen=True, slots=True)
class RunTimeWindow:
    """The windows along spatial dimensions known at run time."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    outputs: tuple[Extent, ...]
    begins: tuple[int, ...]
    """How far the first one stands out before the first element: nothing where padding was copied."""
    ends: tuple[Extent | None, ...]
    """Of the image, where windows may stand out behind; None where they all lie inside."""

    @property
    def rank(self) -> int:
        """How many spatial dimensions there are."""
        return len(self.kernel)

    def is_pointwise(self) -> bool:
        """Whether every window is the element of the same position."""
        return {*self.kernel, *self.strides} == {1} and not any(self.begins) and set(self.ends) == {None}


def same_padding(
    extents: Sequence[int], spans: Sequence[int], strides: Sequence[int], *, is_upper: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(before, behind): the padding with which there are ceil(extent / stride) windows; an odd element is behind if `is_upper`.

    SAME_UPPER and SAME_LOWER of the ONNX operator Conv. No padding is less than 0: where a stride is longer than its window, and
    the last window ends before the last element, no element is cut off, and there are (extent - span) // stride + 1 windows as
    elsewhere. Let extent = q stride + r with 0 <= r < stride, and span <= stride. For r = 0 and for r >= span nothing is padded,
    and these are q + (r > 0) windows; for 0 < r < span the padding is span - r.

    >>> same_padding((5, 6), (3, 4), (2, 1), is_upper=True)
    ((1, 1), (1, 2))
    >>> same_padding((5,), (1,), (3,), is_upper=True), window_count(5, 1, 3, 0, 0)
    (((0,), (0,)), 2)
    """
    totals = [max((-(-e // s) - 1) * s + span - e, 0) for e, s, span in zip(extents, strides, spans, strict=True)]
    small, large = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
    return (small, large) if is_upper else (large, small)


def window_count(extent: int, span: int, stride: int, begin: int, end: int, *, ceil_mode: bool = False) -> int:
    """How many windows there are, less than 1 where none fits; with `ceil_mode` a last window may stand out behind.

    With `ceil_mode` no window begins in the padding behind (PyTorch 2.13, torch.nn.MaxPool2d).

    >>> window_count(6, 3, 2, 0, 0), window_count(6, 3, 2, 0, 0, ceil_mode=True), window_count(2, 3, 1, 0, 0)
    (2, 3, 0)
    """
    room = extent + begin + end - span
    outputs = (-(-room // stride) if ceil_mode else room // stride) + 1
    return outputs - 1 if ceil_mode and outputs > 0 and (outputs - 1) * stride >= extent + begin else outputs


def position(window: Window | RunTimeWindow, dimension: int, output: Index, tap: Index) -> Index:
    """Where in the input tap k of the window of an output lies."""
    return output * window.strides[dimension] + tap * window.dilations[dimension] - constant(window.begins[dimension])


def inside(index: Index, extent: int, extents: dict[str, int]) -> tuple[Index, ...]:
    """The constraints that an index lies in a dimension, without those that always hold for axes of these extents."""
    low, high = index.bounds(extents)
    return (*((index,) if low < 0 else ()), *((constant(extent - 1) - index,) if high >= extent else ()))


def window_reduction(
    x: Tensor, dimension: int, window: Window | RunTimeWindow, reduction: Reduction, otherwise: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Combine the elements of every window along a dimension; `window` has that dimension only.

    >>> from tilewright.graph.builders.reduce import REDUCTIONS
    >>> pairs = Window(extents=(4,), kernel=(2,), strides=(1,), dilations=(1,), begins=(0,), ends=(0,), outputs=(3,))
    >>> window_reduction(Tensor("x", (3, 4)), 1, pairs, REDUCTIONS["max"], 0.0, name="pool", result="y")[1].shape
    (3, 3)
    """
    shape = (*x.shape[:dimension], window.outputs[0], *x.shape[dimension + 1 :])
    moved = position(window, 0, axis_index(f"d{dimension}"), axis_index("k"))
    constraints = () if isinstance(window, RunTimeWindow) else _limits(moved, window, dimension)
    indices = tuple(moved if d == dimension else index for d, index in enumerate(points(len(shape))))
    read = Access(x.name, indices, Guard(constraints, otherwise) if constraints else None)
    operator, tensor = map_of("window", shape, [read], Load(0), x.dtype, name, result)
    tap = Axis("k", window.kernel[0], AxisKind.REDUCTION)
    return replace(operator, axes=(*operator.axes, tap), reduction=reduction), tensor


def _limits(moved: Index, window: Window, dimension: int) -> tuple[Index, ...]:
    return inside(moved, window.extents[0], {f"d{dimension}": window.outputs[0], "k": window.kernel[0]})


def windowed(
    builder: Builder, x: Tensor, window: Window | RunTimeWindow, reduction: Reduction, otherwise: float, first: int | None = None
) -> Tensor:
    """Combine every window, dimension by dimension from the outside in; they move along dimensions from `first` on (the last)."""
    first = len(x.shape) - window.rank if first is None else first
    for d in range(window.rank):
        window_along = type(window)(*(getattr(window, field)[d : d + 1] for field in type(window).__slots__))
        if not window_along.is_pointwise():
            dimension = first + d
            x = builder.record(window_reduction, x, dimension, window_along, reduction, otherwise, kind="window")
    return x
