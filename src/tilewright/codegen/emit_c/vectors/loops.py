"""C text of `VectorLoops`: maps and row-wise reductions as vector loops, with whole vectors first and one partial vector at the
end.

TW_ROWS rows at a time hide what a row waits for: steps that depend on each other, and its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.codegen import names
from tilewright.codegen.emit_c.c_text import indent
from tilewright.codegen.emit_c.lookups import gathers, kept_lines, kept_reads, lane_stride, lookups, row_lines
from tilewright.codegen.emit_c.vectors.channel_sums import emit_channel_sum, sums_channels
from tilewright.codegen.emit_c.vectors.guarded_windows import is_guarded_window, short_windows, span_inside, windows
from tilewright.codegen.emit_c.vectors.packed_sums import emit_packed_sum, packed_helpers, unpacks
from tilewright.codegen.emit_c.vectors.row_passes import RowPasses
from tilewright.codegen.emit_c.vectors.sliding_sums import emit_sliding_sum, sliding_helpers, streams, windows_of
from tilewright.codegen.emit_c.vectors.statements import Lines
from tilewright.codegen.emit_c.vectors.transposed_maps import emit_transposed_map, transposed_axis, transposed_helpers
from tilewright.codegen.expressions import to_c
from tilewright.codegen.loop_nest import Gather, VectorLoops, View
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.kernels.element_access import reading, writing
from tilewright.kernels.functions.compensated_sums import compensated_sum
from tilewright.kernels.functions.lane_functions import lane_functions
from tilewright.kernels.functions.reports import OF_VECTORS, reports
from tilewright.kernels.helpers import Helper

MOST_LANES = 16
"""Of vectors of float32, of any dialect."""


def emit_vector_loops(loops: VectorLoops) -> Lines:
    """The lines of a map or a row-wise reduction."""
    if streams(loops):
        return emit_sliding_sum(loops)
    if sums_channels(loops):
        return emit_channel_sum(loops)
    if unpacks(loops):
        return emit_packed_sum(loops)
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
        *short_windows(_types_of_windows(loops), lanes),
        *([compensated_sum("")] if loops.block_steps else []),
        *([sliding_helpers(lanes), *windows_of(loops.reads[0].dtype, lanes)] if streams(loops) else []),
        *packed_helpers(loops, lanes),
        *transposed_helpers(loops),
    ]


def _types_of_windows(loops: VectorLoops) -> set[str]:
    """The element types of what is read through guards."""
    return {read.dtype for read in loops.reads if isinstance(read, Gather) and is_guarded_window(read)}


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
            return self.over(vector, self.map_body)
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
        return self.over(vector, inside.map_body, before=before, repeats=bool(guarded) and is_long and not is_in_place)

    def map_body(self, part: bool) -> Lines:
        """One vector of a map."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("result", body), self.store(self.var("result"), part)]
