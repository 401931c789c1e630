"""Vector loops of an operator, as C.

C text of maps of which some reads lie transposed: lanes run along the write, and tiles of these reads turn in registers.

A tile has as many rows and columns as a vector has lanes. It is loaded along the reads' rows; then every row of it has its
lanes along the write.

C text of `VectorLoops`: maps and row-wise reductions as vector loops, with whole vectors first and one partial vector at the
end.

TW_ROWS rows at a time hide what a row waits for: steps that depend on each other, and its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from tilewright.block.loop_nest import Gather, Range, VectorLoops, View
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, pointer, to_c
from tilewright.c_text.lookups import gathers, kept_lines, kept_reads, lane_stride, lookups, row_lines
from tilewright.c_text.statements import Lines, braced, indent
from tilewright.c_text.vectors.guarded_windows import is_guarded_window, short_windows, span_inside, windows
from tilewright.c_text.vectors.row_expressions import long_functions
from tilewright.c_text.vectors.row_passes import RowPasses
from tilewright.c_text.vectors.statements import VectorStatements
from tilewright.graph.expressions.scalar import Load, subexpressions
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.kernels.element_access import C_TYPES, reading, suffix, writing
from tilewright.kernels.functions.compensated_sums import compensated_sum
from tilewright.kernels.functions.scalar_functions import OF_VECTORS, lane_functions, reports
from tilewright.kernels.helpers import Helper

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


def transposed_helpers(loops: VectorLoops) -> list[Helper]:
    """The functions that load tiles of the reads of a map that lie transposed."""
    rows = transposed_axis(loops)
    columns = _columns(loops)
    if rows is None or columns is None:
        return []
    return [_loading(dtype) for dtype in sorted({loops.reads[read].dtype for read in _transposed(loops, rows, columns)})]


@cache
def _loading(dtype: str) -> Helper:
    text = TRANSPOSED.replace("@SUFFIX@", suffix(dtype)).replace("@TYPE@", C_TYPES[dtype])
    return Helper(f"tw_load_transposed{suffix(dtype)}", text, tuple(reading((dtype,))))


def transposed_axis(loops: VectorLoops) -> str | None:
    """The axis along which reads of a map lie side by side where its write does not; None where nothing is to be transposed."""
    columns = _columns(loops)
    if columns is None or loops.operator.reduction is not None or not all(isinstance(read, View) for read in loops.reads):
        return None
    rows = [axis for axis, block in loops.box if axis != columns and _has_at_least(block, loops.vectors.least_turned_rows)]
    found = [axis for axis in rows if _transposed(loops, axis, columns)]
    return found[0] if len(found) == 1 else None


def emit_transposed_map(loops: VectorLoops, rows: str) -> Lines:
    """The lines of a map whose transposed reads lie along `rows`."""
    columns = _columns(loops)
    assert columns is not None
    tile = _Tile(replace(loops, vector_axis=columns), of=rows)
    around = [axis for axis, _ in loops.box if axis not in (rows, columns)]
    return tile.nest(around, tile.text())


def _columns(loops: VectorLoops) -> str | None:
    """The axis along which the elements of the write lie side by side, if there are enough of them."""
    for axis, block in loops.box:
        if loops.write.stride(axis) == 1 and block.size != 1:
            return axis if _has_at_least(block, loops.vectors.least_turned_columns) else None
    return None


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


@dataclass(frozen=True, slots=True)
class _Tile(VectorStatements):
    """The statements of a tile; `of` is the axis of its rows."""

    of: str = ""

    def text(self) -> Lines:
        """All tiles of the box."""
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
        return super(_Tile, self).load_lines(read, part)

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


MOST_LANES = 16
"""Of vectors of float32, of any dialect."""


def emit_vector_loops(loops: VectorLoops) -> Lines:
    """The lines of a map or a row-wise reduction."""
    rows = transposed_axis(loops)
    return _Emitter(loops).text() if rows is None else emit_transposed_map(loops, rows)


def vector_loop_helpers(loops: VectorLoops, lanes: int) -> list[Helper]:
    """The helpers that these lines call, beside the vocabulary of vectors of so many lanes."""
    return [
        *reading(operand.dtype for operand in (*loops.reads, *loops.places())),
        *writing(place.dtype for place in loops.places()),
        *lane_functions(loops.functions()),
        *reports(loops.functions(), OF_VECTORS),
        *lookups(loops.reads),
        *gathers(kept_reads(loops).values(), lanes),
        *([windows(lanes)] if _loads_windows(loops) else []),
        *short_windows((read.dtype for read in loops.reads if isinstance(read, Gather) and is_guarded_window(read)), lanes),
        *([compensated_sum("")] if loops.block_steps else []),
        *transposed_helpers(loops),
    ]


def _loads_windows(loops: VectorLoops) -> bool:
    """Whether vectors are loaded in part, or of every other element."""
    vector = loops.vector_axis
    views = [operand for operand in (*loops.reads, *loops.places()) if isinstance(operand, View)]
    gathers = [read for read in loops.reads if isinstance(read, Gather)]
    strides = {*(view.stride(vector) for view in views), *(lane_stride(gather, vector) for gather in gathers if gather.lookups)}
    return 2 in strides or any(map(is_guarded_window, gathers))


@dataclass(frozen=True, slots=True)
class _Emitter(RowPasses):
    """All loops of a map or a row-wise reduction."""

    def text(self) -> Lines:
        """The whole nest."""
        vector = self.loops.vector_axis
        around = [axis for axis, _ in self.loops.box if axis != vector and axis not in self.reduced]
        reduction = self.loops.operator.reduction
        if reduction is None:
            rows = row_lines(self.loops.reads, vector, self.address, self.first_position)
            around, body = self.by_rows(around, lambda row: [*rows, *row.over_windows(vector)])
        elif vector in self.reduced:
            around, body = self.by_rows(around, lambda row: row.row_body(reduction, lanes_are_reduced=True, part=False))
        else:
            body = self.over(vector, lambda part: self.row_body(reduction, lanes_are_reduced=False, part=part))
        if vector is not None and kept_reads(self.loops):
            found = kept_lines(self.loops, names.axis_offset(vector), self.address, self.first_position)
            return ["{", *indent([*found, *self.nest(around, body)]), "}"]
        nested = self.nest(around, body)
        return ["{", *indent(nested), "}"] if nested is body and body[0] != "{" else nested

    def by_rows(self, around: list[str], body: Callable[[_Emitter], Lines]) -> tuple[list[str], Lines]:
        """The axes that are left, and the loop over the innermost: some rows at a time, then the rest one by one."""
        several = [axis for axis in around if self.ranges[axis].size != 1]
        if not several or not all(isinstance(read, View) for read in self.loops.reads):
            return around, body(self)
        *left, rows = several
        index, size, sizes = names.axis_offset(rows), to_c(self.ranges[rows].size), self.ranges[rows].sizes
        lines = [f"long {index} = 0;"]
        if sizes is None or max(sizes) >= ROW_UNROLL:
            ways = body(replace(self, rows=rows))
            lines += [f"for (; {index} + TW_ROWS <= {size}; {index} += TW_ROWS) {{", *indent(ways), "}"]
        if sizes is None or any(known % ROW_UNROLL for known in sizes):
            lines += [f"for (; {index} < {size}; {index}++) {{", *indent(body(self)), "}"]
        return left, ["{", *indent(lines), "}"]

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
