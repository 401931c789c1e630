"""Exchanged roles of a product, C^T = B^T A^T, for a constant left operand that few columns meet, or such as fill no vectors.

Lanes then run along the rows of the constant, which becomes the right operand: it is packed into panels when the kernel is
loaded, and a call reads it front to back. As written, rows of the constant are read side by side, an element at a time. A map
puts the result into its place; a map behind the product does so where there is one.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles
from tilewright.graph.expressions.index import axis
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Operator, Tensor, element_bytes, planned_extent
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected

MOST_COLUMNS = 64
"""More columns fill vectors as they are, and tiles of a few of them would walk down rows of B that lie far apart (35 x 2000 by
2000 x 1000 takes 0.89 ms as written and 2.0 ms exchanged, Zen 5)."""
LEAST_LANES_USED = 0.96
"""Of the vectors of more columns: 81 pixels leave 16% of their lanes empty, 196 6% (704 to 352 channels at 14: 922 us as written,
858 exchanged, Zen 4)."""


def applies(problem: Problem) -> bool:
    """Whether the left operand alone is a constant, and meets few columns."""
    operator = problem.operator
    if not operator.is_contraction() or _row_dimension(operator) is None:
        return False
    roles = contraction_roles(operator)
    is_few = roles.column is not None and _are_few(problem, roles)
    same_types = problem.operand(0).dtype == problem.operand(1).dtype == problem.result.dtype
    return is_few and same_types and problem.is_constant(roles.left) and not problem.is_constant(roles.right)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The product with its rows in the last dimension of the result, and the map that puts them back."""
    operator, result = problem.operator, problem.result
    row = expected(_row_dimension(operator))
    order = [*(dimension for dimension in range(len(result.shape)) if dimension != row), row]
    shape = tuple(result.shape[dimension] for dimension in order)
    exchanged = builder.declare(Tensor(builder.unique(f"{result.name}_exchanged"), shape, result.dtype))
    indices = tuple(operator.write.indices[dimension] for dimension in order)
    builder.operators.append(replace(operator, write=Access(exchanged.name, indices)))
    return builder.transpose(exchanged, [order.index(dimension) for dimension in range(len(order))])


def _are_few(problem: Problem, roles: ContractionRoles) -> bool:
    """Whether columns are few, or those of one image, if there are several, leave lanes of their vectors empty."""
    operator, place = problem.operator, expected(_row_dimension(problem.operator))
    of_image = {axis for index in operator.write.indices[place + 1 :] for axis in index.axes()}
    others = [axis for axis in operator.axes if axis.name in operator.write.axes() - operator.reads[roles.left].axes()]
    extents = [(axis.name in of_image, planned_extent(axis.extent)) for axis in others]
    every, columns = prod(extent for _, extent in extents), prod(extent for is_of_image, extent in extents if is_of_image)
    lanes = problem.machine.lanes(element_bytes(problem.result.dtype))
    return every <= MOST_COLUMNS or columns < LEAST_LANES_USED * lanes * -(-columns // lanes)


def _row_dimension(operator: Operator) -> int | None:
    """The dimension of the result along which the rows of the left operand lie; None where there is no such dimension."""
    row = contraction_roles(operator).row
    return next((number for number, index in enumerate(operator.write.indices) if row is not None and index == axis(row)), None)


ALGORITHM = Algorithm("exchanged roles", Licence.EXACT, applies, expand)
