"""Pixel rows: the product of a convolution over windows of an image whose channels lie last, read in place.

Rows of a tile are outputs of one row of the image, and lanes run along the filters, as in `filter_lanes.py`. A window has its
channels side by side, so that the image need not be copied for it: every tap is an offset, whatever the steps. Padding comes with
a copy of the image itself. Constant filters are packed into panels when a kernel is loaded.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, padded_for_tiles, sliding_product
from tilewright.plan.algorithms.product_roles import each, number, plain


def applies(problem: Problem) -> bool:
    """Whether windows see several channels that lie side by side, in all or in each of some groups, and meet several filters."""
    sliding = sliding_product(problem)
    if sliding is None or len(_summed(sliding)) != 1 or len(sliding.roles.filters) != 1:
        return False
    roles = sliding.roles
    is_last = roles.image.indices[-1].axes() == {axis.name for axis in sliding.channels}
    return is_last and roles.has_constant_filters


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image if there is padding, filters by taps, the product, and every sum in its place."""
    sliding = expected(sliding_product(problem))
    roles, depths = sliding.roles, (*sliding.taps, *_summed(sliding))
    filters = filters_by(builder, sliding, (*roles.group, *depths, *roles.filters))
    axes = (*roles.batch, *roles.group, *roles.outputs, *roles.filters)
    dimensions = (*each((*roles.batch, *roles.outputs)), roles.result_channels)
    sums = roles.product(builder, (_image(builder, sliding), filters), dimensions, depths, axes)
    return roles.in_place(builder, Access(sums.name, (*plain((*roles.batch, *roles.outputs)), roles.channels)), "fold")


def _image(builder: Builder, sliding: SlidingProduct) -> Access:
    """The read of the image, or of what all windows see of it where these stand out."""
    roles = sliding.roles
    if roles.image.guard is None:
        return roles.image
    image = padded_for_tiles(builder, sliding, sliding.seen)
    return Access(image.name, (*plain(roles.batch), *sliding.positions, number(sliding.channels)))


def _summed(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """The channels that are summed: all, or those of a group."""
    return sliding.channels[len(sliding.roles.group) :]


ALGORITHM = Algorithm("pixel rows", Licence.EXACT, applies, expand)
