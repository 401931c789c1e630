"""Windows of an image: along which dimensions they move, and what is copied of them or of all that they see.

A padded image has what the guard gives where windows stand out of the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Access, Axis, Guard, Tensor
from tilewright.plan.algorithms.definition import Problem, found_once
from tilewright.plan.algorithms.product_roles import Axes, Change, ProductRoles, each, number, plain, points, roles_of, unchanged
from tilewright.records import record


@record
class Slide:
    """Windows along one dimension of an image: output o and tap k look at o * stride + k * dilation, from the first on."""

    output: Axis
    tap: Axis | None
    stride: int
    dilation: int

    @property
    def seen(self) -> int:
        """Elements from the first of the first window to the last of the last one."""
        taps = points((self.tap,)) if self.tap else 1
        return (points((self.output,)) - 1) * self.stride + (taps - 1) * self.dilation + 1

    def position(self) -> Index:
        """What an output and a tap look at."""
        return axis_index(self.output.name) * self.stride + self.tap_position()

    def tap_position(self) -> Index:
        """How far a tap is from the first."""
        return axis_index(self.tap.name) * self.dilation if self.tap else Index()

    def by_position(self, index: Index, position: Axis) -> Index | None:
        """An index of the output and the tap as one of the position that they look at; None if it is none."""
        factor = index.coefficient(self.output.name) // self.stride
        rest = index - self.position() * factor
        return axis_index(position.name) * factor + rest.constant if factor and not rest.terms else None


@record
class SlidingProduct:
    """A sum of products whose windows move along dimensions of an image that no other axis walks."""

    roles: ProductRoles
    slides: tuple[Slide, ...]
    """One for each output, in that order."""

    @property
    def seen(self) -> tuple[int, ...]:
        """The extents of what all windows see."""
        return tuple(slide.seen for slide in self.slides)

    @property
    def taps(self) -> Axes:
        """The axes of taps, of dimensions that have several."""
        return tuple(slide.tap for slide in self.slides if slide.tap is not None)

    @property
    def summed_channels(self) -> Axes:
        """The axes of the image's channels that are summed."""
        return tuple(axis for axis in self.roles.reduced if axis not in self.taps)

    @property
    def channels(self) -> Axes:
        """The axes of the image's channels: groups, then those that are summed."""
        return (*self.roles.group, *self.summed_channels)

    @property
    def channel(self) -> Axis:
        """Of the image, as one axis."""
        return self.roles.axis("channel", points(self.channels))

    def seen_axes(self, lengths: Sequence[int] = ()) -> Axes:
        """An axis for each dimension along which windows move, of what they see or longer."""
        return tuple(self.roles.axis(f"s{d}", length) for d, length in enumerate(lengths or self.seen))

    def channels_last(self, lengths: Sequence[int] = ()) -> tuple[Axes, ...]:
        """The dimensions [batch, position, channel] of a padded image."""
        return each((*self.roles.batch, *self.seen_axes(lengths), self.channel))

    def channel_dimensions(self) -> tuple[int | None, int | None]:
        """Of the image and of the result; None where it has no dimension for them, or one of the result numbers several axes."""
        roles, accesses = self.roles, (self.roles.image, self.roles.problem.operator.write)
        image, written = ([Index(index.terms) for index in access.indices] for access in accesses)
        known = {Index(), roles.channels, *plain((*roles.batch, *roles.outputs))}
        places = ((image, number(self.channels)), (written if known.issuperset(written) else [], roles.channels))
        found = [indices.index(channels) if channels.terms and channels in indices else None for indices, channels in places]
        return found[0], found[1]

    @property
    def positions(self) -> tuple[Index, ...]:
        """What an output and a tap look at, along every dimension in which windows move."""
        return tuple(slide.position() for slide in self.slides)

    def image_dimensions(self) -> tuple[Index, ...]:
        """The dimensions of a padded image before those along which windows move, by the axes of the operator."""
        return (*plain(self.roles.batch), number(self.channels))

    def by_position(self, index: Index) -> Index | None:
        """An index of an output and its tap as one of the position that they look at; None if it is none."""
        found = (slide.by_position(index, axis) for slide, axis in zip(self.slides, self.seen_axes(), strict=True))
        return next((position for position in found if position is not None), None)

    def at_positions(self, image: Access) -> Access:
        """A read of the image by positions along the dimensions of these windows, in place of outputs and taps."""
        return image.mapped(lambda index: found if (found := self.by_position(index)) is not None else index)

    def tap_columns(self) -> WindowCopy:
        """What a row of taps sees, where rows of windows move by one: the next row sees the same, one row further on."""
        by_row, rows, columns = replace(self, slides=self.slides[:1]), self.slides[0], self.roles.outputs[1:]
        depth = tuple(axis for axis in self.roles.reduced if axis != rows.tap)
        offset = rows.tap_position() * points(columns)
        return WindowCopy(by_row.at_positions(self.roles.image), by_row.seen_axes(), depth, self.taps[:1], offset)


def sliding_product(problem: Problem, *, any_outputs: bool = False) -> SlidingProduct | None:
    """The windows of an operator; None where something else than windows moves, or where a guard is not one of positions.

    `any_outputs` as in `roles_of`: what all windows see has no known extent then.
    """
    roles = roles_of(problem, any_outputs=any_outputs)
    return None if roles is None else sliding_windows(roles, any_outputs=any_outputs)


def convolution_of(problem: Problem) -> SlidingProduct | None:
    """An operator as a convolution of any layout, by its index maps alone; None for everything else.

    Where no window moves, filters meet the pixels along two dimensions or more one by one: a product of two matrices is no
    convolution. Extents of batches and outputs may be known at run time only.
    """
    roles = roles_of(problem, any_outputs=True)
    if roles is None:
        return None
    if roles.is_moving:
        return sliding_windows(roles, any_outputs=True)
    found = SlidingProduct(roles, tuple(Slide(output, None, 1, 1) for output in roles.outputs))
    return found if _is_complete(found, any_outputs=True) else None


@found_once
def sliding_windows(roles: ProductRoles, *, any_outputs: bool = False) -> SlidingProduct | None:
    """The windows of an operator with these roles."""
    if not roles.is_moving:
        return None
    slides = [slide for output in roles.outputs if (slide := _slide(roles, output)) is not None]
    found = SlidingProduct(roles, tuple(slides))
    are_windows = len(slides) == len(roles.outputs) and len({*found.taps}) == len(found.taps)
    return found if are_windows and _is_complete(found, any_outputs=any_outputs) else None


def _slide(roles: ProductRoles, output: Axis) -> Slide | None:
    indices = [index for index in roles.image.indices if output.name in index.axes()]
    reduced = {axis.name: axis for axis in roles.reduced}
    if len(indices) != 1 or not indices[0].is_affine():
        return None
    steps = {str(atom): step for atom, step in indices[0].terms if atom != output.name}
    if len(steps) > 1 or not set(steps) <= set(reduced) or min(indices[0].coefficient(output.name), *steps.values(), 1) < 1:
        return None
    tap = next((reduced[name] for name in steps), None)
    return Slide(output, tap, indices[0].coefficient(output.name), next(iter(steps.values()), 1))


def _is_complete(product: SlidingProduct, *, any_outputs: bool) -> bool:
    """Whether dimensions without windows are batches and channels, each once, and every limit one of a position.

    Limits of `any_outputs` may have extents in them that are known at run time.
    """
    roles, outer, channels = product.roles, {slide.output.name for slide in product.slides}, number(product.channels)
    limits = roles.image.guard.constraints if roles.image.guard is not None else ()
    others = [index for index in roles.image.indices if index.terms and not index.axes() & outer]
    others = [Index(index.terms) if index.axes() <= channels.axes() else index for index in others]
    wanted = [*plain(roles.batch), *([channels] if product.channels else [])]
    known = (limit.with_extents(lambda extent: 0) if any_outputs else limit for limit in limits)
    return sorted(others, key=str) == sorted(wanted, key=str) and all(product.by_position(limit) is not None for limit in known)


def filters_by(builder: Builder, sliding: SlidingProduct, axes: Axes) -> Access:
    """The filters with one dimension for each of these axes: an index change."""
    return Access(sliding.roles.move(builder, each(axes), sliding.roles.weights, "filters").name, plain(axes))


def padded(
    builder: Builder,
    product: SlidingProduct,
    dimensions: Sequence[Axes] = (),
    change: Change = unchanged,
    places: Mapping[str, Index] | None = None,
) -> Tensor:
    """What all windows see, and points beyond it where axes of positions are longer, changed as it is copied.

    The dimensions number batches, channels and positions: [batch, channel, positions] by default; of other axes than positions
    `places` tells the positions, by their names.
    """
    seen, read = product.seen_axes(), product.at_positions(product.roles.image)
    dimensions = dimensions or each((*product.roles.batch, product.channel, *seen))
    axes = {*chain.from_iterable(dimensions)}
    beyond = (axis_index(axis.name) * -1 + (points((axis,)) - 1) for axis in seen if axis not in axes)
    guard = read.guard or Guard((), 0.0)
    limits = tuple(dict.fromkeys((*guard.constraints, *beyond)))
    indices = tuple(_by_channel(product, index) for index in read.indices)
    read = replace(read, indices=indices, guard=replace(guard, constraints=limits) if limits else None)
    if places:
        read = read.mapped(lambda index: index.substitute(places))
    return product.roles.move(builder, dimensions, read, "pad", change)


def _by_channel(product: SlidingProduct, index: Index) -> Index:
    """An index of the image by the channel of the padded image, where it is one of channels."""
    is_channel = bool(index.terms) and index.axes() <= number(product.channels).axes()
    return axis_index(product.channel.name) + index.constant if is_channel else index


@record
class WindowCopy:
    """What is copied of windows: all of each, or the columns that a row of taps sees."""

    image: Access
    rows: Axes
    """Of outputs, or of the padded image."""
    depth: Axes
    """What is summed of the copy at a time."""
    tap: Axes
    """The rows of taps, which are offsets into the copy."""
    offset: Index
    """Pixels of the copy from the first row of taps to another."""

    def of_block(self, roles: ProductRoles, block: Axis, block_rows: int) -> WindowCopy:
        """What is copied for a block of so many rows of outputs."""
        (seen,) = self.rows
        row = roles.axis("r", points(self.rows) - points(roles.outputs[:1]) + block_rows)
        place = {seen.name: axis_index(block.name) * block_rows + axis_index(row.name)}
        return replace(self, image=self.image.mapped(lambda index: index.substitute(place)), rows=(row,))
