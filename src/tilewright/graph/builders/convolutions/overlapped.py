"""Transposed convolution of few filters, as one product whose rows are taps, and sums of taps that overlap.

    t[n, (m, k), i] = sum of x[n, c, i] * w[c, m, k]
    y[n, m, o]      = sum of t[n, (m, k), i] where i * stride + k * dilation = o + begin

The outputs of a phase see their own taps (`phases.py`), and where phases see different numbers of them, a convolution for each
would be a product of a row or two over its own windows. Here all taps are rows of one product, whose image is read once (the
GEMM and col2im of K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document Processing",
2006, backwards); it writes a plane for each filter and tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.windows import Window, inside, position
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.index import Index, constant, number_of
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Guard, Operator, Tensor, planned_extent
from tilewright.records import record


def products_of_taps(builder: Builder, x: Tensor, w: Tensor) -> Tensor:
    """t[n, (m, k), i] of an image [n, c, i] of known extents and filters [c, m, k].

    >>> builder = Builder("f")
    >>> x, w = builder.input("x", (1, 8, 5), "float32"), builder.input("w", (8, 2, 3), "float32")
    >>> products_of_taps(builder, x, w).shape
    (1, 6, 5)
    """
    extents = tuple(map(planned_extent, x.shape[2:]))
    ones, zeros = (1,) * len(extents), (0,) * len(extents)
    window = Window(ones, ones, ones, extents, zeros, zeros, extents)
    return builder.record(convolution, x, builder.record(_rows, w, kind="filters"), window, 1, kind="conv")


def _rows(w: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Filters of one tap: f[(m, k), c, 1] = w[c, m, k]."""
    channels, filters, *kernel = map(planned_extent, w.shape)
    sizes = {"m": filters, **{f"k{d}": taps for d, taps in enumerate(kernel)}, "c": channels}
    taps = [axis_index(f"k{d}") for d in range(len(kernel))]
    row = number_of([(axis_index("m"), filters), *zip(taps, kernel, strict=True)])
    write = Access(result, (row, axis_index("c"), *(constant(0) for _ in kernel)))
    axes = tuple(Axis(axis, extent) for axis, extent in sizes.items())
    read = Access(w.name, (axis_index("c"), axis_index("m"), *taps))
    operator = Operator(name, "filters", axes, (read,), write, Load(0), accumulator=accumulator_of(w.dtype))
    return operator, Tensor(result, (filters * prod(kernel), channels, *(1 for _ in kernel)), w.dtype)


@record
class TapsOfPhase:
    """Every `step`-th tap from the first on, `count` of them, of all that filters have along a dimension."""

    first: int
    step: int
    count: int
    of: int

    def backwards(self, number: Index) -> Index:
        """The tap of a number; the last one is number 0."""
        return (constant(self.count - 1) - number) * self.step + self.first


def sums_of_taps(
    t: Tensor, filters: int, seen: Sequence[TapsOfPhase], window: Window, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """y[n, m, q] = sum of t[n, (m, k), window of q] over the taps that a phase sees, the last one first."""
    sizes = {"n": planned_extent(t.shape[0]), "m": filters} | {f"q{d}": count for d, count in enumerate(window.outputs)}
    taps = {f"k{d}": one.count for d, one in enumerate(seen)}
    extents = sizes | taps
    place = {axis: axis_index(axis) if extent != 1 else constant(0) for axis, extent in extents.items()}
    row = number_of([(place["m"], filters), *((one.backwards(place[f"k{d}"]), one.of) for d, one in enumerate(seen))])
    places = [position(window, d, place[f"q{d}"], place[f"k{d}"]) for d in range(window.rank)]
    each = zip(places, window.extents, strict=True)
    limits = tuple(limit for index, extent in each for limit in inside(index, extent, extents))
    read = Access(t.name, (place["n"], row, *places), Guard(limits, 0.0) if limits else None)
    write = Access(result, tuple(place[axis] for axis in sizes))
    kinds = {**dict.fromkeys(sizes, AxisKind.PARALLEL), **dict.fromkeys(taps, AxisKind.REDUCTION)}
    axes = tuple(Axis(axis, extent, kinds[axis]) for axis, extent in extents.items() if extent != 1)
    reduction = SUM if any(axis.kind is AxisKind.REDUCTION for axis in axes) else None
    operator = Operator(name, "overlap", axes, (read,), write, Load(0), reduction, accumulator_of(t.dtype))
    return operator, Tensor(result, tuple(sizes.values()), t.dtype)
