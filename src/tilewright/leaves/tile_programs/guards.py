"""Guards in tile programs: which lanes of an access are real.

Every affine constraint holds from some point along the lanes on, or up to some point; those that do not move with the lanes hold
for all of them or for none. What is found of them does not depend on the vector: it is found before the loop over vectors.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from tilewright.block.memory import Gather
from tilewright.graph.expressions.index import Index
from tilewright.leaves.tile_programs.conversions import mask_of
from tilewright.leaves.tile_programs.lanes import Lanes
from tilewright.leaves.tile_programs.points import Points
from tilewright.leaves.tile_programs.positions import Position, conditions, is_natural, position_of
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value
from tilewright.tile.types import Type


@record(eq=False)
class Span:
    """The points of a row, counted from its start, at which an access is real, but for constraints of single lanes."""

    first: IndexLike | None
    last: IndexLike | None
    """None: there is no limit."""
    irregular: tuple[Index, ...] = ()
    """Constraints that are no affine functions along the lanes."""


def span_of(points: Points, operand: Gather) -> Span:
    """The span of the row that the points are in."""
    constraints = operand.guard.constraints if operand.guard is not None else ()
    lanes = points.vector_axis
    affine = [(c, c.coefficient(lanes)) for c in constraints if _is_affine_along(c, lanes)]
    with points.moved(lanes, 0) if lanes else nullcontext():
        found = [(position_of(points, c, "").first, factor) for c, factor in affine]
    firsts = [_first(points, at, factor) for at, factor in found if factor > 0]
    lasts = [_last(points, at, -factor) for at, factor in found if factor < 0]
    fixed = [is_natural(points, at) for at, factor in found if factor == 0]
    first, last = _folded(points, IntegerOperation.MAXIMUM, firsts), _folded(points, IntegerOperation.MINIMUM, lasts)
    if fixed:
        size = points.size(lanes) if lanes else 1
        last = points.builder.define(IntegerOperation.CHOOSE, conditions(points, *fixed), size if last is None else last, 0)
    return Span(first, last, tuple(c for c in constraints if not _is_affine_along(c, lanes)))


def _is_affine_along(constraint: Index, lanes: str) -> bool:
    """Whether no division in it depends on the lanes."""
    return all(isinstance(atom, str) or lanes not in Index(((atom, 1),)).axes() for atom, _ in constraint.terms)


def _first(points: Points, at: IndexLike, factor: int) -> IndexLike:
    """The first point at which a constraint that grows by `factor` holds."""
    needed = 0 - at
    return needed if factor == 1 else points.builder.define(IntegerOperation.FLOOR_DIVIDE, needed + (factor - 1), factor)


def _last(points: Points, at: IndexLike, factor: int) -> IndexLike:
    """The point from which on a constraint that falls by `factor` does not hold."""
    steps = at if factor == 1 else points.builder.define(IntegerOperation.FLOOR_DIVIDE, at, factor)
    return steps + 1


def _folded(points: Points, operation: IntegerOperation, values: list[IndexLike]) -> IndexLike | None:
    if not values:
        return None
    total, *rest = values
    for value in rest:
        total = points.builder.define(operation, total, value)
    return total


def lanes_of(points: Points, span: Span) -> Lanes:
    """The lanes of the current vector that are real."""
    at = points.at.get(points.vector_axis, 0)
    irregular = (position_of(points, constraint, points.vector_axis) for constraint in span.irregular)
    return Lanes(
        (span.first - at,) if span.first is not None else (),
        (span.last - at,) if span.last is not None else (),
        tuple(partial(_mask, points, position) for position in irregular),
    )


def _mask(points: Points, position: Position, of: Type) -> Value:
    """The lanes in which a constraint holds."""
    return mask_of(points.builder, position.lanes(points) >= 0, of.bits)


def is_whole(points: Points, span: Span) -> IndexLike | None:
    """Whether all lanes of the current vector are real; None where none asks for that, as it is rare."""
    if span.irregular or not points.real.are_all:
        return None
    at = points.at.get(points.vector_axis, 0)
    holds = [points.builder.define(IntegerOperation.LESS, span.first - at, 1)] if span.first is not None else []
    if span.last is not None:
        holds.append(points.builder.define(IntegerOperation.LESS, at + (points.lanes - 1), span.last))
    return conditions(points, *holds)
