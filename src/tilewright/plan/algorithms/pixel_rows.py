"""Pixel rows: the product of a convolution over windows of an image whose channels lie last, read in place.

Rows of a tile are outputs of one row of the image, and lanes run along the filters, as in `filter_lanes.py`. A window has its
channels side by side, so that the image need not be copied for it: every tap is an offset, whatever the steps. Padding comes with
a copy of the image itself. Constant filters are packed into panels when a kernel is loaded.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index
from tilewright.graph.licences import Licence
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, padded_for_tiles, sliding_product
from tilewright.plan.algorithms.product_roles import ProductRoles, extents, moved, number, plain, points


def applies(problem: Problem) -> bool:
    """Whether windows see several channels that lie side by side, in all or in each of some groups, and meet several filters."""
    sliding = sliding_product(problem)
    if sliding is None or len(_summed(sliding)) != 1 or len(sliding.roles.filters) != 1:
        return False
    roles = sliding.roles
    is_last = roles.image.indices[-1].axes() == {axis.name for axis in sliding.channels}
    return is_last and problem.is_constant(problem.operator.reads.index(roles.weights))


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image if there is padding, filters by taps, the product, and every sum in its place."""
    sliding = sliding_product(problem)
    assert sliding is not None
    roles = sliding.roles
    filters = builder.record(filters_by, sliding, _filter_axes(sliding), kind="filters")
    sums = builder.record(_product, sliding, _image(builder, sliding), filters, kind="conv")
    axes = (*roles.batch, *roles.group, *roles.filters, *roles.outputs)
    read = Access(sums.name, _sum(roles))
    return builder.record(moved, roles, axes, read, problem.operator.write.indices, problem.result.shape, "fold", kind="fold")


def _image(builder: Builder, sliding: SlidingProduct) -> Access:
    """The read of the image, or of what all windows see of it where these stand out."""
    roles = sliding.roles
    if roles.image.guard is None:
        return roles.image
    image = padded_for_tiles(builder, sliding, sliding.seen)
    return Access(image.name, (*plain(roles.batch), *(slide.position() for slide in sliding.slides), number(sliding.channels)))


def _summed(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """The channels that are summed: all, or those of a group."""
    return sliding.channels[len(sliding.roles.group) :]


def _depths(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """What is summed: taps, and channels inside."""
    return (*sliding.taps, *_summed(sliding))


def _filter_axes(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """The dimensions of the filters: a matrix of what is summed by filters, for every group."""
    return (*sliding.roles.group, *_depths(sliding), *sliding.roles.filters)


def _sum(roles: ProductRoles) -> tuple[Index, ...]:
    """Where a sum is: [batch, outputs, (group, filter)]."""
    return (*plain((*roles.batch, *roles.outputs)), roles.channels)


def _product(sliding: SlidingProduct, image: Access, filters: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    roles = sliding.roles
    weights = Access(filters.name, plain(_filter_axes(sliding)))
    axes = (*roles.batch, *roles.group, *roles.outputs, *roles.filters, *_depths(sliding))
    write = Access(result, _sum(roles))
    operator = Operator(name, "conv", axes, (image, weights), write, PRODUCT, SUM, roles.problem.operator.accumulator)
    shape = (*extents((*roles.batch, *roles.outputs)), points((*roles.group, *roles.filters)))
    return operator, Tensor(result, shape, roles.problem.result.dtype)


ALGORITHM = Algorithm("pixel rows", Licence.EXACT, applies, expand)
