"""Elementwise operators of which some reads lie transposed: lanes run along the write, and tiles of reads turn in registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.arrays import Count, Quantity, either, maximum, product
from tilewright.block.execution import EVERY_OTHER, LEAST_TURNED_ROWS
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import Range, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Load, subexpressions
from tilewright.graph.types import Access, Operator
from tilewright.leaves import elementwise_maps
from tilewright.leaves.declaration import Constraints, CostProblem, Leaf, LoweredTile, Mismatch, Problem, Refusal
from tilewright.leaves.elementwise_maps import points, scattered_seconds, strided_seconds, whole_pass_seconds
from tilewright.leaves.tile_programs import turned_maps

NAME = "transposed maps"
WINDOW_CYCLES = 1.0
"""Of an element of a window whose neighbours lie side by side: patches of 5, 7, 8, 12 and 16 columns took 1.1, 1.1, 0.7, 0.8 and
0.4 (Zen 4, 512 bits)."""
COLUMNS, ROWS = "columns", "rows"
"""The roles of axes: along the columns the write lies side by side, along rows a read does."""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The axes along which the write and some reads of an elementwise operator lie side by side."""
    operator = problem.operator
    if not operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    columns, written = operator.write.innermost(), operator.write.axes()
    found = (row for access in operator.reads for row in _rows(access, columns) if row in written) if columns else ()
    rows = tuple((ROWS, row) for row in dict.fromkeys(found))
    if not columns or not rows:
        return Refusal(NAME, Mismatch.LANES)
    return (LeafBinding(NAME, ((COLUMNS, columns), *rows), element_type=problem.exact_type),)


def _rows(access: Access, columns: str) -> Iterator[str]:
    """The axes along which a read lies side by side, if it does not along the columns, nor has every other element of these."""
    last = next((index for index in reversed(access.indices) if index.terms), None)
    if last is None or access.lookups or columns not in access.axes() or not all(index.is_affine() for index in access.indices):
        return
    if last.coefficient(columns) not in (1, EVERY_OTHER):
        yield from (str(atom) for atom, coefficient in last.terms if coefficient == 1)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The pass of an elementwise operator, and what turning its reads takes."""
    passes = whole_pass_seconds(binding, problem) + scattered_seconds(problem)
    rows = [axis for role, axis in binding.axes if role == ROWS]
    return passes + turning_seconds(binding, problem) + strided_seconds(problem, rows) + window_seconds(binding, problem)


def window_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The time in which windows are taken apart whose taps lie side by side, as patches: they turn, or are stored tap by tap."""
    columns, rows = dict(binding.axes)[COLUMNS], [axis for role, axis in binding.axes if role == ROWS]
    last = [access.indices[-1] for access in problem.operator.reads if access.indices and not access.lookups]
    wide = [index for index in last if abs(index.coefficient(columns)) > EVERY_OTHER]
    windows = sum(any(index.coefficient(row) == 1 for row in rows) for index in wide)
    return points(problem) * windows * WINDOW_CYCLES / problem.machine.frequency_hz


def turning_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The time in which reads that lie along another axis than the write are turned, by squares as wide as vectors.

    Squares end where blocks end, and a short square takes as long as a whole one. Blocks of few rows are not transposed: the
    elements of a vector along the rows are stored one by one. Lines show a miss each where most rows are on pages of their own.
    """
    operator, sizes, tiles, coefficients = problem.operator, problem.sizes, problem.tiles, problem.coefficients
    columns = dict(binding.axes)[COLUMNS]
    cycles: Quantity = 0
    apart_bytes: Count = 0
    for rows in _turned_rows(operator, columns):
        around = product(sizes[axis.name] for axis in operator.axes if axis.name not in (rows, columns))
        by_row, by_column = (_vectors_along(sizes[axis], tiles[axis], problem.lanes) for axis in (rows, columns))
        squares = around * by_row * by_column * coefficients.tile_transpose_cycles
        one_by_one = around * by_row * sizes[columns] * coefficients.transpose_cycles_per_vector
        cycles = cycles + either(tiles[rows] >= LEAST_TURNED_ROWS, squares, one_by_one)
        apart_bytes = maximum(apart_bytes, _rows_apart_bytes(problem, rows))
    scattered = either(2 * apart_bytes >= problem.machine.page_bytes, _lines_beyond(problem), 0)
    return (cycles + scattered * coefficients.scattered_line_cycles) / problem.machine.frequency_hz


def _turned_rows(operator: Operator, columns: str) -> Iterator[str]:
    """For every read that lies side by side along another axis of the result than its columns, that axis.

    Windows are left out, which have columns in their last dimension, too.
    """
    for access in operator.reads:
        is_moved = columns in access.axes() and not access.lookups and all(index.is_affine() for index in access.indices)
        last = access.indices[-1] if is_moved else Index()
        rows = [str(atom) for atom, coefficient in last.terms if coefficient == 1]
        if len(rows) == 1 and not last.coefficient(columns) and rows[0] in operator.write.axes():
            yield rows[0]


def _vectors_along(size: Count, tile: Count, lanes: Count) -> Count:
    """The vectors of an axis that blocks cut into tiles."""
    return size // tile * -(-tile // lanes) + -(-(size % tile) // lanes)


def _rows_apart_bytes(problem: CostProblem, rows: str) -> Count:
    """How far neighbours along rows are stored from each other, if the result has no other points."""
    indices = problem.operator.write.indices
    place = next(place for place, index in enumerate(indices) if index.coefficient(rows))
    behind = {axis for index in indices[place + 1 :] for axis in index.axes()}
    return product(problem.sizes[axis] for axis in behind) * (problem.write_bytes * abs(indices[place].coefficient(rows)))


def _lines_beyond(problem: CostProblem) -> Quantity:
    """Lines of a result that the level that blocks are fused for does not hold as a whole."""
    size_bytes = problem.write_bytes * points(problem)
    lines = size_bytes / problem.machine.levels[0].line_bytes
    return either(size_bytes > problem.fused_bytes, lines, 0)


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box, by tiles if it has enough rows and columns, and its reads lie transposed along one axis of rows."""
    rows = _turned_axis(loops, binding)
    if rows is None:
        return elementwise_maps.lower(loops, binding)
    columns = dict(binding.axes)[COLUMNS]
    return turned_maps.lowered(replace(loops, vector_axis=columns), rows, _transposed(loops, rows, columns))


def _turned_axis(loops: VectorLoops, binding: LeafBinding) -> str | None:
    """The axis of the rows of tiles, if a box is computed by tiles."""
    columns, rows = dict(binding.axes)[COLUMNS], [axis for role, axis in binding.axes if role == ROWS]
    turned = [axis for axis in rows if _turns(loops, axis, columns)]
    return turned[0] if len(turned) == 1 and all(isinstance(read, View) for read in loops.reads) else None


def literal_axis(loops: VectorLoops, binding: LeafBinding) -> str | None:
    """None of tiles, which are loaded and stored a row at a time."""
    return loops.vector_axis if _turned_axis(loops, binding) is None else None


def _turns(loops: VectorLoops, rows: str, columns: str) -> bool:
    """Whether a box has enough rows and columns, and reads that lie along the rows."""
    box, vectors = dict(loops.box), loops.vectors
    is_wide = loops.write.stride(columns) == 1 and _has_at_least(box[columns], vectors.least_turned_columns)
    return is_wide and _has_at_least(box[rows], vectors.least_turned_rows) and bool(_transposed(loops, rows, columns))


def _has_at_least(block: Range, points: int) -> bool:
    return not isinstance(block.capacity, int) or block.capacity >= points


def _transposed(loops: VectorLoops, rows: str, columns: str) -> list[int]:
    """The numbers of the reads of a map that lie along its rows, and not along its columns."""
    used = {node.read for node in subexpressions(loops.operator.body) if isinstance(node, Load)}
    reads = ((number, read) for number, read in enumerate(loops.reads) if number in used and isinstance(read, View))
    return [number for number, read in reads if read.stride(rows) == 1 and read.stride(columns) not in (0, 1, EVERY_OTHER)]


LEAF = Leaf(
    NAME,
    order=4,
    match=match,
    seconds=seconds,
    lower=lower,
    constraints=lambda _: Constraints(shares_loops=True),
    literal_axis=literal_axis,
)
