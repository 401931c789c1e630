"""Elementwise operators of which some reads lie transposed, as C: lanes run along the write, and tiles of these reads turn in
registers.

A tile has as many rows and columns as a vector has lanes. It is loaded along the reads' rows; then every row of it has its
lanes along the write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from tilewright.arrays import Count, Quantity, either, product
from tilewright.block.execution import LEAST_TURNED_ROWS
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import Range, View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, pointer, to_c
from tilewright.c_text.statements import Lines, braced, indent
from tilewright.c_text.vector_statements import VectorStatements, long_functions
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Load, subexpressions
from tilewright.graph.types import Access, Operator
from tilewright.kernels.element_access import C_TYPES, reading, suffix
from tilewright.kernels.helpers import Helper
from tilewright.leaves import elementwise_maps
from tilewright.leaves.declaration import Constraints, CostProblem, Leaf, Lowered, LoweredTile, Mismatch, Problem, Refusal
from tilewright.leaves.elementwise_maps import pass_seconds, points, strided_seconds
from tilewright.records import record

NAME = "transposed maps"
COLUMNS, ROWS = "columns", "rows"
"""The roles of axes: along the columns the write lies side by side, along rows a read does."""
EVERY_OTHER = 2
"""The stride at which two loads and a shuffle make a vector."""
TURNED = ("float32", "uint8", "int8", "int32")
"""Types of transposed reads: vectors of each are loaded as float32."""
TRANSPOSED = """\
/* v[i], lane j = source[i + j * column], of `rows` vectors and `lanes` lanes; the others are zero. */
static __attribute__((noinline, unused)) void tw_load_transposed@SUFFIX@(tw_vec *v, const @TYPE@ *source, long column, long rows,
                                                                 long lanes) {
  if (rows == TW_LANES && lanes == TW_LANES)
    TW_EACH_LANE(v[lane] = tw_load@SUFFIX@(source + lane * column);)
  else
    TW_EACH_LANE(v[lane] = lane < lanes ? tw_load_part@SUFFIX@(source + lane * column, rows) : tw_splat(0.0f);)
  tw_transpose(v);
}
"""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The axes along which the write and some reads of an elementwise operator lie side by side."""
    operator = problem.operator
    if not operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    if problem.scalar_type:
        return Refusal(NAME, Mismatch.ELEMENT_TYPE)
    columns, written = operator.write.innermost(), operator.write.axes()
    found = (row for access in operator.reads for row in _rows(access, columns) if row in written) if columns else ()
    rows = tuple((ROWS, row) for row in dict.fromkeys(found))
    return (LeafBinding(NAME, ((COLUMNS, columns), *rows)),) if columns and rows else Refusal(NAME, Mismatch.LANES)


def _rows(access: Access, columns: str) -> Iterator[str]:
    """The axes along which a read lies side by side, if it does not along the columns, nor has every other element of these."""
    last = next((index for index in reversed(access.indices) if index.terms), None)
    if last is None or access.lookups or columns not in access.axes() or not all(index.is_affine() for index in access.indices):
        return
    if last.coefficient(columns) not in (1, EVERY_OTHER):
        yield from (str(atom) for atom, coefficient in last.terms if coefficient == 1)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The pass of an elementwise operator, and what turning its reads takes."""
    return pass_seconds(problem) + turning_seconds(binding, problem) + strided_seconds(problem)


def turning_seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The time in which reads that lie along another axis than the write are turned, by squares as wide as vectors.

    Squares end where blocks end, and a short square takes as long as a whole one. Blocks of few rows are not transposed: the
    elements of a vector along the rows are stored one by one.
    """
    operator, sizes, tiles, coefficients = problem.operator, problem.sizes, problem.tiles, problem.coefficients
    columns = dict(binding.axes)[COLUMNS]
    cycles: Quantity = 0
    for rows in _turned_rows(operator, columns):
        around = product(sizes[axis.name] for axis in operator.axes if axis.name not in (rows, columns))
        by_row, by_column = (_vectors_along(sizes[axis], tiles[axis], problem.lanes) for axis in (rows, columns))
        squares = around * by_row * by_column * coefficients.tile_transpose_cycles
        one_by_one = around * by_row * sizes[columns] * coefficients.transpose_cycles_per_vector
        cycles = cycles + either(tiles[rows] >= LEAST_TURNED_ROWS, squares, one_by_one)
    scattered = either(cycles > 0, _lines_beyond(problem), 0)
    return (cycles + scattered * coefficients.scattered_line_cycles) / problem.machine.frequency_hz


def _turned_rows(operator: Operator, columns: str) -> Iterator[str]:
    """For every read whose last dimension is another axis of the result than its columns, that axis."""
    for access in operator.reads:
        is_moved = columns in access.axes() and not access.lookups and all(index.is_affine() for index in access.indices)
        rows = Index(access.indices[-1].terms) if is_moved else Index()
        if rows.is_axis() and str(rows) != columns and str(rows) in operator.write.axes():
            yield str(rows)


def _vectors_along(size: Count, tile: Count, lanes: Count) -> Count:
    """The vectors of an axis that blocks cut into tiles."""
    return size // tile * -(-tile // lanes) + -(-(size % tile) // lanes)


def _lines_beyond(problem: CostProblem) -> Quantity:
    """Lines of a result that the level that blocks are fused for does not hold as a whole."""
    size_bytes = problem.write_bytes * points(problem)
    lines = size_bytes / problem.machine.levels[0].line_bytes
    return either(size_bytes > problem.fused_bytes, lines, 0)


def lower(loops: VectorLoops, binding: LeafBinding) -> Lowered | LoweredTile:
    """The C of a box, by tiles if it has enough rows and columns, and its reads lie transposed along one axis of rows."""
    rows = _turned_axis(loops, binding)
    if rows is None:
        return elementwise_maps.lower(loops, binding)
    return _Tiles(replace(loops, vector_axis=dict(binding.axes)[COLUMNS]), of=rows)


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
    return [
        number
        for number, read in reads
        if read.dtype in TURNED and read.stride(rows) == 1 and read.stride(columns) not in (0, 1, EVERY_OTHER)
    ]


@cache
def _loading(dtype: str) -> Helper:
    text = TRANSPOSED.replace("@SUFFIX@", suffix(dtype)).replace("@TYPE@", C_TYPES[dtype])
    return Helper(f"tw_load_transposed{suffix(dtype)}", text, tuple(reading((dtype,))))


@record
class _Tiles(VectorStatements):
    """The statements of tiles; `of` is the axis of their rows."""

    of: str = ""

    def helpers(self) -> list[Helper]:
        """The functions that the statements call."""
        return [*VectorStatements.helpers(self), *map(_loading, sorted({self.loops.reads[read].dtype for read in self._tiles()}))]

    def text(self) -> Lines:
        """All tiles, inside loops over all other axes."""
        return self.nest([axis for axis, _ in self.loops.box if axis not in (self.of, self.loops.vector_axis)], self.tiles())

    def tiles(self) -> Lines:
        """All tiles along rows and columns."""
        row, start = names.axis_offset(self.of), self._start()
        size = to_c(self.ranges[self.of].size)
        stop = f"const long {row}_stop = tw_min({start} + TW_LANES, {size});"
        lines = [stop, *self.over(self.loops.vector_axis, self.tile)]
        return braced(f"for (long {start} = 0; {start} < {size}; {start} += TW_LANES)", lines)

    def tile(self, part: bool) -> Lines:
        """One tile: its transposed reads, then row by row, or some rows together where functions take many steps."""
        row, start = names.axis_offset(self.of), self._start()
        lines = [line for read in self._tiles() for line in self._loaded(read, part)]
        lines += [f"long {row} = {start};"]
        if any(long_functions(self.loops.operator.body, {})):
            several = replace(self, rows=self.of).points(part)
            lines += [f"for (; {row} + TW_ROWS <= {row}_stop; {row} += TW_ROWS) {{", *indent(several), "}"]
        return [*lines, f"for (; {row} < {row}_stop; {row}++) {{", *indent(self.points(part)), "}"]

    def load_lines(self, read: int, part: bool) -> Lines:
        """Declare the vector of one read: of a tile, or loaded as it lies."""
        if read in self._tiles():
            return self.define(f"load_{read}", f"tile_{read}[{to_c(self.offset(self.of))} - {self._start()}]")
        return VectorStatements.load_lines(self, read, part)

    def _loaded(self, read: int, part: bool) -> Lines:
        operand, start = self.loops.view(read), self._start()
        moved = ((local(start) if axis == self.of else self.offset(axis)) * stride for axis, stride in operand.strides)
        address = pointer(operand.buffer, operand.offset + sum(moved))
        shape = f"{names.axis_offset(self.of)}_stop - {start}, {'lanes' if part else 'TW_LANES'}"
        column = to_c(operand.stride(self.loops.vector_axis))
        return [
            f"tw_vec tile_{read}[TW_LANES];",
            f"tw_load_transposed{suffix(operand.dtype)}(tile_{read}, {address}, {column}, {shape});",
        ]

    def _tiles(self) -> list[int]:
        return _transposed(self.loops, self.of, self.loops.vector_axis or "")

    def _start(self) -> str:
        return f"{names.axis_offset(self.of)}_start"


LEAF = Leaf(
    NAME,
    order=4,
    match=match,
    seconds=seconds,
    lower=lower,
    constraints=lambda _: Constraints(shares_loops=True),
    literal_axis=literal_axis,
)
