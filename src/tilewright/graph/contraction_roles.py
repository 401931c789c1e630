"""Roles of a contraction's axes in the matrix product C[row, column] += A[row, depth] * B[depth, column]."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.errors import PlanningError
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.types import Graph, Operator, SymbolicExtent, planned_extent
from tilewright.records import record

FEWEST_ROWS = 5
"""That fill the accumulators of a tile well enough."""


@record
class ContractionRoles:
    """How a contraction is the matrix product C[row, column] += A[row, depth] * B[depth, column].

    `left` and `right` are read numbers. An axis is None where the contraction has none of that role (its extent is then 1).
    `outer` are all other axes: code generation loops over them one by one around the micro kernel.
    """

    left: int
    right: int
    row: str | None
    column: str | None
    depth: str | None
    outer: tuple[str, ...]

    def with_axes(self, names: Mapping[str, str]) -> ContractionRoles:
        """The same in other names of axes."""
        row, column, depth = (axis and names[axis] for axis in (self.row, self.column, self.depth))
        return ContractionRoles(self.left, self.right, row, column, depth, tuple(names[axis] for axis in self.outer))


def contraction_roles(operator: Operator) -> ContractionRoles:
    """The roles of the axes of a contraction; they depend on its index maps and (planned) extents only.

    The column is an axis of exactly one read, which becomes the right operand: the write's last dimension if it is such
    an axis, else the largest. The row is an axis of the other read that is written and not in the right one: the last that is not
    much shorter than the largest, so that a tile walks along lines of memory, not down an image.
    The depth is the largest reduction axis, those that both reads have first. Ties go to the operator's order of axes,
    but those of the depth to the axis along which the left operand is read side by side.
    Raises `PlanningError` for an operator that is not a contraction. For "mk,k->m" the matrix is the right operand:

    >>> from tilewright.graph.expressions.index import axis
    >>> from tilewright.graph.expressions.scalar import Load, apply
    >>> from tilewright.graph.types import SUM, Access, Axis, AxisKind
    >>> m, k = Axis("m", 8), Axis("k", 4, AxisKind.REDUCTION)
    >>> reads = Access("A", (axis("m"), axis("k"))), Access("x", (axis("k"),))
    >>> body = apply("multiply", Load(0), Load(1))
    >>> contraction_roles(Operator("y", "einsum", (m, k), reads, Access("y", (axis("m"),)), body, SUM))
    ContractionRoles(left=1, right=0, row=None, column='m', depth='k', outer=())
    """
    if not operator.is_contraction():
        raise PlanningError(f"{operator.name} is not a matrix product of two operands", where=operator.name)
    reads = tuple(access.axes() for access in operator.reads)
    written = operator.write.axes()
    of_one, last = (reads[0] ^ reads[1]) & written, operator.write.innermost()
    column = last if last in of_one else _largest(operator, of_one)
    right = 0 if column is not None and column in reads[0] else 1
    left = 1 - right
    row = _row(operator, (reads[left] - reads[right]) & written)
    reductions = {axis.name for axis in operator.reduction_axes()}
    depth = _depth(operator, reductions & reads[0] & reads[1], left) or _largest(operator, reductions)
    outer = tuple([axis.name for axis in operator.axes if axis.name not in (row, column, depth)])
    return ContractionRoles(left, right, row, column, depth, outer)


def matrix_dimensions(graph: Graph) -> frozenset[str]:
    """The run-time dimensions of a graph's only contraction, if it is a product of two matrices whose depth and columns vary.

    Of several, as of attention and layers, dimensions differ in size by their nature.
    """
    products = [operator for operator in graph.operators if operator.is_contraction()]
    if len(products) != 1:
        return frozenset()
    roles = contraction_roles(products[0])
    right = [products[0].axis(name).extent for name in (roles.depth, roles.column) if name is not None]
    varies = not roles.outer and sum(isinstance(extent, SymbolicExtent) for extent in right) == 2
    return frozenset(dimensions_of(axis.extent for axis in products[0].axes)) if varies else frozenset()


def outer_reductions(operator: Operator, roles: ContractionRoles) -> tuple[str, ...]:
    """The reduction axes around the depth, innermost first."""
    reductions = [axis.name for axis in operator.reduction_axes() if axis.name != roles.depth]
    return tuple([name for name in reversed(roles.outer) if name in reductions]) if reductions else ()


def _row(operator: Operator, names: Collection[str]) -> str | None:
    """The last of these axes that has half as many points as the largest one, enough for a tile, or as many."""
    rows = [axis for axis in operator.axes if axis.name in names]
    if len(rows) < 2:
        return rows[0].name if rows else None
    most = max([planned_extent(axis.extent) for axis in rows])
    least = max(-(-most // 2), min(FEWEST_ROWS, most))
    return next(axis.name for axis in reversed(rows) if planned_extent(axis.extent) >= least)


def _depth(operator: Operator, names: set[str], left: int) -> str | None:
    """The largest of these axes; of equal ones that along which neighbours lie side by side in the left operand."""
    largest = _largest(operator, names)
    if largest is None or len(names) == 1:
        return largest
    nearest = operator.reads[left].innermost()
    if nearest not in names:
        return largest
    nearest_extent, extent = (planned_extent(operator.axis(name).extent) for name in (nearest or "", largest))
    return nearest if nearest_extent == extent else largest


def _largest(operator: Operator, names: Collection[str]) -> str | None:
    """The first of the largest of these axes."""
    candidates = [axis for axis in operator.axes if axis.name in names]
    if len(candidates) < 2:
        return candidates[0].name if candidates else None
    return max(candidates, key=lambda axis: planned_extent(axis.extent)).name
