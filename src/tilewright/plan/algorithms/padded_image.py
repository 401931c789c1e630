"""The part of an image that windows see, as a tensor of its own, with what the guard gives where they stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.types import Access, Axis, Guard, Tensor
from tilewright.plan.algorithms.definition import Problem
from tilewright.plan.algorithms.product_roles import Change, ProductRoles, each, number, plain, points, roles_of, unchanged


@dataclass(frozen=True, slots=True)
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

    def place(self, index: Index) -> tuple[int, int] | None:
        """(factor, constant) by which an index of the output and the tap is one of the position; None if it is none."""
        taps = {self.tap.name: self.dilation} if self.tap else {}
        coefficients = dict(index.terms)
        factor, rest = divmod(coefficients.get(self.output.name, 0), self.stride)
        expected = {self.output.name: factor * self.stride} | {tap: factor * step for tap, step in taps.items()}
        return (factor, index.constant) if factor and not rest and coefficients == expected else None


@dataclass(frozen=True, slots=True)
class SlidingProduct:
    """A sum of products whose windows move along dimensions of an image that no other axis walks."""

    roles: ProductRoles
    slides: tuple[Slide, ...]
    """One for each output, in that order."""
    channels: tuple[Axis, ...]
    """Of the image: groups, then those that are summed."""

    @property
    def seen(self) -> tuple[int, ...]:
        """The extents of what all windows see."""
        return tuple(slide.seen for slide in self.slides)

    @property
    def taps(self) -> tuple[Axis, ...]:
        """The axes of taps, of dimensions that have several."""
        return tuple(slide.tap for slide in self.slides if slide.tap is not None)

    @property
    def weight_axes(self) -> tuple[Axis, ...]:
        """Of the filters with their taps first: those of one tap are a matrix."""
        summed = (axis for axis in self.roles.reduced if axis not in self.taps)
        return (*self.taps, *self.roles.group, *self.roles.filters, *summed)

    def seen_axes(self) -> tuple[Axis, ...]:
        """An axis for each dimension along which windows move."""
        return tuple(self.roles.axis(f"s{d}", slide.seen) for d, slide in enumerate(self.slides))

    @property
    def positions(self) -> tuple[Index, ...]:
        """What an output and a tap look at, along every dimension in which windows move."""
        return tuple(slide.position() for slide in self.slides)

    def image_dimensions(self) -> tuple[Index, ...]:
        """The dimensions of a padded image before those along which windows move, by the axes of the operator."""
        return (*plain(self.roles.batch), number(self.channels))


def sliding_product(problem: Problem, *, any_outputs: bool = False) -> SlidingProduct | None:
    """The windows of an operator; None where something else than windows moves, or where a guard is not one of positions.

    `any_outputs` as in `roles_of`: what all windows see has no known extent then.
    """
    roles = roles_of(problem, any_outputs=any_outputs)
    if roles is None or not roles.is_moving:
        return None
    slides = [_slide(roles, output) for output in roles.outputs]
    known = tuple(slide for slide in slides if slide is not None)
    taps = {slide.tap.name for slide in known if slide.tap is not None}
    channels = (*roles.group, *(axis for axis in roles.reduced if axis.name not in taps))
    found = SlidingProduct(roles, known, channels)
    if len(known) < len(slides) or len(taps) < sum(slide.tap is not None for slide in known):
        return None
    return found if _is_complete(found, any_outputs=any_outputs) else None


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
    limits = [limit.with_extents(lambda extent: 0) if any_outputs else limit for limit in _limits(product.roles)]
    roles, outer = product.roles, {slide.output.name for slide in product.slides}
    others = [index for index in roles.image.indices if not index.axes() & outer]
    wanted = [*plain(roles.batch), *([number(product.channels)] if product.channels else [])]
    others = [Index(index.terms) if index.axes() <= number(product.channels).axes() else index for index in others if index.terms]
    return sorted(others, key=str) == sorted(wanted, key=str) and all(_position(product, limit) is not None for limit in limits)


def _limits(roles: ProductRoles) -> tuple[Index, ...]:
    return roles.image.guard.constraints if roles.image.guard is not None else ()


def _position(product: SlidingProduct, index: Index) -> Index | None:
    """An index of an output and its tap as one of the position that they look at; None if it is none."""
    for slide, axis in zip(product.slides, product.seen_axes(), strict=True):
        if (found := slide.place(index)) is not None:
            return axis_index(axis.name) * found[0] + found[1]
        if (found := slide.place(index * -1)) is not None:
            return axis_index(axis.name) * -found[0] - found[1]
    return None


def filters_by(builder: Builder, sliding: SlidingProduct, axes: Sequence[Axis]) -> Access:
    """The filters with one dimension for each of these axes: an index change."""
    return Access(sliding.roles.move(builder, each(axes), sliding.roles.weights, "filters").name, plain(axes))


def padded(builder: Builder, product: SlidingProduct) -> Tensor:
    """What all windows see, as [batch, channel, positions]."""
    axes = (*product.roles.batch, _channel(product), *product.seen_axes())
    return product.roles.move(builder, each(axes), _by_positions(product), "pad")


def padded_for_tiles(builder: Builder, product: SlidingProduct, lengths: Sequence[int], change: Change = unchanged) -> Tensor:
    """What all windows see, and points beyond it up to these lengths, as [batch, positions, channel], changed as it is copied."""
    seen, read = product.seen_axes(), _by_positions(product)
    pairs = list(zip(seen, lengths, strict=True))
    beyond = tuple(axis_index(axis.name) * -1 + (points((axis,)) - 1) for axis, length in pairs if length > points((axis,)))
    guard = read.guard or Guard((), 0.0)
    limits = tuple(dict.fromkeys((*guard.constraints, *beyond)))
    read = replace(read, guard=replace(guard, constraints=limits) if limits else None)
    axes = (*product.roles.batch, *(replace(axis, extent=length) for axis, length in pairs), _channel(product))
    return product.roles.move(builder, each(axes), read, "pad", change)


def _by_positions(product: SlidingProduct) -> Access:
    """The read of the image by positions and the channel of the padded image."""
    read = at_positions(product, product.roles.image)
    return replace(read, indices=tuple(_by_channel(product, index) for index in read.indices))


def at_positions(product: SlidingProduct, image: Access) -> Access:
    """A read of the image by positions along the dimensions of these windows, in place of outputs and taps."""

    def found(index: Index) -> Index:
        position = _position(product, index)
        return index if position is None else position

    guard = image.guard and replace(image.guard, constraints=tuple(map(found, image.guard.constraints)))
    return replace(image, indices=tuple(map(found, image.indices)), guard=guard)


def _by_channel(product: SlidingProduct, index: Index) -> Index:
    """An index of the image by the channel of the padded image, where it is one of channels."""
    channels = number(product.channels)
    is_channel = bool(index.terms) and index.axes() <= channels.axes()
    return axis_index(_channel(product).name) + index.constant if is_channel else index


def _channel(product: SlidingProduct) -> Axis:
    return product.roles.axis("channel", points(product.channels))
