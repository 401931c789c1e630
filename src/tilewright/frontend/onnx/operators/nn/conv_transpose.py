"""ConvTranspose: y[n, g M + m, i * stride + k * dilation - pad] takes in x[n, g C + c, i] * w[g C + c, m, k] for all c, i, k.

It is the convolution of x with zeros between its elements by the reversed filters (V. Dumoulin, F. Visin, arXiv:1603.07285,
2016, section 4). Where windows lie side by side it is one product of matrices, whose results are put where they belong.
"""

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
from tilewright.graph.builders.convolution import convolution
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.windows import Window
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, SymbolicExtent, Tensor, planned_extent


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the windows of a transposed convolution lie along every spatial dimension."""

    extents: tuple[int, ...]
    """Of the input."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    """What is cut off before the first element."""
    outputs: tuple[int, ...]

    def span(self, dimension: int) -> int:
        """Elements from the first to the last of a window."""
        return (self.kernel[dimension] - 1) * self.dilations[dimension] + 1

    def reach(self) -> tuple[int, ...]:
        """Extents of what all windows write, and of what is kept of it."""
        written = (s * (e - 1) + self.span(d) for d, (s, e) in enumerate(zip(self.strides, self.extents, strict=True)))
        return tuple(max(r, begin + o) for r, begin, o in zip(written, self.begins, self.outputs, strict=True))

    def places(self, tap: Sequence[int]) -> tuple[slice, ...]:
        """Where the windows write a tap."""
        starts = [k * dilation for k, dilation in zip(tap, self.dilations, strict=True)]
        lengths = [(e - 1) * s + 1 for e, s in zip(self.extents, self.strides, strict=True)]
        return tuple(slice(at, at + n, s) for at, n, s in zip(starts, lengths, self.strides, strict=True))

    def is_side_by_side(self) -> bool:
        """Whether every output has one input and one tap."""
        every = zip(self.extents, self.strides, self.outputs, strict=True)
        return self.kernel == self.strides and not any(self.begins) and all(o == e * s for e, s, o in every)


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
        """A product and its results put apart, or a convolution over the input with zeros in between; the bias as a map."""
        found = self.spread(x.shape, w.shape)
        is_product = self.group == 1 and found.is_side_by_side()
        y = _side_by_side(builder, x, w, found) if is_product else _stuffed(builder, x, w, found, self.group)
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


def _side_by_side(builder: Builder, x: Tensor, w: Tensor, found: Spread) -> Tensor:
    rows = prod(extent for extent in w.shape[1:] if isinstance(extent, int))
    filters = builder.transpose(builder.reshape(w, (w.shape[0], rows)), (1, 0))
    pixels = builder.reshape(x, (*x.shape[:2], prod(found.extents)))
    return builder.record(_put_apart, builder.einsum("ncp,mc->nmp", pixels, filters), found, w.shape[1], kind="spread")


def _put_apart(sums: Tensor, found: Spread, filters: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """y[n, m, i * stride + k] = sums[n, (m, k), i]."""
    assert isinstance(filters, int)
    rank = len(found.kernel)
    sizes = {
        "m": filters,
        **{f"k{d}": k for d, k in enumerate(found.kernel)},
        **{f"i{d}": e for d, e in enumerate(found.extents)},
    }
    place = {axis: axis_index(axis) if extent > 1 else constant(0) for axis, extent in sizes.items()}
    row, pixel = place["m"], constant(0)
    for d in range(rank):
        row = row * found.kernel[d] + place[f"k{d}"]
        pixel = pixel * found.extents[d] + place[f"i{d}"]
    written = tuple(place[f"i{d}"] * found.strides[d] + place[f"k{d}"] for d in range(rank))
    axes = (Axis("n", sums.shape[0]), *(Axis(axis, extent) for axis, extent in sizes.items() if extent > 1))
    read = Access(sums.name, (axis_index("n"), row, pixel))
    write = Access(result, (axis_index("n"), place["m"], *written))
    shape = (sums.shape[0], filters, *found.outputs)
    return Operator(name, "spread", axes, (read,), write, Load(0), accumulator=accumulator_of(sums.dtype)), Tensor(
        result, shape, sums.dtype
    )


def _stuffed(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int) -> Tensor:
    stuffed = x if set(found.strides) == {1} else builder.record(_with_zeros, x, found, kind="stuff")
    extents = tuple(e * s for e, s in zip(found.extents, found.strides, strict=True))
    strides = (1,) * len(extents)
    begins = tuple(found.span(d) - 1 - begin for d, begin in enumerate(found.begins))
    window = Window(extents, found.kernel, strides, found.dilations, begins, begins, found.outputs)
    backwards = builder.record(_reversed, w, group, kind="reverse")
    return builder.record(convolution, stuffed, backwards, window, group, kind="conv")


def _with_zeros(x: Tensor, found: Spread, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element and stride - 1 zeros behind it, along every dimension."""
    axes, written, constraints = [Axis("n", x.shape[0]), Axis("c", x.shape[1])], [], []
    read = [axis_index("n"), axis_index("c")]
    for d, (extent, stride) in enumerate(zip(found.extents, found.strides, strict=True)):
        element, zero = (axis_index(f"i{d}") if extent > 1 else constant(0)), axis_index(f"z{d}")
        axes += [Axis(f"i{d}", extent)] if extent > 1 else []
        axes += [Axis(f"z{d}", stride)] if stride > 1 else []
        written.append(element * stride + zero if stride > 1 else element)
        read.append(element)
        constraints += [zero * -1] if stride > 1 else []
    shape = (*x.shape[:2], *(e * s for e, s in zip(found.extents, found.strides, strict=True)))
    source = Access(x.name, tuple(read), Guard(tuple(constraints), 0.0))
    write = Access(result, (axis_index("n"), axis_index("c"), *written))
    return Operator(name, "stuff", tuple(axes), (source,), write, Load(0), accumulator=accumulator_of(x.dtype)), Tensor(
        result, shape, x.dtype
    )


def _reversed(w: Tensor, group: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Filters as those of a convolution: f[g M + m, c, k] = w[g C + c, m, K - 1 - k]."""
    channels, filters, *kernel = map(planned_extent, w.shape)
    taps = tuple(f"k{d}" for d in range(len(kernel)))
    sizes = {"g": group, "m": filters, "c": channels // group}
    place = {axis: axis_index(axis) if extent > 1 else constant(0) for axis, extent in sizes.items()}
    backwards = tuple(constant(extent - 1) - axis_index(tap) for tap, extent in zip(taps, kernel, strict=True))
    row: Index = place["g"] * filters + place["m"]
    axes = (
        *(Axis(axis, extent) for axis, extent in sizes.items() if extent > 1),
        *(Axis(tap, extent) for tap, extent in zip(taps, kernel, strict=True)),
    )
    read = Access(w.name, (place["g"] * (channels // group) + place["c"], place["m"], *backwards))
    write = Access(result, (row, place["c"], *map(axis_index, taps)))
    shape = (group * filters, channels // group, *kernel)
    return Operator(name, "reverse", axes, (read,), write, Load(0), accumulator=accumulator_of(w.dtype)), Tensor(
        result, shape, w.dtype
    )


define("ConvTranspose", ConvTranspose)
