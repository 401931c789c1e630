"""Pixels of bytes: the product of a convolution over an image that is copied with its channels last, and its padding.

As `pixel_rows.py`, but of images in any layout, and of filters of one tap: rows of a tile are pixels, a step of the reduction is
a group of neighbouring channels, and constant filters are packed into panels when a kernel is loaded. A copy of bytes costs a
quarter of one of floats, beside products that are four times as fast.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, Tensor
from tilewright.plan.algorithms import pointwise
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import padded_for_tiles, sliding_product
from tilewright.plan.algorithms.product_roles import Change, ProductRoles, each, number, plain, points, roles_of, unchanged

MANY_CHANNELS = 16
"""Of so many a few steps of zeros, that fill groups, are a small share."""
LEAST_COLUMNS = 4
"""Of the output: rows of fewer pixels are copied element by element."""
Places = tuple[Access, tuple[Axis, ...], tuple[Axis, ...]]
"""The image as the product reads it, the axes of its rows, and what is summed."""


def applies(problem: Problem) -> bool:
    """Whether constant filters of bytes meet several channels of an image of bytes, all of them."""
    roles = _roles(problem)
    if roles is None or roles.group or len(roles.filters) != 1 or not roles.has_constant_filters:
        return False
    if not is_of_bytes(problem) or points(roles.outputs[-1:]) < LEAST_COLUMNS:
        return False
    sliding = sliding_product(problem)
    if sliding is not None:
        return len(sliding.channels) == 1
    return (_is_in_a_row(roles) or pointwise.applies(problem)) and len(roles.reduced) == 1


def _roles(problem: Problem) -> ProductRoles | None:
    """Of an image whose points may be one dimension already."""
    return roles_of(problem, least_outputs=1)


def _is_in_a_row(roles: ProductRoles) -> bool:
    """Whether the points of the image are one dimension."""
    return not roles.is_moving and len(roles.outputs) == 1


def is_of_bytes(problem: Problem) -> bool:
    """Whether both operands are bytes: kernels take groups of neighbouring steps of a row."""
    return all(problem.operand(read).dtype in BYTES for read in (0, 1))


def copies_least(problem: Problem) -> bool:
    """Whether it is known to be better than copies of windows: it applies, and steps come in whole groups of channels.

    The other algorithms copy windows of bytes, in pieces of a row, or read neighbouring steps of a row from far apart. 64 filters
    of 3 x 3 x 64 at 56 x 56, one core of a Xeon with VNNI: 0.08 ms for the copy here, 0.6 for windows by columns.
    """
    roles = _roles(problem)
    return applies(problem) and roles is not None and points(_channels(problem, roles)) >= MANY_CHANNELS


def _channels(problem: Problem, roles: ProductRoles) -> tuple[Axis, ...]:
    """What is summed for every tap."""
    sliding = sliding_product(problem)
    return roles.reduced if sliding is None else sliding.channels


def expand(problem: Problem, builder: Builder, of_image: Change = unchanged, of_filters: Change = unchanged) -> Tensor:
    """The image with channels last, filters by taps, the product, and every sum in its place.

    Elements are changed where they are copied.
    """
    roles = expected(_roles(problem))
    image, rows, depths = _windows(problem, builder, of_image) or _points(builder, roles, of_image)
    by_depth = (*depths, *roles.filters)
    filters = roles.move(builder, each(by_depth), roles.weights, "filters", of_filters)
    reads = image, Access(filters.name, plain(by_depth))
    sums = roles.product(builder, reads, each((*roles.batch, *rows, *roles.filters)), depths)
    place = plain(rows) if rows == roles.outputs else (number(roles.outputs),)
    return roles.in_place(builder, Access(sums.name, (*plain(roles.batch), *place, *plain(roles.filters))), "fold")


def _windows(problem: Problem, builder: Builder, change: Change) -> Places | None:
    """What all windows see, as [batch, positions, channel]; None where none move."""
    sliding = sliding_product(problem)
    if sliding is None:
        return None
    roles = sliding.roles
    image = padded_for_tiles(builder, sliding, sliding.seen, change)
    read = Access(image.name, (*plain(roles.batch), *sliding.positions, *plain(sliding.channels)))
    return read, roles.outputs, (*sliding.taps, *sliding.channels)


def _points(builder: Builder, roles: ProductRoles, change: Change) -> Places:
    """All points of the image, as [batch, point, channel]."""
    p = roles.outputs[0] if _is_in_a_row(roles) else roles.column()
    line = roles.image if _is_in_a_row(roles) else pointwise.image_in_a_row(builder, roles, p)
    image = roles.move(builder, each((*roles.batch, p, *roles.reduced)), line, "turn", change)
    return Access(image.name, (*plain(roles.batch), axis_index(p.name), *plain(roles.reduced))), (p,), roles.reduced


ALGORITHM = Algorithm("pixels of bytes", Licence.EXACT, applies, expand)
