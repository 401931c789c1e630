"""C text of maps of which some reads lie transposed: lanes run along the write, and tiles of these reads turn in registers.

A tile has as many rows and columns as a vector has lanes. It is loaded along the reads' rows; then every row of it has its
lanes along the write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from tilewright.codegen import names
from tilewright.codegen.emit_c.c_text import indent
from tilewright.codegen.emit_c.vectors.row_expressions import long_functions
from tilewright.codegen.emit_c.vectors.statements import Lines, VectorStatements
from tilewright.codegen.expressions import add, multiply, pointer, to_c
from tilewright.codegen.loop_nest import Range, VectorLoops, View
from tilewright.graph.scalar import Load, subexpressions
from tilewright.kernels.element_access import C_TYPES, reading, suffix
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
        return [
            f"for (long {start} = 0; {start} < {size}; {start} += TW_LANES) {{",
            f"  const long {row}_stop = tw_min({start} + TW_LANES, {size});",
            *indent(self.over(self.loops.vector_axis, self.tile)),
            "}",
        ]

    def tile(self, part: bool) -> Lines:
        """One tile: its transposed reads, then row by row, or some rows together where functions take many steps."""
        row, start = names.axis_offset(self.of), self._start()
        lines = [line for read in self._tiles() for line in self._loaded(read, part)]
        lines += [f"long {row} = {start};"]
        if any(long_functions(self.loops.operator.body, {})):
            several = replace(self, rows=self.of).points(part)
            lines += [f"for (; {row} + TW_ROWS <= {row}_stop; {row} += TW_ROWS) {{", *indent(several), "}"]
        return [*lines, f"for (; {row} < {row}_stop; {row}++) {{", *indent(self.points(part)), "}"]

    def points(self, part: bool) -> Lines:
        """One vector of a row, or of some rows."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("result", body), self.store(self.var("result"), part)]

    def load_lines(self, read: int, part: bool) -> Lines:
        """Declare the vector of one read: of a tile, or loaded as it lies."""
        if read in self._tiles():
            return self.define(f"load_{read}", f"tile_{read}[{to_c(self.offset(self.of))} - {self._start()}]")
        return super(_Tile, self).load_lines(read, part)

    def _loaded(self, read: int, part: bool) -> Lines:
        operand, start = self.loops.reads[read], self._start()
        assert isinstance(operand, View)
        moved = (multiply(start if axis == self.of else self.offset(axis), stride) for axis, stride in operand.strides)
        address = pointer(operand.buffer, add(operand.offset, *moved))
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
