"""Guarded maps in pieces: cut where a guard begins or ends to hold, so that no piece evaluates it for every element.

A constraint of one axis, c * i + b >= 0, holds from a point on or up to one. Below and above it the guard is decided: a read
is plain, or it is the number that is said elsewhere. What joins arrays, or pads them, becomes plain copies and fills.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tilewright.codegen.expressions import add, maximum, minimum, subtract
from tilewright.codegen.loop_nest import Range
from tilewright.codegen.lower.context import Scope
from tilewright.graph.conditions import constraint_of
from tilewright.graph.index import Index
from tilewright.graph.rewrites.rebuild import with_used_reads
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, rewrite
from tilewright.graph.types import Access, Guard, Operator, largest_extent

MOST_PIECES = 128
FEW_PLACES = 8
"""Along an axis, up to which the first one is cut at: choices between reads then decide the most of the others."""

Bounds = Mapping[str, tuple[int, int]]
"""The points along every axis: from the first to before the second."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an operator's points, where some guards are decided."""

    operator: Operator
    bounds: Bounds


def pieces(operator: Operator) -> tuple[Piece, ...]:
    """The pieces of a map, in order; the map itself where nothing can be decided, or too much."""
    bounds = {axis.name: (0, largest_extent(axis.extent)) for axis in operator.axes}
    whole = Piece(operator, bounds)
    if operator.reduction is not None or all(access.guard is None for access in operator.reads):
        return (whole,)
    found: list[Piece] = []
    for piece in _cut(_decided(whole)):
        found.append(piece)
        if len(found) > MOST_PIECES:
            return (whole,)
    return tuple(found)


def scope_of(piece: Piece, scope: Scope) -> Scope:
    """The part of the current ranges that lies in a piece. A size that is not above 0 says that there is none."""
    for axis in piece.operator.axes:
        first, end = piece.bounds[axis.name]
        if (first, end) != (0, largest_extent(axis.extent)):
            scope = scope.at(axis.name, _within(scope.ranges[axis.name], first, end))
    return scope


def _within(block: Range, first: int, end: int) -> Range:
    if block.start == 0 and isinstance(block.size, int):
        size = max(0, min(block.size, end) - first)
        return Range(first, size, block.capacity, frozenset((size,)), size)
    start = maximum(block.start, first)
    stop = minimum(add(block.start, block.size), end)
    return Range(start, subtract(stop, start), block.capacity, None, block.most)


def _cut(piece: Piece) -> Iterator[Piece]:
    """A piece cut where something is decided, and so on."""
    place = _place(piece)
    if place is None:
        yield piece
        return
    axis, point = place
    first, end = piece.bounds[axis]
    for part in ((first, point), (point, end)):
        yield from _cut(_decided(replace(piece, bounds={**piece.bounds, axis: part})))


def _place(piece: Piece) -> tuple[str, int] | None:
    """The first place, or the middle one of many along its axis: what joins n parts is looked through log(n) times, not n."""
    places = list(_places(piece))
    if not places:
        return None
    points = sorted({point for axis, point in places if axis == places[0][0]})
    return places[0] if len(points) <= FEW_PLACES else (places[0][0], points[len(points) // 2])


def _places(piece: Piece) -> Iterator[tuple[str, int]]:
    """Where along an axis a constraint changes inside of a piece."""
    for constraint in _constraints(piece.operator):
        change = _change(constraint)
        if change is not None and piece.bounds[change[0]][0] < change[1] < piece.bounds[change[0]][1]:
            yield change[:2]


def _constraints(operator: Operator) -> Iterator[Index]:
    """Of guards of reads that expressions use."""
    used = dict.fromkeys(node.read for node in operator.scalars() if isinstance(node, Load))
    for number in used:
        guard = operator.reads[number].guard
        yield from guard.constraints if guard is not None else ()


def _change(constraint: Index) -> tuple[str, int, bool] | None:
    """(axis, point, whether it holds from there on, and not up to there) of a constraint of one axis."""
    match constraint.terms:
        case ((str(axis), factor),) if factor > 0:
            return axis, -(constraint.constant // factor), True
        case ((str(axis), factor),):
            return axis, constraint.constant // -factor + 1, False
    return None


def _truth(constraint: Index, bounds: Bounds) -> bool | None:
    """Whether a constraint holds at all points, or at none; None if that is not known."""
    if not constraint.terms:
        return constraint.constant >= 0
    change = _change(constraint)
    if change is None:
        return None
    axis, point, grows = change
    first, end = bounds[axis]
    return grows if point <= first else not grows if point >= end else None


def _decided(piece: Piece) -> Piece:
    """A piece without the conditions that its bounds decide."""
    operator = piece.operator
    reads, values = [], dict[Scalar, Scalar]()
    for number, access in enumerate(operator.reads):
        known = _guard_within(access, piece.bounds)
        if isinstance(known, Literal):
            values[Load(number)] = known
        reads.append(access if isinstance(known, Literal) else known)
    body = rewrite(_chosen(operator.body, piece.bounds), values.get)
    return replace(piece, operator=with_used_reads(replace(operator, reads=tuple(reads), body=body)))


def _guard_within(access: Access, bounds: Bounds) -> Access | Literal:
    """An access with what is left of its guard, or what it is where the guard does not hold."""
    if access.guard is None:
        return access
    truths = {constraint: _truth(constraint, bounds) for constraint in access.guard.constraints}
    if False in truths.values():
        return Literal(access.guard.otherwise)
    left = tuple(constraint for constraint, truth in truths.items() if truth is None)
    return replace(access, guard=Guard(left, access.guard.otherwise) if left else None)


def _chosen(body: Scalar, bounds: Bounds) -> Scalar:
    """A body without the choices by positions that are decided."""

    def decided(node: Scalar) -> Scalar | None:
        if not isinstance(node, Apply) or node.function != "where":
            return None
        constraint = constraint_of(node.operands[0])
        truth = _truth(constraint.index, bounds) if constraint is not None and not constraint.data else None
        return None if truth is None else _chosen(node.operands[1 if truth else 2], bounds)

    return rewrite(body, decided)
