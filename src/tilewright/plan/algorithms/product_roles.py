"""Roles of the axes of a sum of products: one operand is an image, the other one filters that every part of the image meets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from math import prod
from typing import Any

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.expressions.index import Index, floordiv, mod, number_of
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.rewrites.rebuild import unused
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Extent, Operator, Tensor
from tilewright.plan.algorithms.definition import Problem, expected, found_once
from tilewright.records import record

Axes = tuple[Axis, ...]
Reads = tuple[Access, Access]
"""Of the image and of the filters."""
Build = Callable[..., tuple[Operator, Tensor]]
"""What `Builder.record` runs."""
Change = Callable[[Build], Build]
"""Of the builder of a map that moves elements: that of a map which also changes each of them."""

MOVED = Load(0)
"""The body of a map that only moves elements."""


def unchanged(build: Build) -> Build:
    """The `Change` that leaves elements as they are."""
    return build


@record
class ProductRoles:
    """y[batch, group, filter, output] = sum of image[batch, group, reduced, output] * weights[group, filter, reduced].

    Only batch axes may have extents that are known at run time, and outputs where that was asked for.
    """

    problem: Problem
    image: Access
    weights: Access
    batch: Axes
    """Of the image alone, before all axes of the filters."""
    group: Axes
    """Of both operands and the result; one at most, and so with the filters."""
    filters: Axes
    outputs: Axes
    """Of the image alone, behind."""
    reduced: Axes
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was found out of them: `found_once`."""

    @property
    def result_channels(self) -> Axes:
        """The axes of the result's channels."""
        return (*self.group, *self.filters)

    @property
    def channels(self) -> Index:
        """The channel of the result as one number."""
        return number(self.result_channels)

    @property
    def has_constant_filters(self) -> bool:
        """Whether filters do not change between calls: they are packed into panels when a kernel is loaded."""
        return self.weights.tensor in self.problem.constants

    def axis(self, name: str, extent: int, kind: AxisKind = AxisKind.PARALLEL) -> Axis:
        """An axis that the operator does not have."""
        return Axis(unused(name, {axis.name for axis in self.problem.operator.axes}), extent, kind)

    @property
    def is_moving(self) -> bool:
        """Whether the image is read by more than plain axes: by windows, with steps, or with a guard."""
        outputs, groups = ({axis.name for axis in axes} for axes in (self.outputs, self.group))
        indices = [index for index in self.image.indices if index.axes() & outputs and not index.axes() & groups]
        return self.image.guard is not None or not all(index.is_axis() for index in indices)

    @property
    def dimension_of_pixels(self) -> int | None:
        """The first of the image's dimensions along outputs, where these are neighbours and outputs walk them as a whole."""
        indices, outputs = self.image.indices, plain(self.outputs)
        place = indices.index(outputs[0]) if outputs[0] in indices else 0
        behind, shape = place + len(outputs), self.problem.tensors[self.image.tensor].shape
        return place if indices[place:behind] == outputs and shape[place:behind] == extents(self.outputs) else None

    def pixels_in_a_row(self, builder: Builder, p: Axis) -> Access:
        """The image with these dimensions as one, which is the same memory, read at an output by its number."""
        tensor, place, indices = self.problem.tensors[self.image.tensor], expected(self.dimension_of_pixels), self.image.indices
        behind = place + len(self.outputs)
        shape = (*tensor.shape[:place], points(self.outputs), *tensor.shape[behind:])
        axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
        split = digits(axis_index(f"d{place}"), self.outputs)
        read = (*plain(axes[:place]), *(split[axis.name] for axis in self.outputs), *plain(axes[place + 1 :]))
        line = self.move(builder, each(axes), Access(tensor.name, read), "reshape")
        return Access(line.name, (*indices[:place], axis_index(p.name), *indices[behind:]))

    def weights_by(self, numbers: Mapping[Axis, Axes]) -> Access:
        """The read of the filters by axes that number others, in place of these."""
        places = {name: digit for axis, of in numbers.items() for name, digit in digits(axis_index(axis.name), of).items()}
        limits = {axis.name: points((axis,)) for axis in numbers}
        return self.weights.mapped(lambda index: index.substitute(places, limits))

    def move(self, builder: Builder, dimensions: Sequence[Axes], read: Access, kind: str, change: Change = unchanged) -> Tensor:
        """What is read, as a new tensor with one dimension for each number of axes, changed as it is copied."""
        axes = parallel(chain.from_iterable(dimensions))
        build = self._map(axes, read, tuple(map(number, dimensions)), shape_of(dimensions), kind, MOVED)
        return builder.record(change(build), kind=kind)

    def in_place(self, builder: Builder, read: Access, kind: str, body: Scalar = MOVED, *, merges: bool = False) -> Tensor:
        """The result of the operator out of its sums, which are read at batches, channels and outputs.

        Groups and filters are merged into one axis where that is asked for and the result has them as one number.
        """
        write, channels = self.problem.operator.write, self.result_channels
        if merges and len(channels) > 1 and self.channels in write.indices:
            channels = (Axis(channels[-1].name, points(channels)),)
            read, write = (access.mapped(lambda i: number(channels) if i == self.channels else i) for access in (read, write))
        axes = (*self.batch, *channels, *self.outputs)
        return builder.record(self._map(axes, read, write.indices, self.problem.result.shape, kind, body), kind=kind)

    def product(self, builder: Builder, reads: Reads, dimensions: Sequence[Axes], reduced: Axes, axes: Axes = ()) -> Tensor:
        """Sums of products of the image and the filters, with one dimension for each number of axes.

        `axes` is the order of the loops, that of the dimensions by default.
        """
        operator, kept = self.problem.operator, axes or tuple(chain.from_iterable(dimensions))
        written, shape = tuple(map(number, dimensions)), shape_of(dimensions)
        return sums(builder, (*kept, *reduced), reads, written, shape, operator.accumulator, self.problem.result.dtype)

    def _map(self, axes: Axes, read: Access, written: Sequence[Index], shape: Sequence[Extent], kind: str, body: Scalar) -> Build:
        """A map that moves elements, or what a body makes of each, into a new tensor of the image's element type."""
        source = self.problem.tensors[read.tensor]
        accumulator = "float32" if source.dtype in BYTES else self.problem.operator.accumulator
        fills = read.guard is not None and read.guard.otherwise != 0  # by numbers of which nothing is known, zero points
        known = source.magnitudes if body == MOVED and not fills else None
        magnitudes = known and known.copied([_source_dimension(read, index) for index in written])

        def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
            operator = Operator(name, kind, axes, (read,), Access(result, tuple(written)), body, accumulator=accumulator)
            return operator, Tensor(result, tuple(shape), source.dtype, magnitudes)

        return build


@found_once
def roles_of(problem: Problem, *, any_outputs: bool = False, least_outputs: int = 2) -> ProductRoles | None:
    """The roles of the axes of an operator that moves windows over one of its operands, or has so many axes of outputs.

    With `any_outputs` these may have extents known at run time: their numbers are unknown then, and so is how many there are.
    """
    operator = problem.operator
    if not operator.is_product_sum() or any(access.lookups for access in operator.reads):
        return None
    found = [_roles(problem, image, any_outputs=any_outputs) for image in (0, 1)]
    usable = [roles for roles in found if roles is not None]
    moving = [roles for roles in usable if roles.is_moving]
    if moving:
        return moving[0] if len(moving) == 1 else None
    return next((roles for roles in usable if len(roles.outputs) >= least_outputs), None)


def _roles(problem: Problem, image: int, *, any_outputs: bool) -> ProductRoles | None:
    operator = problem.operator
    read, weights = operator.reads[image], operator.reads[1 - image]
    own = weights.axes()
    parallel = [axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL]
    first = next((place for place, axis in enumerate(parallel) if axis.name in own), len(parallel))
    group = tuple(axis for axis in parallel if axis.name in own & read.axes())
    filters = tuple(axis for axis in parallel if axis.name in own - read.axes())
    outputs = tuple(axis for axis in parallel[first:] if axis.name not in own)
    reduced = operator.reduction_axes()
    channels = (*group, *filters)
    numbered = (*channels, *reduced) if any_outputs else (*channels, *outputs, *reduced)
    is_known = all(isinstance(axis.extent, int) for axis in numbered)
    is_number = len(channels) == 1 or (len(group) == len(filters) == 1 and min(map(points, ((axis,) for axis in channels))) > 1)
    if not is_known or not is_number or weights.guard is not None:
        return None
    return ProductRoles(problem, read, weights, tuple(parallel[:first]), group, filters, outputs, reduced)


def points(axes: Sequence[Axis]) -> int:
    """How many points some axes have, whose extents are known."""
    return prod(extent for axis in axes if isinstance(extent := axis.extent, int))


def number(axes: Sequence[Axis]) -> Index:
    """The number whose digits are axes, the last one changing fastest.

    >>> str(number((Axis("h", 3), Axis("w", 4))))
    '4*h + w'
    """
    return number_of([(axis_index(axis.name), points((axis,))) for axis in axes])


def digits(place: Index, axes: Sequence[Axis]) -> dict[str, Index]:
    """The axes whose number is an index: what `number` puts together.

    >>> {axis: str(index) for axis, index in digits(axis_index("p"), (Axis("h", 3), Axis("w", 4))).items()}
    {'h': '(p)//4', 'w': '(p)%4'}
    """
    found: dict[str, Index] = {}
    for position, axis in enumerate(axes):
        quotient = floordiv(place, points(axes[position + 1 :])) if position + 1 < len(axes) else place
        found[axis.name] = mod(quotient, points((axis,))) if position else quotient
    return found


def parallel(axes: Iterable[Axis]) -> Axes:
    """Axes as those of a map."""
    return tuple(Axis(axis.name, axis.extent) for axis in axes)


def each(axes: Iterable[Axis]) -> tuple[Axes, ...]:
    """A dimension for each axis."""
    return tuple((axis,) for axis in axes)


def plain(axes: Sequence[Axis]) -> tuple[Index, ...]:
    """One dimension for each axis."""
    return tuple(axis_index(axis.name) for axis in axes)


def extents(axes: Sequence[Axis]) -> tuple[Extent, ...]:
    """Of tensors with one dimension for each axis."""
    return tuple(axis.extent for axis in axes)


def shape_of(dimensions: Sequence[Axes]) -> tuple[Extent, ...]:
    """Of a tensor whose dimensions number some axes each; several axes of one dimension have known extents."""
    return tuple(axes[0].extent if len(axes) == 1 else points(axes) for axes in dimensions)


def _source_dimension(read: Access, written: Index) -> int | None:
    """The dimension of what is read along which neighbours lie that become neighbours along a dimension, if there is one."""
    places = [place for place, index in enumerate(read.indices) if index.axes() & written.axes()]
    return places[0] if len(places) == 1 and written.is_axis() and read.indices[places[0]] == written else None


def sums(
    builder: Builder, axes: Axes, reads: Reads, written: Sequence[Index], shape: Sequence[Extent], accumulator: str, dtype: str
) -> Tensor:
    """Sums of products of two reads, as a new tensor of these dimensions."""

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        write = Access(result, tuple(written))
        return Operator(name, "conv", axes, reads, write, PRODUCT, SUM, accumulator), Tensor(result, tuple(shape), dtype)

    return builder.record(build, kind="conv")
