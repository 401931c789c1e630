"""Transposed convolution by phases: of every `stride` outputs along a dimension, each sees its own taps of the filters.

Output o and tap k meet at the input i where i * stride = o + begin - k * dilation. So the outputs q * stride + r of a phase r are
a convolution of stride 1, by the taps whose k * dilation leaves the same rest as r + begin: no zero between elements takes part
(W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?", arXiv:1609.07009, 2016). Phases that see as many
taps at the same inputs are filters of one convolution, and a map puts the results of all of them side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from math import gcd, prod
from typing import TypeAlias

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad_lengths
from tilewright.graph.builders.convolutions.convolution import biased, convolution
from tilewright.graph.builders.convolutions.overlapped import TapsOfPhase, products_of_taps, sums_of_taps
from tilewright.graph.builders.convolutions.spread import Spread
from tilewright.graph.builders.convolutions.windows import RunTimeWindow, Taps, Window
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.extents import minus, plus, times
from tilewright.graph.expressions.index import Index, constant, number_of
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.shapes import are_known
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, Tensor, planned_extent
from tilewright.records import record

Along: TypeAlias = Sequence[Sequence[tuple["Phase", ...]]]
"""Along every dimension, the phases that are joined."""


FEW_FILTERS = 4
"""Of each group."""
FEW_ROWS = 4
"""Of the products of phases, in the mean: all taps are rows of one product then."""
MOST_PHASES = 16
"""That add up the taps of one product, each its own."""
LEAST_CHANNELS = 16
"""Of an image that all taps multiply at once, so that multiplying takes more than adding up (5x5 by two, 8 to 3 channels of
128 x 128: 0.50 ms so, 0.27 by phases, Zen 4)."""
MOST_RUN_TIME_PHASES = 16
"""Of an image whose extents are known at run time."""
MOST_APART = 4
"""Phases whose results lanes put side by side."""


@record
class Phase:
    """What an output of a phase sees along one dimension: output q, tap t sees input q + shift - t * dilation."""

    number: int
    taps: int
    shift: int
    first: int
    """Of the taps, and their distance among all."""
    step: int
    dilation: int


def phases(kernel: int, stride: int, dilation: int, begin: int) -> tuple[Phase, ...]:
    """The phases along one dimension.

    >>> [(phase.taps, phase.shift, phase.first) for phase in phases(kernel=3, stride=2, dilation=1, begin=1)]
    [(1, 0, 1), (2, 1, 0)]
    """
    common = gcd(stride, dilation)
    found = []
    for number in range(stride):
        place = number + begin
        first = next((k for k in range(min(kernel, stride)) if (place - k * dilation) % stride == 0), kernel)
        step = stride // common
        taps = len(range(first, kernel, step))
        shift = (place - first * dilation) // stride if taps else 0
        found.append(Phase(number, taps, shift, first, step, dilation // common))
    return tuple(found)


def joined(found: Sequence[Phase]) -> tuple[tuple[Phase, ...], ...]:
    """Neighbours that see as many taps of the same inputs, and whose first taps are neighbours.

    >>> [len(some) for some in joined(phases(kernel=512, stride=160, dilation=1, begin=0))]
    [32, 128]
    """
    alike = groupby(found, lambda phase: (phase.taps, phase.shift, phase.taps and phase.first - phase.number))
    return tuple(tuple(some) for _, some in alike)


def has_phases(found: Spread) -> bool:
    """Whether it is known where phases begin, and how many outputs there are beside `stride` for each input.

    Over extents known at run time, many phases are as many convolutions whose planning takes minutes.
    """
    if prod(found.taps.strides) > MOST_RUN_TIME_PHASES and not are_known(found.extents):
        return False
    each = zip(found.outputs, found.extents, found.taps.strides, strict=True)
    more = (minus(output, times(extent, stride)) for output, extent, stride in each if not isinstance(output, int))
    return are_known((*found.begins, *more))


def in_phases(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None) -> Tensor:
    """The sums of x [n, g C + c, i] and filters [g C + c, m, k], with a bias for every filter.

    Where no output is cut off before the first element, more phases see the same inputs: few filters, which fill no product, are
    worth some outputs more.
    """
    uncut = replace(found, begins=(0,) * len(found.begins), outputs=tuple(map(plus, found.outputs, found.begins)))
    if planned_extent(w.shape[1]) <= FEW_FILTERS and prod(map(len, joined_along(uncut))) < prod(map(len, joined_along(found))):
        return _cut(builder, in_phases(builder, x, w, uncut, group, bias), found, found.begins)
    along = joined_along(found)
    parts = [Part(some) for some in product(*along)]
    if _are_few(x, w, found, group, parts):
        return _overlapped(builder, x, w, found, bias)
    early = bias if len(parts) == 1 and not parts[0].is_empty() else None
    sums = [None if part.is_empty() else part.sums(builder, x, w, found, group, early) for part in parts]
    if set(found.taps.strides) == {1} and sums[0] is not None:
        return sums[0]
    late = None if early else bias
    y = builder.record(_side_by_side, parts, sums, found, x, along, late, kind="interleave")
    return _cut(builder, y, found, (0,) * len(along))


def _are_few(x: Tensor, w: Tensor, found: Spread, group: int, parts: Sequence[Part]) -> bool:
    """Whether phases that see different taps would be products of a few rows each: all taps are rows of one product then."""
    strides, filters = prod(found.taps.strides), planned_extent(w.shape[1])
    fits = filters <= FEW_FILTERS and strides * filters <= FEW_ROWS * len(parts) and strides <= MOST_PHASES
    is_one = group == 1 and len(parts) > 1 and not any(part.is_empty() for part in parts)
    has_channels = planned_extent(w.shape[0]) >= LEAST_CHANNELS
    return is_one and fits and has_channels and x.dtype == "float32" and are_known((*x.shape, *found.outputs))


def _overlapped(builder: Builder, x: Tensor, w: Tensor, found: Spread, bias: Tensor | None) -> Tensor:
    """The products of all taps, and for each phase the sums of those that it sees."""
    t, filters = products_of_taps(builder, x, w), planned_extent(w.shape[1])
    along = [[(phase,) for some in parts for phase in some] for parts in joined_along(found)]
    parts = [Part(some) for some in product(*along)]
    sums = [builder.record(sums_of_taps, t, filters, part.seen_taps(found), part.window(found), kind="overlap") for part in parts]
    y = builder.record(_side_by_side, parts, sums, found, x, along, bias, kind="interleave")
    return _cut(builder, y, found, (0,) * len(along))


def joined_along(found: Spread) -> list[tuple[tuple[Phase, ...], ...]]:
    """The phases that are joined, along every dimension."""
    each = zip(found.taps.kernel, found.taps.strides, found.taps.dilations, map(planned_extent, found.begins), strict=True)
    return [joined(phases(*taps)) for taps in each]


def _cut(builder: Builder, y: Tensor, found: Spread, begins: Sequence[Extent]) -> Tensor:
    """As many outputs as there are, from some on."""
    if y.shape[2:] == found.outputs:
        return y
    each = zip(begins, found.outputs, strict=True)
    return builder.slice(y, (slice(None), slice(None), *(slice(begin, plus(begin, extent)) for begin, extent in each)))


@record
class Part:
    """Phases, along every dimension, whose results are those of one convolution."""

    along: tuple[tuple[Phase, ...], ...]

    def is_empty(self) -> bool:
        """Whether no tap meets an input."""
        return any(some[0].taps == 0 for some in self.along)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many phases there are along every dimension."""
        return tuple(map(len, self.along))

    def within(self, apart: Sequence[tuple[Phase, ...]]) -> list[tuple[Phase, ...]]:
        """Of some phases along the last dimension those of this part."""
        return [some for some in apart if some[0] in self.along[-1]]

    def window(self, found: Spread) -> Window:
        """How reversed filters move over an image of known extents."""
        taps, begins, ends = self._moved(found)
        extents, behind, outputs = (tuple(map(planned_extent, each)) for each in (found.extents, ends, rows_of(found)))
        return Window(taps.kernel, taps.strides, taps.dilations, extents, begins, behind, outputs)

    def _moved(self, found: Spread) -> tuple[Taps, tuple[int, ...], tuple[Extent, ...]]:
        """The taps, and the padding before and behind the image."""
        firsts = [some[0] for some in self.along]
        taps = Taps(tuple(one.taps for one in firsts), (1,) * len(firsts), tuple(one.dilation for one in firsts))
        begins = tuple(span - 1 - one.shift for span, one in zip(taps.spans(), firsts, strict=True))
        each = zip(rows_of(found), taps.spans(), begins, found.extents, strict=True)
        return taps, begins, tuple(minus(plus(count, span - 1 - begin), extent) for count, span, begin, extent in each)

    def seen_taps(self, found: Spread) -> list[TapsOfPhase]:
        """Along every dimension those of the first phase."""
        each = zip((some[0] for some in self.along), found.taps.kernel, strict=True)
        return [TapsOfPhase(one.first, one.step, one.taps, of) for one, of in each]

    def windows(self, builder: Builder, x: Tensor, found: Spread) -> tuple[Tensor, Window | RunTimeWindow]:
        """What reversed filters move over, and how: of run-time extents a padded copy."""
        if are_known((*found.extents, *found.outputs)):
            return x, self.window(found)
        taps, begins, ends = self._moved(found)
        x = pad_lengths(builder, x, ((0, 0), (0, 0), *zip(begins, ends, strict=True)), 0.0)
        return x, taps.window(rows_of(found))

    def sums(self, builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None) -> Tensor:
        """The results [n, (g, m, phases), q]."""
        filters = builder.record(_filters, w, self, group, kind="filters")
        seen, window = self.windows(builder, x, found)
        y = builder.record(convolution, seen, filters, window, group, kind="conv")
        count = prod(self.lengths)
        return y if bias is None else biased(builder, y, _repeated(builder, bias, count), 1)


def rows_of(found: Spread) -> tuple[Extent, ...]:
    """Outputs of every phase, as many as the first has."""
    return tuple(map(_rows, found.outputs, found.extents, found.taps.strides))


def _rows(output: Extent, extent: Extent, stride: int) -> Extent:
    if isinstance(output, int):
        return -(-output // stride)
    return plus(extent, -(-planned_extent(minus(output, times(extent, stride))) // stride))


def _repeated(builder: Builder, bias: Tensor, count: int) -> Tensor:
    """Every element so many times."""
    return bias if count == 1 else builder.record(_repeat, bias, count, kind="repeat")


def _repeat(bias: Tensor, count: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    filters = planned_extent(bias.shape[0])
    place = _places({"m": filters, "r": count})
    axes = _axes({"m": filters, "r": count})
    write = Access(result, (place["m"] * count + place["r"],))
    operator = Operator(
        name, "repeat", axes, (Access(bias.name, (place["m"],)),), write, Load(0), accumulator=accumulator_of(bias.dtype)
    )
    return operator, Tensor(result, (filters * count,), bias.dtype)


def _filters(w: Tensor, part: Part, group: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Filters of a convolution: f[(g, m, phases), c, t] = w[g C + c, m, first + T - 1 - t of every phase].

    The axis m is there even if it has one point: by it a product with one filter is known as such.
    """
    channels, filters = planned_extent(w.shape[0]) // group, planned_extent(w.shape[1])
    rank = len(part.along)
    sizes = {"g": group, "m": filters, **{f"r{d}": count for d, count in enumerate(part.lengths)}, "c": channels}
    sizes |= {f"k{d}": some[0].taps for d, some in enumerate(part.along)}
    place = {**_places(sizes), "m": axis_index("m")}
    taps = [constant(some[0].taps - 1) - place[f"k{d}"] for d, some in enumerate(part.along)]
    numbers = [place[f"r{d}"] + some[0].first + taps[d] * some[0].step for d, some in enumerate(part.along)]
    row = number_of(
        [(place["g"], group), (place["m"], filters), *((place[f"r{d}"], count) for d, count in enumerate(part.lengths))]
    )
    read = Access(w.name, (place["g"] * channels + place["c"], place["m"], *numbers))
    write = Access(result, (row, place["c"], *(place[f"k{d}"] for d in range(rank))))
    axes = tuple(Axis(axis, extent) for axis, extent in sizes.items() if extent != 1 or axis == "m")
    shape = (group * filters * prod(part.lengths), channels, *(some[0].taps for some in part.along))
    operator = Operator(name, "filters", axes, (read,), write, Load(0), accumulator=accumulator_of(w.dtype))
    return operator, Tensor(result, shape, w.dtype)


def _side_by_side(
    parts: Sequence[Part],
    sums: Sequence[Tensor | None],
    found: Spread,
    x: Tensor,
    along: Along,
    bias: Tensor | None,
    *,
    name: str,
    result: str,
) -> tuple[Operator, Tensor]:
    """y[n, m, q * stride + r] = sums of the part of r [n, (m, r), q], and bias[m]."""
    strides, rows = found.taps.strides, rows_of(found)
    filters = next(planned_extent(y.shape[1]) // prod(part.lengths) for part, y in zip(parts, sums, strict=True) if y)
    sizes: dict[str, Extent] = {"n": x.shape[0], "m": filters}
    sizes |= {f"{letter}{d}": sizes[d] for d in range(len(rows)) for letter, sizes in (("q", rows), ("r", strides))}
    place, apart = _places(sizes), [*along[:-1], _apart(along[-1])]
    owners = [(part, y, one) for part, y in zip(parts, sums, strict=True) for one in part.within(apart[-1])]
    present = [(part, y, one) for part, y, one in owners if y is not None]
    numbers = iter(range(len(present)))
    body = _chosen([Literal(0.0) if y is None else Load(next(numbers)) for _, y, _ in owners], apart)
    reads = [_read(part, y, one, place, strides) for part, y, one in present]
    if bias is not None:
        reads, body = [*reads, Access(bias.name, (place["m"],))], apply("add", body, Load(len(present)))
    outputs = (place[f"q{d}"] * stride + place[f"r{d}"] for d, stride in enumerate(strides))
    shape = (x.shape[0], filters, *(times(count, stride) for count, stride in zip(rows, strides, strict=True)))
    write = Access(result, (place["n"], place["m"], *outputs))
    operator = Operator(name, "interleave", _axes(sizes), tuple(reads), write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def _chosen(values: Sequence[Scalar], along: Along) -> Scalar:
    """The value of the part that phases are in: parts are numbered by the first dimension, then by the next."""
    if not along:
        return values[0]
    d, each = len(along) - 1, len(along[-1])
    some = [values[first : first + each] for first in range(0, len(values), each)]
    return _chosen([_by_phase(values, along[-1], f"r{d}") for values in some], along[:-1])


def _by_phase(values: Sequence[Scalar], joined: Sequence[tuple[Phase, ...]], axis: str) -> Scalar:
    """The value of the first of some neighbours whose last phase is not before the position along an axis."""
    body = values[-1]
    for value, some in reversed([*zip(values[:-1], joined[:-1], strict=True)]):
        body = apply("where", apply("less", AxisValue(axis), Literal(float(some[-1].number + 1))), value, body)
    return body


def _apart(joined: Sequence[tuple[Phase, ...]]) -> Sequence[tuple[Phase, ...]]:
    """Of a few phases in several parts each alone: no position says where reads lie, so that lanes can have all of them."""
    is_few = len(joined) > 1 and sum(map(len, joined)) <= MOST_APART
    return [(one,) for some in joined for one in some] if is_few else joined


def _read(part: Part, y: Tensor, last: tuple[Phase, ...], place: dict[str, Index], strides: tuple[int, ...]) -> Access:
    """The sums of some phases of a part along the last dimension, and of all along others, behind a guard."""
    limits: list[Index] = []
    rows = [(place["m"], 1)]
    for d, (some, here) in enumerate(zip(part.along, (*part.along[:-1], last), strict=True)):
        row, first, end = place[f"r{d}"], here[0].number, here[-1].number + 1
        is_guarded = d < len(strides) - 1 or len(here) > 1
        limits += [row - first] if first and is_guarded else []
        limits += [constant(end - 1) - row] if end < strides[d] and is_guarded else []
        rows.append((row - some[0].number if len(here) > 1 else constant(first - some[0].number), len(some)))
    indices = (place["n"], number_of(rows), *(place[f"q{d}"] for d in range(len(strides))))
    return Access(y.name, indices, Guard(tuple(limits), 0.0) if limits else None)


def _places(sizes: Mapping[str, Extent]) -> dict[str, Index]:
    return {axis: axis_index(axis) if extent != 1 else constant(0) for axis, extent in sizes.items()}


def _axes(sizes: Mapping[str, Extent]) -> tuple[Axis, ...]:
    return tuple(Axis(axis, extent) for axis, extent in sizes.items() if extent != 1)
