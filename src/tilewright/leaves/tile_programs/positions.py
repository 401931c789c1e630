"""Positions along the lanes of a vector, in tile programs: of quasi-affine indices."""

from __future__ import annotations

from tilewright.block.integers import Variable, VariableKind
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.leaves.tile_programs.points import Points
from tilewright.records import record
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Value
from tilewright.tile.types import INDEX, vector


@record(eq=False)
class Position:
    """An integer for every lane: of the first one, what every lane adds, and what else differs from lane to lane, as int64."""

    first: IndexLike = 0
    step: IndexLike = 0
    other: Value | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether all lanes have the same."""
        return self.step == 0 and self.other is None

    def lanes(self, points: Points) -> Value:
        """The integers, as int64."""
        value = spread(points, self.first)
        if self.step != 0:
            iota = points.builder.iota(value.type)
            value = value + (iota if self.step == 1 else iota * spread(points, self.step))
        return value if self.other is None else value + self.other


def plus(points: Points, sum_: Position, more: Position, factor: IndexLike = 1) -> Position:
    """A sum with a multiple."""
    other = sum_.other
    if more.other is not None:
        added = more.other if factor == 1 else more.other * spread(points, factor)
        other = added if other is None else other + added
    return Position(sum_.first + more.first * factor, sum_.step + more.step * factor, other)


def spread(points: Points, index: IndexLike) -> Value:
    """An integer in all lanes."""
    b, of = points.builder, vector(INDEX.dtype, points.lanes)
    return b.constant(index, of) if isinstance(index, int) else b.splat(b.index_value(index), points.lanes)


def position_of(points: Points, index: Index, lanes: str) -> Position:
    """Where an index is, of lanes along an axis; "" for the first lane alone."""
    total = Position(index.constant)
    for atom, coefficient in index.terms:
        total = plus(points, total, _atom(points, atom, lanes), coefficient)
    return total


def _atom(points: Points, atom: str | FloorDiv | Mod | SymbolicExtent, lanes: str) -> Position:
    match atom:
        case str():
            return Position(points.position(atom), int(atom == lanes))
        case SymbolicExtent():
            return Position(points.arguments.index(Variable(VariableKind.EXTENT, atom.name)))
        case FloorDiv(dividend, divisor):
            return _divided(points, position_of(points, dividend, lanes), divisor, is_rest=False)
        case Mod(dividend, divisor):
            return _divided(points, position_of(points, dividend, lanes), divisor, is_rest=True)


def _divided(points: Points, dividend: Position, divisor: int, *, is_rest: bool) -> Position:
    """The quotient or the rest of what is not negative."""
    b = points.builder
    if dividend.is_fixed:
        operation = IntegerOperation.REMAINDER if is_rest else IntegerOperation.FLOOR_DIVIDE
        return Position(b.define(operation, dividend.first, divisor))
    return Position(other=b.apply(Operation.REMAINDER if is_rest else Operation.QUOTIENT, dividend.lanes(points), divisor))


def conditions(points: Points, *conditions: IndexLike) -> IndexLike:
    """1 where all of them are not 0."""
    all_of: IndexLike = 1
    for condition in conditions:
        all_of = condition if all_of == 1 else points.builder.define(IntegerOperation.BOTH, all_of, condition)
    return all_of


def is_natural(points: Points, index: IndexLike) -> IndexLike:
    """Whether an integer is 0 or more."""
    return points.builder.define(IntegerOperation.LESS, -1, index)
