"""Sliding windows: where they begin, how many there are, and reductions over the window along one dimension.

Output o of a dimension sees the inputs o * stride + k * dilation - begin for k = 0..kernel-1; those outside are padding.
Sources: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285 (2016); `auto_pad` and
`ceil_mode` as in the ONNX operators Conv and AveragePool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.element_types import MOST_ELEMENTS
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.operators.elementwise import accumulator_of
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, AxisKind, Extent, Guard, Operator, Reduction, SymbolicExtent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


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

    def is_padded(self, dimension: int) -> bool:
        """Whether some window sees more than the input."""
        return self.begins[dimension] > 0 or self.seen(dimension) - self.begins[dimension] > self.extents[dimension]

    def is_pointwise(self) -> bool:
        """Whether every window is the element of the same position."""
        is_whole = not any(self.begins) and self.outputs == self.extents
        return prod(self.kernel) == 1 and set(self.strides) <= {1} and is_whole


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
) -> Window:
    """The windows over spatial dimensions of these extents.

    Raises `ShapeError` for attributes that do not fit, and `UnsupportedOperation` for extents that are known at run time only.

    >>> window_of((5, 5), (3, 3), where="Conv", pads=(1, 1, 1, 1), strides=(2, 2)).outputs
    (3, 3)
    """
    rank = len(extents)
    sizes = tuple(extent for extent in extents if not isinstance(extent, SymbolicExtent))
    if len(sizes) < rank:
        raise UnsupportedOperation(f"{where} over a spatial dimension that is known at run time only", where=where)
    steps = _attribute("strides", strides, rank, 1, where)
    apart = _attribute("dilations", dilations, rank, 1, where)
    size = _attribute("kernel_shape", kernel, rank, 1, where)
    spans = tuple((k - 1) * d + 1 for k, d in zip(size, apart, strict=True))
    begins, ends = _padding(sizes, spans, steps, auto_pad, pads, where)
    outputs = []
    for extent, span, step, begin, end in zip(sizes, spans, steps, begins, ends, strict=True):
        outputs.append(_count(extent, span, step, begin, end, ceil_mode, where))
    if prod(extent + begin + end for extent, begin, end in zip(sizes, begins, ends, strict=True)) > MOST_ELEMENTS:
        raise UnsupportedOperation(f"{where} with padding {(*begins, *ends)} of {sizes}", where=where, why="it is absurdly large")
    return Window(sizes, size, steps, apart, begins, ends, tuple(outputs))


def _attribute(name: str, values: Sequence[int] | None, rank: int, least: int, where: str) -> tuple[int, ...]:
    found = (1,) * rank if values is None else tuple(int(value) for value in values)
    if len(found) != rank or any(value < least for value in found):
        raise ShapeError(
            f"{where} with {name} {found}",
            where=where,
            why=f"there are {rank} spatial dimensions, and each takes a number from {least} on",
        )
    return found


def _padding(
    sizes: Sequence[int], spans: Sequence[int], steps: Sequence[int], auto_pad: str, pads: Sequence[int] | None, where: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(sizes)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        totals = [max((-(-e // s) - 1) * s + span - e, 0) for e, s, span in zip(sizes, steps, spans, strict=True)]
        small, large = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
        return (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    if auto_pad not in ("NOTSET", "VALID"):
        raise ShapeError(f"{where} with auto_pad {auto_pad!r}", where=where, hint="NOTSET, SAME_UPPER, SAME_LOWER or VALID")
    chosen = (0,) * (2 * rank) if pads is None or auto_pad == "VALID" else tuple(int(pad) for pad in pads)
    if len(chosen) != 2 * rank or any(pad < 0 for pad in chosen):
        raise ShapeError(f"{where} with pads {chosen}", where=where, why=f"{2 * rank} numbers from 0 on are needed")
    return chosen[:rank], chosen[rank:]


def _count(extent: int, span: int, step: int, begin: int, end: int, ceil_mode: bool, where: str) -> int:
    """How many windows there are; with `ceil_mode` a last one may stand out, if it does not begin in the padding behind."""
    room = extent + begin + end - span
    outputs = (-(-room // step) if ceil_mode else room // step) + 1
    if outputs < 1:
        raise ShapeError(f"{where}: a window of {span} in {extent + begin + end} elements, padding included", where=where)
    return outputs - 1 if ceil_mode and (outputs - 1) * step >= extent + begin else outputs


def padded_array(x: Any, window: Window, fill: Any) -> Any:
    """An array whose last dimensions are cut and padded to what the windows see."""
    axes = range(window.rank)
    behind = [window.seen(d) - window.begins[d] - window.extents[d] for d in axes]
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
    steps = tuple(slice(None, None, step) for step in window.strides)
    apart = tuple(slice(None, None, dilation) for dilation in window.dilations)
    return view[(slice(None),) * (x.ndim - window.rank) + steps + apart]


def position(window: Window, dimension: int, output: Index, tap: Index) -> Index:
    """Where in the input tap k of the window of an output lies."""
    return output * window.strides[dimension] + tap * window.dilations[dimension] - constant(window.begins[dimension])


def inside(index: Index, extent: int, extents: dict[str, int]) -> tuple[Index, ...]:
    """The constraints that an index lies in a dimension, without those that always hold for axes of these extents."""
    low, high = index.bounds(extents)
    return (*((index,) if low < 0 else ()), *((constant(extent - 1) - index,) if high >= extent else ()))


def window_reduction(
    x: Tensor, dimension: int, window: Window, reduction: Reduction, otherwise: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Combine the elements of every window along a dimension; `window` has that dimension only.

    >>> from tilewright.graph.operators.reduce import REDUCTIONS
    >>> pairs = window_of((4,), (2,), where="pool")
    >>> window_reduction(Tensor("x", (3, 4)), 1, pairs, REDUCTIONS["max"], 0.0, name="pool", result="y")[1].shape
    (3, 3)
    """
    shape = (*x.shape[:dimension], window.outputs[0], *x.shape[dimension + 1 :])
    axes = [Axis(f"d{d}", extent) for d, extent in enumerate(shape)]
    tap = Axis("k", window.kernel[0], AxisKind.REDUCTION)
    own = position(window, 0, axis_index(f"d{dimension}"), axis_index("k"))
    constraints = inside(own, window.extents[0], {f"d{dimension}": window.outputs[0], "k": window.kernel[0]})
    indices = tuple(own if d == dimension else axis_index(f"d{d}") for d in range(len(shape)))
    read = Access(x.name, indices, Guard(constraints, otherwise) if constraints else None)
    write = Access(result, tuple(axis_index(axis.name) for axis in axes))
    accumulator = accumulator_of(x.dtype)
    return Operator(name, "window", (*axes, tap), (read,), write, Load(0), reduction, accumulator), Tensor(result, shape, x.dtype)


def windowed(builder: Builder, x: Tensor, window: Window, reduction: Reduction, otherwise: float) -> Tensor:
    """Combine every window of the last dimensions, dimension by dimension from the outside in."""
    for d in range(window.rank):
        own = Window(*(getattr(window, field)[d : d + 1] for field in Window.__slots__))
        if not own.is_pointwise():
            dimension = len(x.shape) - window.rank + d
            x = builder.record(window_reduction, x, dimension, own, reduction, otherwise, kind="window")
    return x
