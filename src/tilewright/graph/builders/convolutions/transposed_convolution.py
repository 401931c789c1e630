"""Transposed convolution: y[n, g M + m, i * stride + k * dilation - begin] takes in x[n, g C + c, i] * w[g C + c, m, k].

It is the convolution of x with zeros between its elements by the reversed filters (V. Dumoulin, F. Visin, arXiv:1603.07285,
2016, section 4). Where windows lie side by side it is one product of matrices, whose results are put where they belong.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad_lengths
from tilewright.graph.builders.convolutions.convolution import biased, convolution
from tilewright.graph.builders.convolutions.windows import RunTimeWindow, Taps, Window
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.extents import cuts_between, largest_extent, least_extent, maximum, minus, plus, quotient, times
from tilewright.graph.expressions.index import Index, constant
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.shapes import are_known, shape_text
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, Tensor, planned_extent
from tilewright.records import record


@record
class Spread:
    """Where the windows of a transposed convolution lie along every spatial dimension."""

    extents: tuple[Extent, ...]
    """Of the input."""
    taps: Taps
    begins: tuple[Extent, ...]
    """What is cut off before the first element."""
    outputs: tuple[Extent, ...]

    @classmethod
    def cut(
        cls, extents: Sequence[Extent], taps: Taps, more: Sequence[int], begins: Sequence[int], ends: Sequence[int]
    ) -> Spread:
        """With `more` elements behind what the windows write, less those that are cut off.

        Raises `ShapeError` where nothing is left, and `Undecided` where that depends on the value of an extent.

        >>> Spread.cut((4,), Taps((3,), (2,), (1,)), (0,), (1,), (0,)).outputs
        (8,)
        """
        each = zip(written(extents, taps), more, begins, ends, strict=True)
        outputs = tuple(plus(extent, extra - begin - end) for extent, extra, begin, end in each)
        return cls(tuple(extents), taps, tuple(begins), outputs)._checked()

    @classmethod
    def to(
        cls, extents: Sequence[Extent], taps: Taps, more: Sequence[int], outputs: Sequence[Extent], *, is_upper: bool
    ) -> Spread:
        """With results of these extents: what is too much is cut off on both sides, an odd element behind if `is_upper`."""
        spare = [minus(plus(w, extra), o) for w, extra, o in zip(written(extents, taps), more, outputs, strict=True)]
        begins = tuple(maximum(quotient(s if is_upper else plus(s, 1), 2), 0) for s in spare)
        return cls(tuple(extents), taps, begins, tuple(outputs))._checked()

    def _checked(self) -> Spread:
        text = f"extents of {shape_text(self.outputs)} would be left"
        for extent in self.outputs:
            if largest_extent(extent) < 1:
                raise ShapeError(text)
            if least_extent(extent) < 1:
                raise Undecided(text).with_cuts(cuts_between(extent, 0, "<="))
        return self

    def is_side_by_side(self) -> bool:
        """Whether every output has one input and one tap: taps are neighbours, and windows follow each other."""
        kernel, strides = self.taps.kernel, self.taps.strides
        if any(dilation != 1 and taps != 1 for dilation, taps in zip(self.taps.dilations, kernel, strict=True)):
            return False
        is_whole = all(o == times(e, s) for e, s, o in zip(self.extents, strides, self.outputs, strict=True))
        return kernel == strides and all(begin == 0 for begin in self.begins) and is_whole


def written(extents: Sequence[Extent], taps: Taps) -> list[Extent]:
    """How many elements windows write: (extent - 1) * stride + dilation (kernel - 1) + 1 along each dimension."""
    each = zip(extents, taps.strides, taps.spans(), strict=True)
    return [plus(times(minus(extent, 1), stride), span) for extent, stride, span in each]


def transposed_convolution(
    builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None = None
) -> Tensor:
    """The sums of x [n, g C + c, i] and filters [g C + c, m, k], with a bias for every filter.

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (1, 2, 4), "float32"), builder.input("w", (2, 3, 3), "float32")
    >>> transposed_convolution(builder, x, w, Spread.cut((4,), Taps((3,), (2,), (1,)), (0,), (1,), (0,)), 1).shape
    (1, 3, 8)
    """
    is_product = group == 1 and found.is_side_by_side()
    y = _side_by_side(builder, x, w, found) if is_product else _stuffed(builder, x, w, found, group)
    return y if bias is None else biased(builder, y, bias, 1)


def _side_by_side(builder: Builder, x: Tensor, w: Tensor, found: Spread) -> Tensor:
    """Dimensions of run-time extents stay apart: no index map says where an element of them lies among all pixels."""
    rows = prod(extent for extent in w.shape[1:] if isinstance(extent, int))
    filters = builder.transpose(builder.reshape(w, (w.shape[0], rows)), (1, 0))
    extents = tuple(extent for extent in found.extents if isinstance(extent, int))
    is_known = len(extents) == len(found.extents)
    letters = "p" if is_known else "pqr"[: len(found.extents)]
    pixels = builder.reshape(x, (*x.shape[:2], prod(extents))) if is_known else x
    sums = builder.einsum(f"nc{letters},mc->nm{letters}", pixels, filters)
    return builder.record(_put_apart, sums, found, w.shape[1], kind="spread")


def _put_apart(sums: Tensor, found: Spread, filters: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """y[n, m, i * stride + k] = sums[n, (m, k), i]."""
    assert isinstance(filters, int)
    kernel, strides = found.taps.kernel, found.taps.strides
    sizes: dict[str, Extent] = {
        "m": filters,
        **{f"k{d}": k for d, k in enumerate(kernel)},
        **{f"i{d}": e for d, e in enumerate(found.extents)},
    }
    place = {axis: axis_index(axis) if extent != 1 else constant(0) for axis, extent in sizes.items()}
    row, pixels = place["m"], [place[f"i{d}"] for d in range(len(kernel))]
    for d, count in enumerate(kernel):
        row = row * count + place[f"k{d}"]
    if len(sums.shape) == 3:
        pixel: Index = constant(0)
        for extent, along in zip(found.extents, pixels, strict=True):
            pixel = pixel * planned_extent(extent) + along
        pixels = [pixel]
    put = tuple(place[f"i{d}"] * strides[d] + place[f"k{d}"] for d in range(len(kernel)))
    axes = (Axis("n", sums.shape[0]), *(Axis(axis, extent) for axis, extent in sizes.items() if extent != 1))
    read = Access(sums.name, (axis_index("n"), row, *pixels))
    write = Access(result, (axis_index("n"), place["m"], *put))
    shape = (sums.shape[0], filters, *found.outputs)
    operator = Operator(name, "spread", axes, (read,), write, Load(0), accumulator=accumulator_of(sums.dtype))
    return operator, Tensor(result, shape, sums.dtype)


def _stuffed(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int) -> Tensor:
    """Windows of the reversed filters move over x with zeros between its elements, by one and over `begins` of padding."""
    taps = Taps(found.taps.kernel, (1,) * len(found.extents), found.taps.dilations)
    stuffed = x if set(found.taps.strides) == {1} else builder.record(_with_zeros, x, found, kind="stuff")
    begins = tuple(minus(span - 1, begin) for span, begin in zip(taps.spans(), found.begins, strict=True))
    backwards = builder.record(_reversed, w, group, kind="reverse")
    window: Window | RunTimeWindow = taps.window(found.outputs)
    if are_known((*found.extents, *found.outputs)):
        extents, outputs, pads = (tuple(map(planned_extent, each)) for each in (stuffed.shape[2:], found.outputs, begins))
        window = Window(taps.kernel, taps.strides, taps.dilations, extents, pads, pads, outputs)
    else:
        seen = (plus(o, span - 1) for o, span in zip(found.outputs, taps.spans(), strict=True))
        ends = tuple(minus(s, plus(e, b)) for s, e, b in zip(seen, stuffed.shape[2:], begins, strict=True))
        stuffed = pad_lengths(builder, stuffed, ((0, 0), (0, 0), *zip(begins, ends, strict=True)), 0.0)
    return builder.record(convolution, stuffed, backwards, window, group, kind="conv")


def _with_zeros(x: Tensor, found: Spread, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element and stride - 1 zeros behind it, along every dimension."""
    axes, put, constraints = [Axis("n", x.shape[0]), Axis("c", x.shape[1])], [], []
    read = [axis_index("n"), axis_index("c")]
    for d, (extent, stride) in enumerate(zip(found.extents, found.taps.strides, strict=True)):
        element, zero = (axis_index(f"i{d}") if extent != 1 else constant(0)), axis_index(f"z{d}")
        axes += [Axis(f"i{d}", extent)] if extent != 1 else []
        axes += [Axis(f"z{d}", stride)] if stride > 1 else []
        put.append(element * stride + zero if stride > 1 else element)
        read.append(element)
        constraints += [zero * -1] if stride > 1 else []
    shape = (*x.shape[:2], *(times(e, s) for e, s in zip(found.extents, found.taps.strides, strict=True)))
    source = Access(x.name, tuple(read), Guard(tuple(constraints), 0.0))
    write = Access(result, (axis_index("n"), axis_index("c"), *put))
    operator = Operator(name, "stuff", tuple(axes), (source,), write, Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


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
    operator = Operator(name, "reverse", axes, (read,), write, Load(0), accumulator=accumulator_of(w.dtype))
    return operator, Tensor(result, shape, w.dtype)
