"""Pointwise: filters of one tap meet all points of an image at once, as one product of matrices."""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.product_roles import ProductRoles, digits, each, extents, number, plain, points, roles_of


def applies(problem: Problem) -> bool:
    """Whether every output reads its point of the image, along several dimensions that lie side by side as a whole."""
    roles = roles_of(problem)
    if roles is None or roles.is_moving or len(roles.outputs) < 2:
        return False
    indices, shape = roles.image.indices, problem.tensors[roles.image.tensor].shape
    outputs = plain(roles.outputs)
    places = [place for place in range(len(indices)) if indices[place : place + len(outputs)] == outputs]
    return any(shape[place : place + len(outputs)] == extents(roles.outputs) for place in places)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The points of the image in a row, the product, and every sum in its place."""
    roles = expected(roles_of(problem))
    p = roles.column()
    reads = image_in_a_row(builder, roles, p), roles.weights
    return roles.product_in_place(builder, reads, (p,), roles.reduced, number(roles.outputs), "reshape")


def image_in_a_row(builder: Builder, roles: ProductRoles, p: Axis) -> Access:
    """The image with its output dimensions as one, which is the same memory, read at an output by its number."""
    tensor, outputs = roles.problem.tensors[roles.image.tensor], plain(roles.outputs)
    place = roles.image.indices.index(outputs[0])
    shape = (*tensor.shape[:place], points(roles.outputs), *tensor.shape[place + len(outputs) :])
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    split = digits(axis_index(f"d{place}"), roles.outputs)
    read = (*plain(axes[:place]), *(split[axis.name] for axis in roles.outputs), *plain(axes[place + 1 :]))
    line = roles.move(builder, each(axes), Access(tensor.name, read), "reshape")
    indices = [index for index in roles.image.indices if index not in outputs]
    return Access(line.name, (*indices[:place], axis_index(p.name), *indices[place:]))


ALGORITHM = Algorithm("pointwise", Licence.EXACT, applies, expand)
