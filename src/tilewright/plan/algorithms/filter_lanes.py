"""Filter lanes: the product of a convolution with pixels as rows and filters as columns, along which lanes run.

Filters that are constants are packed into panels when a kernel is loaded, and a call reads them front to back; pixels are
broadcast from where they lie, side by side. So lanes are full where images are small and filters many, and filters that come from
memory are prefetched. Sums are [pixel, filter]: a map puts them into their places, with what follows (bias, activation). Windows
are copied by columns, or as a whole where their rows do not move by one; an image that is read at its pixels alone is not copied.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Tensor
from tilewright.plan.algorithms import im2col, pointwise, windows_by_columns
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import sliding_product
from tilewright.plan.algorithms.pixels_of_bytes import is_of_bytes
from tilewright.plan.algorithms.product_roles import ProductRoles, each, number, plain, points, roles_of

Depths = tuple[tuple[Axis, tuple[Axis, ...]], ...]
"""Every reduction axis of the product, with the axes of the operator that it walks."""


def applies(problem: Problem) -> bool:
    """Whether filters lie along lanes in one number, and pixels can be walked as one."""
    roles = roles_of(problem)
    if roles is None or not roles.filters or not roles.outputs or not roles.has_constant_filters:
        return False
    return (im2col.applies(problem) or pointwise.applies(problem)) and not is_of_bytes(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The image by pixels, filters as matrices, the product, and every sum in its place."""
    roles = expected(roles_of(problem))
    p = roles.column()
    image, depths = _image(problem, builder, roles, p)
    summed = tuple(axis for axis, _ in depths)
    by_depth = (roles.group, *(axes for _, axes in depths), roles.filters)
    filters = roles.move(builder, by_depth, roles.weights, "filters")
    weights = Access(filters.name, (number(roles.group), *plain(summed), number(roles.filters)))
    axes = (*roles.batch, *roles.group, p, *roles.filters)
    sums = roles.product(builder, (image, weights), (*each(roles.batch), (p,), roles.result_channels), summed, axes)
    return roles.in_place(builder, Access(sums.name, (*plain(roles.batch), number(roles.outputs), roles.channels)), "fold")


def _image(problem: Problem, builder: Builder, roles: ProductRoles, p: Axis) -> tuple[Access, Depths]:
    """What the product reads at a pixel, and the axes that it sums over."""
    if pointwise.applies(problem):
        return pointwise.image_in_a_row(builder, roles, p), tuple((axis, (axis,)) for axis in roles.reduced)
    sliding = sliding_product(problem)
    if sliding is not None and windows_by_columns.applies(problem):
        tap, q = windows_by_columns.row_tap(sliding), windows_by_columns.summed_at_once(sliding)
        image = windows_by_columns.windows_of_pixels(builder, sliding, p, q)
        return image, ((tap, (tap,)), (q, windows_by_columns.depth_axes(sliding)))
    q = roles.axis("q", points(roles.reduced), AxisKind.REDUCTION)
    return im2col.windows_in_columns(builder, roles, p, q), ((q, roles.reduced),)


ALGORITHM = Algorithm("filter lanes", Licence.EXACT, applies, expand)
