"""Elementwise operators of float32, as C: vector loops with whole vectors first and one partial vector at the end.

Reads may be gathers: at positions that divide, in windows of which some lanes are padding, and at positions that others give.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.arrays import Count, Quantity, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import Gather
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.guarded_windows import is_guarded_window, span_inside
from tilewright.c_text.integer_expressions import to_c
from tilewright.c_text.statements import Lines, indent
from tilewright.c_text.vector_statements import VectorStatements
from tilewright.kernels.element_access import suffix
from tilewright.kernels.helpers import Helper
from tilewright.leaves.declaration import GENERAL, Constraints, CostProblem, Leaf, LoweredTile, Mismatch, Problem, Refusal
from tilewright.leaves.elementwise_lookups import (
    gathers,
    is_of_rows,
    kept_lines,
    kept_reads,
    kept_row,
    places_name,
    row_lines,
    row_place,
)
from tilewright.leaves.tile_programs import maps
from tilewright.leaves.tile_programs.prices import cycles_of
from tilewright.records import record

NAME = "elementwise maps"
MOST_LANES = 16
"""Of vectors of float32, of any dialect."""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """Any elementwise operator."""
    if not problem.operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    element_type = problem.scalar_type
    if element_type and not maps.has_functions(problem.operator.functions(), element_type):
        return Refusal(NAME, Mismatch.ELEMENT_TYPE)
    return (LeafBinding(NAME, element_type=element_type),)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """A pass with the functions of all points, and what reads with gaps take."""
    return (typed_seconds(binding, problem) if binding.element_type else pass_seconds(problem)) + strided_seconds(problem)


def typed_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The instructions of all points, and one pass over memory, in lanes of another type than float32."""
    cycles = cycles_of(problem.operator.body, binding.element_type, problem.lanes)
    return points(problem) / problem.lanes * (cycles + problem.coefficients.pass_cycles_per_vector) / problem.machine.frequency_hz


def pass_seconds(problem: CostProblem) -> Quantity:
    """The functions of all points, and one pass over memory."""
    return points(problem) * problem.seconds_per_element([problem.operator.body], 1)


def strided_seconds(problem: CostProblem) -> Quantity:
    """The time in which elements are taken apart that are read with gaps along the lanes, as windows by two are.

    Two vectors and a permutation make a vector of every other element; wider gaps are loaded one by one.
    """
    columns = problem.operator.write.innermost()
    if columns is None:
        return 0.0
    last = [access.indices[-1] for access in problem.operator.reads if access.indices and not access.lookups]
    strides = [abs(index.coefficient(columns)) for index in last if index.is_affine()]
    by_two, wider = strides.count(2), sum(stride > 2 for stride in strides)
    coefficients, lanes = problem.coefficients, problem.lanes
    cycles = by_two * coefficients.strided_cycles_per_vector + wider * lanes * coefficients.scalar_step_cycles
    return points(problem) / lanes * cycles / problem.machine.frequency_hz


def points(problem: CostProblem) -> Count:
    """All points of an operator."""
    return product(problem.sizes[axis.name] for axis in problem.operator.axes)


def lower(loops: VectorLoops, _: LeafBinding) -> MapLoops | LoweredTile:
    """The program of a box; the C where a function has no program yet."""
    has_program = maps.has_functions(loops.operator.functions(), loops.computed_type)
    return maps.lowered(loops) if has_program else MapLoops(loops)


@record
class MapLoops(VectorStatements):
    """All loops of an elementwise operator."""

    def helpers(self) -> list[Helper]:
        """The functions that the statements call."""
        return [*VectorStatements.helpers(self), *gathers(kept_reads(self.loops).values(), self.loops.lanes)]

    def text(self) -> Lines:
        """The whole nest."""
        vector = self.loops.vector_axis
        rows = row_lines(self.loops.reads, vector, self.address, self.first_position)
        around, body = self.by_rows(
            [axis for axis, _ in self.loops.box if axis != vector], lambda row: [*rows, *row.over_windows(vector)]
        )
        if vector is not None and kept_reads(self.loops):
            found = kept_lines(self.loops, names.axis_offset(vector), self.address, self.first_position)
            return ["{", *indent([*found, *self.nest(around, body)]), "}"]
        return self.scope(around, body)

    def over_windows(self, vector: str | None) -> Lines:
        """The loop over the vectors of a map, behind what is found once about windows of which some lanes are not real."""
        if vector is None:
            return self.over(vector, self.points)
        guarded = {
            read: operand
            for read, operand in enumerate(self.loops.reads)
            if isinstance(operand, Gather) and operand.guard is not None and is_guarded_window(operand)
        }
        size, start = to_c(self.ranges[vector].size), to_c(self.ranges[vector].start)

        def position(axis: str) -> str:
            return start if axis == vector else self.first_position(axis)

        before = [line for read, operand in guarded.items() for line in span_inside(read, operand, vector, size, position)]
        is_long = isinstance(self.ranges[vector].size, int) and int(size) >= MOST_LANES
        is_in_place = any(read.buffer == self.loops.write.buffer for read in self.loops.reads)
        inside = replace(self, spans=frozenset(guarded))
        return self.over(vector, inside.points, before=before, repeats=bool(guarded) and is_long and not is_in_place)

    def looked_up(self, read: int, operand: Gather, part: bool) -> Lines:
        """Declare the vector of a read at positions that others give: of a row, of kept positions, or lane by lane."""
        if is_of_rows(operand, self.loops.reads, vector := self.loops.vector_axis):
            row = row_place(operand, read, vector, self.first_position)
            return self.define(f"load_{read}", self.load_at(*row, suffix(operand.dtype), part))
        if read in kept_reads(self.loops):
            return self.define(f"load_{read}", self.gather(read, operand, part))
        return VectorStatements.looked_up(self, read, operand, part)

    def gather(self, read: int, operand: Gather, part: bool) -> str:
        """The expression that collects a vector of elements at positions that were found before."""
        places = f"{places_name(read)} + {to_c(self.offset(self.loops.vector_axis or ''))}"
        arguments, of = f"{kept_row(operand, self.first_position)}, {places}", suffix(operand.dtype)
        return f"tw_gather_part{of}({arguments}, lanes)" if part else f"tw_gather{of}({arguments})"


LEAF = Leaf(NAME, order=GENERAL, match=match, seconds=seconds, lower=lower, constraints=lambda _: Constraints(shares_loops=True))
