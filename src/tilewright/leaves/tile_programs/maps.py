"""Elementwise operators as tile programs: loops over rows, whole vectors first and one partial vector at the end."""

from __future__ import annotations

from contextlib import nullcontext

from tilewright.block.integers import Variable, VariableKind
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import AxisValue, Load, Parameter, Scalar
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.leaves.declaration import WAYS, LoweredTile
from tilewright.leaves.tile_programs.gathers import Gathers
from tilewright.leaves.tile_programs.looked_up_copies import copied, copy_rows
from tilewright.leaves.tile_programs.narrow_lanes import lane_type
from tilewright.leaves.tile_programs.points import Points, may_be_in_place
from tilewright.leaves.tile_programs.prices import cycles_of
from tilewright.leaves.tile_programs.reports import INFINITE
from tilewright.leaves.tile_programs.values import Values
from tilewright.tile.builder import Builder
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Place, Value
from tilewright.tile.types import vector

SHORT_CYCLES = 5.0
"""Of expressions that cost less than a loop around them."""


def lowered(loops: VectorLoops) -> LoweredTile:
    """The program of a box."""
    return MapProgram(loops).lowered()


class MapProgram(Points):
    """The points of an elementwise operator."""

    def __init__(self, loops: VectorLoops) -> None:
        """Of a leaf without a reduction."""
        Points.__init__(self, loops, lane_type(loops))
        self.gathers = Gathers(self)

    def lowered(self) -> LoweredTile:
        """The whole program."""
        around = [axis for axis in self.ranges if axis != self.vector_axis]
        if self.gathers.are_kept() and (read := copied(self)) is not None:
            copy_rows(self, self.gathers, read, around)
        elif self.gathers.are_kept():
            self.vectors(lambda: self.all_rows(around))
        elif any(isinstance(read, Gather) for read in self.loops.reads):
            with self.over(around):
                self.gathers.enter_row()
                self.vectors(self.point, repeats=self.may_repeat())
        else:
            self.rows(around, 1 if self.is_long() else WAYS, self.some_rows)
        return self.arguments.lowered()

    def may_repeat(self) -> bool:
        """Whether lanes may be computed twice, which saves masks of windows: nothing that is read is written."""
        has_windows = any(isinstance(read, Gather) and read.guard is not None for read in self.loops.reads)
        return has_windows and not may_be_in_place(self.loops)

    def all_rows(self, around: list[str]) -> None:
        """The current vector of all rows, which look up the same positions."""
        self.gathers.enter_vector()
        with self.over(around):
            self.gathers.enter_row()
            self.point()

    def some_rows(self, axis: str, ways: int) -> None:
        """Some rows, vector by vector."""

        def points() -> None:
            for way in range(ways):
                with self.moved(axis, self.at[axis] + way) if axis else nullcontext():
                    self.point()

        self.vectors(points, is_long=self.is_long())

    def is_long(self) -> bool:
        """Whether the steps of a vector take much longer than its place in loops: they are written down once, then."""
        return cycles_of(self.loops.operator.body, self.computed, self.lanes) > SHORT_CYCLES

    def point(self) -> None:
        """One vector."""
        self.store(self.value())

    def value(self) -> Value:
        """Of one vector."""
        known: dict[Scalar, Value] = {}
        if self.is_whole != 1:
            reads = enumerate(self.loops.reads)
            known = {Load(read): self.load(operand) for read, operand in reads if isinstance(operand, View)}
        own = {REPORT_NOT_FINITE: self.reported}
        return Values(self.builder, self.type, self.leaf, known, own).any(self.body())

    def body(self) -> Scalar:
        """What is computed for the current points."""
        return self.loops.operator.body

    def leaf(self, scalar: Scalar) -> Value:
        """The value of what is read, or follows from where the point is."""
        match scalar:
            case Load(read):
                operand = self.loops.reads[read]
                return self.load(operand) if isinstance(operand, View) else self.gathers.load(read, operand)
            case AxisValue(axis):
                return self.axis_value(axis)
            case Parameter(name):
                return self.number(self.arguments.index(Variable(VariableKind.EXTENT, name)))
            case _:
                raise InternalError(f"{scalar} has no place in a map")

    def axis_value(self, axis: str) -> Value:
        """Positions along an axis: those of floats are exact below 2^24."""
        value = self.number(self.position(axis))
        return value + self.builder.iota(self.type) if axis == self.vector_axis else value

    def reported(self, _: Builder, value: Value) -> Value:
        """The value itself; the caller is told of what is not finite."""
        self.tell_of(value - value)
        return value

    def tell_of(self, rest: Value) -> None:
        """Tell the caller of lanes that are not 0: of what is finite, nothing is left when it is taken from itself."""
        b = self.builder
        found = b.instruction(Operation.ANY, vector("int32"), (rest.differs(0),))
        with b.when(b.define(IntegerOperation.VALUE, found)):
            b.call(INFINITE.name, Place(self.arguments.caller().name, 0))
