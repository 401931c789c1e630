"""Transposed convolution by phases: of every `stride` outputs along a dimension, each sees its own taps of the filters.

Output o and tap k meet at the input i where i * stride = o + begin - k * dilation. So the outputs q * stride + r of a phase r are
a convolution of stride 1, by the taps whose k * dilation leaves the same rest as r + begin: no zero between elements takes part
(W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?", arXiv:1609.07009, 2016). Phases that see as many
taps at the same inputs are filters of one convolution, and a map puts the results of all of them side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, product
from math import gcd, prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import biased, convolution
from tilewright.graph.builders.convolutions.spread import Spread
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.index import Index, constant
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.types import Access, Axis, Extent, Guard, Operator, Tensor, planned_extent
from tilewright.records import record


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


def in_phases(builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None) -> Tensor:
    """The sums of x [n, g C + c, i] and filters [g C + c, m, k] of known extents, with a bias for every filter."""
    each = zip(found.taps.kernel, found.taps.strides, found.taps.dilations, map(planned_extent, found.begins), strict=True)
    along = [joined(phases(*taps)) for taps in each]
    parts = [Part(some) for some in product(*along)]
    is_late = bias is not None and any(part.is_empty() for part in parts)
    early = None if is_late else bias
    sums = [None if part.is_empty() else part.sums(builder, x, w, found, group, early) for part in parts]
    y = sums[0] if set(found.taps.strides) == {1} else None
    y = y or _cut(builder, builder.record(_side_by_side, parts, sums, found, x, w, group, kind="interleave"), found)
    return biased(builder, y, bias, 1) if is_late and bias is not None else y


def _cut(builder: Builder, y: Tensor, found: Spread) -> Tensor:
    """Without the outputs behind the last one."""
    return builder.slice(y, (slice(None), slice(None), *(slice(0, extent) for extent in map(planned_extent, found.outputs))))


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

    def window(self, found: Spread) -> Window:
        """What reversed filters move over."""
        firsts = [some[0] for some in self.along]
        kernel, dilations = tuple(one.taps for one in firsts), tuple(one.dilation for one in firsts)
        spans = [(taps - 1) * dilation for taps, dilation in zip(kernel, dilations, strict=True)]
        begins = tuple(span - one.shift for span, one in zip(spans, firsts, strict=True))
        extents, outputs = tuple(map(planned_extent, found.extents)), rows_of(found)
        each = zip(outputs, spans, begins, extents, strict=True)
        ends = tuple(count + span - begin - extent for count, span, begin, extent in each)
        return Window(kernel, (1,) * len(kernel), dilations, extents, begins, ends, outputs)

    def sums(self, builder: Builder, x: Tensor, w: Tensor, found: Spread, group: int, bias: Tensor | None) -> Tensor:
        """The results [n, (g, m, phases), q]."""
        filters = builder.record(_filters, w, self, group, kind="filters")
        y = builder.record(convolution, x, filters, self.window(found), group, kind="conv")
        count = prod(self.lengths)
        return y if bias is None else biased(builder, y, _repeated(builder, bias, count), 1)


def rows_of(found: Spread) -> tuple[int, ...]:
    """Outputs of every phase, as many as the first has."""
    return tuple(-(-planned_extent(o) // stride) for o, stride in zip(found.outputs, found.taps.strides, strict=True))


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
    """Filters of a convolution: f[(g, m, phases), c, t] = w[g C + c, m, first + T - 1 - t of every phase]."""
    channels, filters = planned_extent(w.shape[0]) // group, planned_extent(w.shape[1])
    rank = len(part.along)
    sizes = {"g": group, "m": filters, **{f"r{d}": count for d, count in enumerate(part.lengths)}, "c": channels}
    sizes |= {f"k{d}": some[0].taps for d, some in enumerate(part.along)}
    place = _places(sizes)
    taps = [constant(some[0].taps - 1) - place[f"k{d}"] for d, some in enumerate(part.along)]
    numbers = [place[f"r{d}"] + some[0].first + taps[d] * some[0].step for d, some in enumerate(part.along)]
    row = _number([(place["g"], group), (place["m"], filters), *_by_phase(place, part)])
    read = Access(w.name, (place["g"] * channels + place["c"], place["m"], *numbers))
    write = Access(result, (row, place["c"], *(place[f"k{d}"] for d in range(rank))))
    shape = (group * filters * prod(part.lengths), channels, *(some[0].taps for some in part.along))
    operator = Operator(name, "filters", _axes(sizes), (read,), write, Load(0), accumulator=accumulator_of(w.dtype))
    return operator, Tensor(result, shape, w.dtype)


def _side_by_side(
    parts: Sequence[Part],
    sums: Sequence[Tensor | None],
    found: Spread,
    x: Tensor,
    w: Tensor,
    group: int,
    *,
    name: str,
    result: str,
) -> tuple[Operator, Tensor]:
    """y[n, m, q * stride + r] = sums of the part of r [n, (m, r), q]."""
    strides, rows, filters = found.taps.strides, rows_of(found), group * planned_extent(w.shape[1])
    sizes: dict[str, Extent] = {"n": x.shape[0], "m": filters}
    sizes |= {f"{letter}{d}": sizes[d] for d in range(len(rows)) for letter, sizes in (("q", rows), ("r", strides))}
    place = _places(sizes)
    reads: list[Access] = []
    body: Scalar = Literal(0.0)
    for part, tensor in reversed([*zip(parts, sums, strict=True)]):
        value: Scalar = Literal(0.0) if tensor is None else Load(len(reads))
        reads += [] if tensor is None else [_read(part, tensor, place, strides)]
        body = _within(part, strides, value, body)
    write = Access(
        result, (place["n"], place["m"], *(place[f"q{d}"] * stride + place[f"r{d}"] for d, stride in enumerate(strides)))
    )
    shape = (x.shape[0], filters, *(count * stride for count, stride in zip(rows, strides, strict=True)))
    operator = Operator(name, "interleave", _axes(sizes), tuple(reads), write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def _within(part: Part, strides: tuple[int, ...], value: Scalar, otherwise: Scalar) -> Scalar:
    """A value where no phase is behind those of a part."""
    for d, some in reversed([*enumerate(part.along)]):
        end = some[-1].number + 1
        if end < strides[d]:
            value = apply("where", apply("less", AxisValue(f"r{d}"), Literal(float(end))), value, otherwise)
    return value


def _read(part: Part, tensor: Tensor, place: dict[str, Index], strides: tuple[int, ...]) -> Access:
    """The sums of a part, behind a guard."""
    limits: list[Index] = []
    rows: list[tuple[Index, int]] = []
    for d, some in enumerate(part.along):
        first, end = some[0].number, some[-1].number + 1
        limits += [place[f"r{d}"] - first] if first else []
        limits += [constant(end - 1) - place[f"r{d}"]] if end < strides[d] else []
        rows.append((place[f"r{d}"] - first if len(some) > 1 else constant(0), len(some)))
    row = _number([(place["m"], 1), *rows])
    indices = (place["n"], row, *(place[f"q{d}"] for d in range(len(part.along))))
    return Access(tensor.name, indices, Guard(tuple(limits), 0.0) if limits else None)


def _by_phase(place: dict[str, Index], part: Part) -> list[tuple[Index, int]]:
    return [(place[f"r{d}"], count) for d, count in enumerate(part.lengths)]


def _number(digits: Sequence[tuple[Index, int]]) -> Index:
    """The number of these digits, each with how many values it has."""
    number = constant(0)
    for digit, count in digits:
        number = number * count + digit
    return number


def _places(sizes: Mapping[str, Extent]) -> dict[str, Index]:
    return {axis: axis_index(axis) if extent != 1 else constant(0) for axis, extent in sizes.items()}


def _axes(sizes: Mapping[str, Extent]) -> tuple[Axis, ...]:
    return tuple(Axis(axis, extent) for axis, extent in sizes.items() if extent != 1)
