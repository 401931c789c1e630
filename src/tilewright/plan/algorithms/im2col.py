"""im2col: the windows are copied, one column each, and one product of matrices remains.

K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document Processing", IWFHR 2006.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Tensor
from tilewright.plan.algorithms import pixels_of_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.product_roles import ProductRoles, digits, each, number, plain, points, roles_of


def applies(problem: Problem) -> bool:
    """Whether windows move over an operand: whatever the guard and the index maps are, they are those of the copy."""
    roles = roles_of(problem)
    return roles is not None and roles.is_moving and not pixels_of_bytes.copies_least(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """Columns and filters as matrices, their product, and every sum in its place."""
    roles = expected(roles_of(problem))
    q, p = roles.axis("q", points(roles.reduced), AxisKind.REDUCTION), roles.column()
    weights = filters_in_rows(builder, roles, q)
    image = windows_in_columns(builder, roles, p, q)
    return roles.product_in_place(builder, (image, weights), (p,), (q,), number(roles.outputs), "fold")


def windows_in_columns(builder: Builder, roles: ProductRoles, p: Axis, q: Axis) -> Access:
    """A copy [batch, (group, reduced), output], read at an output by its number, and at all that is summed."""
    rows = (*roles.group, *roles.reduced)
    columns = roles.move(builder, (*each(roles.batch), rows, roles.outputs), roles.image, "unfold")
    depth = number(roles.group) * points((q,)) + axis_index(q.name)
    return Access(columns.name, (*plain(roles.batch), depth, axis_index(p.name)))


def filters_in_rows(builder: Builder, roles: ProductRoles, q: Axis) -> Access:
    """The filters as [channel, depth], an index change, read at a channel and at all that is summed."""
    m, depth = Axis("m", points(roles.result_channels)), Axis("q", points(roles.reduced))
    places = digits(axis_index("m"), roles.result_channels) | digits(axis_index("q"), roles.reduced)
    read = roles.weights.mapped(lambda index: index.substitute(places, {"m": points((m,)), "q": points((depth,))}))
    return Access(roles.move(builder, each((m, depth)), read, "filters").name, (roles.channels, axis_index(q.name)))


ALGORITHM = Algorithm("im2col", Licence.EXACT, applies, expand)
