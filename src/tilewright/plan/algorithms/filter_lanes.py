"""Filter lanes: the product of a convolution with pixels as rows and filters as columns, along which lanes run.

Filters that are constants are packed into panels when a kernel is loaded, and a call reads them front to back; pixels are
broadcast from where they lie, side by side. So lanes are full where images are small and filters many, and filters that come from
memory are prefetched. Sums are [pixel, filter]: a map puts them into their places, with what follows (bias, activation). Windows
are copied by columns, or as a whole where their rows do not move by one; an image that is read at its pixels alone is not copied.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Operator, Tensor
from tilewright.plan.algorithms import im2col, pointwise, windows_by_columns
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import sliding_product
from tilewright.plan.algorithms.pixels_of_bytes import is_of_bytes
from tilewright.plan.algorithms.product_roles import ProductRoles, extents, moved, number, parallel, plain, points, roles_of

Depths = tuple[tuple[Axis, tuple[Axis, ...]], ...]
"""Every reduction axis of the product, with the axes of the operator that it walks."""


def applies(problem: Problem) -> bool:
    """Whether filters lie along lanes in one number, and pixels can be walked as one."""
    roles = roles_of(problem)
    if roles is None or not roles.filters or not roles.outputs or not problem.is_constant(_weights(roles)):
        return False
    return (im2col.applies(problem) or pointwise.applies(problem)) and not is_of_bytes(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The image by pixels, filters as matrices, the product, and every sum in its place."""
    roles = roles_of(problem)
    assert roles is not None
    p = roles.column()
    image, depths = _image(problem, builder, roles, p)
    filters = builder.record(_filters, roles, depths, kind="filters")
    sums = builder.record(_product, roles, image, filters, p, tuple(axis for axis, _ in depths), kind="conv")
    read = Access(sums.name, (*plain(roles.batch), number(roles.outputs), roles.channels))
    axes = (*roles.batch, *roles.group, *roles.filters, *roles.outputs)
    return builder.record(moved, roles, axes, read, problem.operator.write.indices, problem.result.shape, "fold", kind="fold")


def _weights(roles: ProductRoles) -> int:
    """The read of the filters."""
    return roles.problem.operator.reads.index(roles.weights)


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


def _filters(roles: ProductRoles, depths: Depths, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The filters as [group, reduction axes of the product, filter]."""
    dimensions = (roles.group, *(parallel(axes) for _, axes in depths), roles.filters)
    axes = tuple(axis for dimension in dimensions for axis in dimension)
    shape = tuple(points(dimension) for dimension in dimensions)
    return moved(roles, axes, roles.weights, tuple(map(number, dimensions)), shape, "filters", name=name, result=result)


def _product(
    roles: ProductRoles, image: Access, filters: Tensor, p: Axis, reduced: tuple[Axis, ...], *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Sums of products as [batch, pixel, (group, filter)]."""
    problem, channels = roles.problem, (*roles.group, *roles.filters)
    weights = Access(filters.name, (number(roles.group), *plain(reduced), number(roles.filters)))
    write = Access(result, (*plain(roles.batch), axis_index(p.name), number(channels)))
    axes = (*roles.batch, *roles.group, p, *roles.filters, *reduced)
    operator = Operator(name, "conv", axes, (image, weights), write, PRODUCT, SUM, problem.operator.accumulator)
    return operator, Tensor(result, (*extents(roles.batch), points((p,)), points(channels)), problem.result.dtype)


ALGORITHM = Algorithm("filter lanes", Licence.EXACT, applies, expand)
