"""Elementwise operators of every element type: vector loops with whole vectors first and one partial vector at the end.

Reads may be gathers: at positions that divide, in windows of which some lanes are padding, and at positions that others give.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.arrays import Count, Quantity, either, maximum, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access
from tilewright.leaves.declaration import (
    GENERAL,
    Constraints,
    CostProblem,
    Leaf,
    LoweredTile,
    Mismatch,
    Problem,
    Refusal,
)
from tilewright.leaves.tile_programs import maps
from tilewright.leaves.tile_programs.prices import cycles_of

NAME = "elementwise maps"
PART_CYCLES = 4.0
"""Of a row that is a vector in part, beside its share of whole ones: windows by two of 7 and 14 columns took 4 and 3 (Zen 4)."""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """Any elementwise operator."""
    if not problem.operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    return (LeafBinding(NAME, element_type=problem.exact_type),)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """A pass with the functions of all points, or the loads of windows if these take longer, and what reads with gaps take."""
    passing = maximum(whole_pass_seconds(binding, problem), loading_seconds(problem))
    return passing + strided_seconds(problem) + scattered_seconds(problem)


def whole_pass_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """A pass in vectors of float32, or of the type that the binding says."""
    return typed_seconds(binding, problem) if binding.element_type else pass_seconds(problem)


def typed_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The instructions of all points, and one pass over memory, in lanes of another type than float32."""
    cycles = cycles_of(problem.operator.body, binding.element_type, problem.lanes)
    return points(problem) / problem.lanes * (cycles + problem.coefficients.pass_cycles_per_vector) / problem.machine.frequency_hz


def pass_seconds(problem: CostProblem) -> Quantity:
    """The functions of all points, and one pass over memory."""
    return points(problem) * problem.seconds_per_element([problem.operator.body], 1)


def loading_seconds(problem: CostProblem) -> Quantity:
    """The time in which windows are loaded that are neighbours: parts of one tensor at several places along the lanes.

    Vectors that straddle two lines are loaded twice. Cycles of a vector of sums of 4, 9 and 16 windows, Zen 4: of 512 bits 6.5,
    16 and 27 (here 8, 18 and 32), of 256 bits 4.0, 9.6 and 13 (3, 6.8 and 12).
    """
    machine, columns = problem.machine, problem.operator.write.innermost()
    loads = 0 if columns is None else _neighbouring_windows(problem.operator.reads, columns)
    if columns is None or not loads:
        return 0.0
    vectors = points(problem) // problem.sizes[columns] * -(-problem.sizes[columns] // problem.lanes)
    vector_bytes = machine.vector_bits // 8
    loaded_bytes = loads * vector_bytes * (1 + vector_bytes / machine.line_bytes)
    return vectors * (loaded_bytes / machine.levels[0].bandwidth_bytes_per_s)


def _neighbouring_windows(reads: Sequence[Access], columns: str) -> int:
    """The reads of tensors that are read at several places along the columns."""
    if len({read.tensor for read in reads}) == len(reads):
        return 0
    last: dict[str, list[Index]] = {}
    for read in reads:
        if read.indices and not read.lookups and read.indices[-1].coefficient(columns) == 1:
            last.setdefault(read.tensor, []).append(read.indices[-1])
    return sum(len(places) for places in last.values() if len(set(places)) > 1)


def strided_seconds(problem: CostProblem, turned: Collection[str] = ()) -> Quantity:
    """The time in which elements are taken apart that are read with gaps along the lanes, as windows by two are.

    Two vectors and a permutation make a vector of every other element; wider gaps are loaded one by one. Reads that lie side by
    side along axes that are `turned` are left out.
    """
    columns = problem.operator.write.innermost()
    if columns is None:
        return 0.0
    last = [access.indices[-1] for access in problem.operator.reads if access.indices and not access.lookups]
    apart = (index for index in last if index.is_affine() and all(index.coefficient(axis) != 1 for axis in turned))
    strides = [abs(index.coefficient(columns)) for index in apart]
    by_two, wider = strides.count(2), sum(stride > 2 for stride in strides)
    coefficients, lanes = problem.coefficients, problem.lanes
    cycles = by_two * coefficients.strided_cycles_per_vector + wider * lanes * coefficients.scalar_step_cycles
    return points(problem) / lanes * cycles / problem.machine.frequency_hz


def scattered_seconds(problem: CostProblem) -> Quantity:
    """The time in which fewer results than a vector are stored between those of another axis: one by one, or, of rows of a third
    of a vector and more, as a vector in part."""
    last = problem.operator.write.indices[-1:]
    columns = problem.operator.write.innermost()
    if columns is None or not last or len(last[0].terms) < 2:
        return 0.0
    size = problem.sizes[columns]
    cycles = either(3 * size < problem.lanes, problem.coefficients.scalar_step_cycles, PART_CYCLES / maximum(size, 1))
    return either(size < problem.lanes, points(problem) * cycles, 0) / problem.machine.frequency_hz


def points(problem: CostProblem) -> Count:
    """All points of an operator."""
    return product(problem.sizes[axis.name] for axis in problem.operator.axes)


def lower(loops: VectorLoops, _: LeafBinding) -> LoweredTile:
    """The program of a box."""
    return maps.lowered(loops)


LEAF = Leaf(NAME, order=GENERAL, match=match, seconds=seconds, lower=lower, constraints=lambda _: Constraints(shares_loops=True))
