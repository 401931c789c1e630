"""Transposed convolution: y[n, g M + m, i * stride + k * dilation - begin] takes in x[n, g C + c, i] * w[g C + c, m, k].

It is the convolution of x with zeros between its elements by the reversed filters (V. Dumoulin, F. Visin, arXiv:1603.07285,
2016, section 4). Where windows lie side by side it is one product of matrices, whose results are put where they belong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, Tensor, planned_extent


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
        """Whether every output has one input and one tap: taps are neighbours, and windows follow each other."""
        if any(dilation != 1 and taps != 1 for dilation, taps in zip(self.dilations, self.kernel, strict=True)):
            return False
        every = zip(self.extents, self.strides, self.outputs, strict=True)
        return self.kernel == self.strides and not any(self.begins) and all(o == e * s for e, s, o in every)


def transposed_convolution(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int) -> Tensor:
    """The sums without a bias, of x [n, g C + c, i] and filters [g C + c, m, k].

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (1, 2, 4), "float32"), builder.input("w", (2, 3, 3), "float32")
    >>> transposed_convolution(builder, x, w, Spread((4,), (3,), (2,), (1,), (1,), (8,)), 1).shape
    (1, 3, 8)
    """
    is_product = group == 1 and found.is_side_by_side()
    return _side_by_side(builder, x, w, found) if is_product else _stuffed(builder, x, w, found, group)


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
