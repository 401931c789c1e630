"""Pixel rows: the product of a convolution over windows of an image whose channels lie last, read in place.

Rows of a tile are outputs of one row of the image, and lanes run along the filters, as in `filter_lanes.py`. A window has its
channels side by side, so that the image need not be copied for it: every tap is an offset, whatever the steps. Padding comes with
a copy of the image itself. Constant filters are packed into panels when a kernel is loaded.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, Operator, Tensor
from tilewright.plan.algorithms.definition import Accuracy, Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, padded_for_tiles, sliding_product
from tilewright.plan.algorithms.product_roles import ProductRoles, extents, moved, plain


def applies(problem: Problem) -> bool:
    """Whether windows see several channels that lie side by side, and all filters meet all of them."""
    sliding = sliding_product(problem)
    if sliding is None or sliding.roles.group or len(sliding.channels) != 1 or len(sliding.roles.filters) != 1:
        return False
    roles = sliding.roles
    is_last = roles.image.indices[-1].axes() == {sliding.channels[0].name}
    return is_last and problem.is_constant(problem.operator.reads.index(roles.weights))


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image if there is padding, filters by taps, the product, and every sum in its place."""
    sliding = sliding_product(problem)
    assert sliding is not None
    roles = sliding.roles
    filters = builder.record(filters_by, sliding, (*_depths(sliding), *roles.filters), kind="filters")
    sums = builder.record(_product, sliding, _image(builder, sliding), filters, kind="conv")
    axes = (*roles.batch, *roles.filters, *roles.outputs)
    read = Access(sums.name, _sum(roles))
    return builder.record(moved, roles, axes, read, problem.operator.write.indices, problem.result.shape, "fold", kind="fold")


def _image(builder: Builder, sliding: SlidingProduct) -> Access:
    """The read of the image, or of what all windows see of it where these stand out."""
    roles = sliding.roles
    if roles.image.guard is None:
        return roles.image
    image = padded_for_tiles(builder, sliding, sliding.seen)
    return Access(image.name, (*plain(roles.batch), *(slide.position() for slide in sliding.slides), *plain(sliding.channels)))


def _depths(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """What is summed: taps, and channels inside."""
    return (*sliding.taps, *sliding.channels)


def _sum(roles: ProductRoles) -> tuple[Index, ...]:
    """Where a sum is: [batch, outputs, filter]."""
    return plain((*roles.batch, *roles.outputs, *roles.filters))


def _product(sliding: SlidingProduct, image: Access, filters: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    roles, depths = sliding.roles, _depths(sliding)
    weights = Access(filters.name, tuple(axis_index(axis.name) for axis in (*depths, *roles.filters)))
    axes = (*roles.batch, *roles.outputs, *roles.filters, *depths)
    write = Access(result, _sum(roles))
    operator = Operator(name, "conv", axes, (image, weights), write, PRODUCT, SUM, roles.problem.operator.accumulator)
    return operator, Tensor(result, extents((*roles.batch, *roles.outputs, *roles.filters)), roles.problem.result.dtype)


ALGORITHM = Algorithm("pixel rows", Accuracy.REORDERED, applies, expand)
