"""Pointwise: filters of one tap meet all points of an image at once, as one product of matrices."""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.product_roles import (
    ProductRoles,
    digits,
    extents,
    is_moving,
    moved,
    number,
    plain,
    points,
    product_in_place,
    roles_of,
)


def applies(problem: Problem) -> bool:
    """Whether every output reads its point of the image, along several dimensions that lie side by side as a whole."""
    roles = roles_of(problem)
    if roles is None or is_moving(roles) or len(roles.outputs) < 2:
        return False
    indices, shape = roles.image.indices, problem.tensors[roles.image.tensor].shape
    outputs = plain(roles.outputs)
    places = [place for place in range(len(indices)) if indices[place : place + len(outputs)] == outputs]
    return any(shape[place : place + len(outputs)] == extents(roles.outputs) for place in places)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The points of the image in a row, the product, and every sum in its place."""
    roles = roles_of(problem)
    assert roles is not None
    p = roles.column()
    image = image_in_a_row(builder, roles, p)
    return product_in_place(builder, roles, image, roles.weights, (p,), roles.reduced, number(roles.outputs), "reshape")


def image_in_a_row(builder: Builder, roles: ProductRoles, p: Axis) -> Access:
    """The image, read at an output by its number."""
    line = builder.record(_in_a_row, roles, kind="reshape")
    indices = [index for index in roles.image.indices if index not in plain(roles.outputs)]
    place = roles.image.indices.index(plain(roles.outputs)[0])
    return Access(line.name, (*indices[:place], axis_index(p.name), *indices[place:]))


def _in_a_row(roles: ProductRoles, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The image with its output dimensions as one: the same memory."""
    tensor, outputs = roles.problem.tensors[roles.image.tensor], plain(roles.outputs)
    place = roles.image.indices.index(outputs[0])
    shape = (*tensor.shape[:place], points(roles.outputs), *tensor.shape[place + len(outputs) :])
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    split = digits(axis_index(f"d{place}"), roles.outputs)
    read = (*plain(axes[:place]), *(split[axis.name] for axis in roles.outputs), *plain(axes[place + 1 :]))
    return moved(roles, axes, Access(tensor.name, read), plain(axes), shape, "reshape", name=name, result=result)


ALGORITHM = Algorithm("pointwise", Licence.EXACT, applies, expand)
