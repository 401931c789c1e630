"""im2col: the windows are copied, one column each, and one product of matrices remains.

K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document Processing", IWFHR 2006.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Tensor
from tilewright.plan.algorithms import pixels_of_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.product_roles import (
    ProductRoles,
    digits,
    extents,
    is_moving,
    moved,
    number,
    parallel,
    plain,
    points,
    product_in_place,
    roles_of,
)


def applies(problem: Problem) -> bool:
    """Whether windows move over an operand: whatever the guard and the index maps are, they are those of the copy."""
    roles = roles_of(problem)
    return roles is not None and is_moving(roles) and not pixels_of_bytes.copies_least(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """Columns and filters as matrices, their product, and every sum in its place."""
    roles = roles_of(problem)
    assert roles is not None
    q, p = roles.axis("q", points(roles.reduced), AxisKind.REDUCTION), roles.column()
    rows = builder.record(filters_in_rows, roles, kind="filters")
    image = windows_in_columns(builder, roles, p, q)
    weights = Access(rows.name, (roles.channels, axis_index(q.name)))
    return product_in_place(builder, roles, image, weights, (p,), (q,), number(roles.outputs), "fold")


def windows_in_columns(builder: Builder, roles: ProductRoles, p: Axis, q: Axis) -> Access:
    """The copy, read at an output by its number, and at all that is summed."""
    columns = builder.record(_unfolded, roles, kind="unfold")
    depth = number(roles.group) * points((q,)) + axis_index(q.name)
    return Access(columns.name, (*plain(roles.batch), depth, axis_index(p.name)))


def _unfolded(roles: ProductRoles, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """One column for every window: t[batch, (group, reduced), output]."""
    rows = (*roles.group, *parallel(roles.reduced))
    axes = (*roles.batch, *rows, *roles.outputs)
    written = (*plain(roles.batch), number(rows), number(roles.outputs))
    shape = (*extents(roles.batch), points(rows), points(roles.outputs))
    return moved(roles, axes, roles.image, written, shape, "unfold", name=name, result=result)


def filters_in_rows(roles: ProductRoles, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The filters as [channel, depth]: an index change."""
    channels = (*roles.group, *roles.filters)
    m, q = Axis("m", points(channels)), Axis("q", points(roles.reduced))
    places = digits(axis_index("m"), channels) | digits(axis_index("q"), roles.reduced)
    read = roles.weights.mapped(lambda index: index.substitute(places, {"m": points((m,)), "q": points((q,))}))
    return moved(roles, (m, q), read, plain((m, q)), extents((m, q)), "filters", name=name, result=result)


ALGORITHM = Algorithm("im2col", Licence.EXACT, applies, expand)
