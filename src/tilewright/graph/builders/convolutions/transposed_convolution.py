"""Transposed convolution: y[n, g M + m, i * stride + k * dilation - begin] takes in x[n, g C + c, i] * w[g C + c, m, k].

Where it is known which outputs are of a phase it is made of convolutions of stride 1 (`phases.py`). Else it is the convolution of
x with zeros between its elements by the reversed filters (V. Dumoulin, F. Visin, arXiv:1603.07285, 2016, section 4).
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad_lengths
from tilewright.graph.builders.convolutions.convolution import biased, convolution
from tilewright.graph.builders.convolutions.phases import has_phases, in_phases
from tilewright.graph.builders.convolutions.spread import Spread
from tilewright.graph.builders.convolutions.windows import Taps
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.extents import minus, plus, times
from tilewright.graph.expressions.index import Index, constant
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, Axis, Guard, Operator, Tensor, planned_extent


def transposed_convolution(
    builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None = None
) -> Tensor:
    """The sums of x [n, g C + c, i] and filters [g C + c, m, k], with a bias for every filter.

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (1, 2, 4), "float32"), builder.input("w", (2, 3, 3), "float32")
    >>> transposed_convolution(builder, x, w, Spread.cut((4,), Taps((3,), (2,), (1,)), (0,), (1,), (0,)), 1).shape
    (1, 3, 8)
    """
    if has_phases(found):
        return in_phases(builder, x, w, found, group, bias)
    y = _stuffed(builder, x, w, found, group)
    return y if bias is None else biased(builder, y, bias, 1)


def _stuffed(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int) -> Tensor:
    """Windows of the reversed filters move over x with zeros between its elements, by one and over `begins` of padding."""
    taps = Taps(found.taps.kernel, (1,) * len(found.extents), found.taps.dilations)
    stuffed = x if set(found.taps.strides) == {1} else builder.record(_with_zeros, x, found, kind="stuff")
    begins = tuple(minus(span - 1, begin) for span, begin in zip(taps.spans(), found.begins, strict=True))
    backwards = builder.record(_reversed, w, group, kind="reverse")
    seen = (plus(o, span - 1) for o, span in zip(found.outputs, taps.spans(), strict=True))
    ends = tuple(minus(s, plus(e, b)) for s, e, b in zip(seen, stuffed.shape[2:], begins, strict=True))
    stuffed = pad_lengths(builder, stuffed, ((0, 0), (0, 0), *zip(begins, ends, strict=True)), 0.0)
    return builder.record(convolution, stuffed, backwards, taps.window(found.outputs), group, kind="conv")


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
