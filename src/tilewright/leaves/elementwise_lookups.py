"""Lookups of elementwise operators, as C: positions that all lanes look up, and positions that all rows look up.

Positions along the lanes that are the same in all rows are found once, and kept on the stack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.lookups import Pointer, Position, index_text, lane_stride, place_of, position_texts
from tilewright.kernels.element_access import C_TYPES, reading, suffix
from tilewright.kernels.helpers import Helper

MOST_KEPT = 512
"""Positions along the lanes that are kept for all rows: 4 KiB of a thread's stack."""


GATHER = """\
TW_INLINE tw_vec tw_gather{of}(const {type} *p, const long *places) {{
  return (tw_vec){{{elements}}};
}}
TW_INLINE tw_vec tw_gather_part{of}(const {type} *p, const long *places, long n) {{
  float lanes[TW_LANES] = {{0}};
  for (long i = 0; i < n; i++)
    lanes[i] = tw_read{of}(p + places[i]);
  return tw_load(lanes);
}}
"""


def gathers(operands: Iterable[Gather], lanes: int) -> list[Helper]:
    """The functions that collect the elements at kept positions: for vectors of so many lanes, and for a part of one."""
    return [_gather(dtype, lanes) for dtype in sorted({operand.dtype for operand in operands})]


def _gather(dtype: str, lanes: int) -> Helper:
    name = f"tw_gather{suffix(dtype)}"
    elements = ", ".join(f"tw_read{suffix(dtype)}(p + places[{lane}])" for lane in range(lanes))
    text = GATHER.format(of=suffix(dtype), type=C_TYPES[dtype], elements=elements)
    return Helper(name, text, tuple(reading([dtype])))


def is_of_rows(operand: Gather, reads: tuple[View | Gather, ...], vector: str | None) -> bool:
    """Whether all lanes look up the same positions, and lie side by side or at one stride there."""
    if operand.guard is not None or not all(index.is_affine() for index in operand.indices):
        return False
    for lookup in operand.lookups:
        by = reads[lookup.read]
        if not isinstance(by, View) or by.stride(vector) != 0 or vector in operand.indices[lookup.dimension].axes():
            return False
    return bool(operand.lookups)


def row_lines(reads: tuple[View | Gather, ...], vector: str | None, pointer: Pointer, position: Position) -> list[str]:
    """Variables for the positions that all lanes of a map look up."""
    return [
        f"const long {place_name(read, dimension)} = {text};"
        for read, operand in enumerate(reads)
        if isinstance(operand, Gather) and is_of_rows(operand, reads, vector)
        for dimension, text in position_texts(operand, reads, pointer, position).items()
    ]


def kept_reads(loops: VectorLoops) -> dict[int, Gather]:
    """The reads of a map whose lanes look up the same positions in all rows, by number.

    There must be rows for certain: a position that nobody reads may lie outside.
    """
    vector, box = loops.vector_axis, dict(loops.box)
    rows = {axis for axis, block in loops.box if axis != vector and block.size != 1}
    if vector is None or not rows or loops.operator.reduction is not None or any(0 in (box[row].sizes or {0}) for row in rows):
        return {}
    capacity = box[vector].capacity
    if not isinstance(capacity, int) or capacity > MOST_KEPT:
        return {}
    gathers = ((read, operand) for read, operand in enumerate(loops.reads) if isinstance(operand, Gather) and operand.lookups)
    return {read: operand for read, operand in gathers if _is_same_in_rows(operand, loops.reads, vector, rows)}


def _is_same_in_rows(operand: Gather, reads: tuple[View | Gather, ...], vector: str, rows: Collection[str]) -> bool:
    """Whether an element lies at a place of its row plus a place of its lane, which the lookups give."""
    if operand.guard is not None or is_of_rows(operand, reads, vector):
        return False
    by_dimension = {lookup.dimension: reads[lookup.read] for lookup in operand.lookups}
    for dimension, index in enumerate(operand.indices):
        by = by_dimension.get(dimension)
        if by is None and (vector in index.axes() or not index.is_affine()):
            return False
        if by is not None and (not isinstance(by, View) or any(map(by.stride, rows)) or not index.axes().isdisjoint(rows)):
            return False
    return True


def kept_lines(loops: VectorLoops, index: str, pointer: Pointer, position: Position) -> list[str]:
    """Arrays of the kept positions, in elements; `index` is the variable along the lanes."""
    lines = []
    for read, operand in kept_reads(loops).items():
        block = dict(loops.box)[loops.vector_axis or ""]
        found = position_texts(operand, loops.reads, pointer, position)
        place = sum(local(text) * operand.dim_strides[dimension] for dimension, text in found.items())
        lines += [
            f"long {places_name(read)}[{to_c(block.capacity)}];",
            f"for (long {index} = 0; {index} < {to_c(block.size)}; {index}++)",
            f"  {places_name(read)}[{index}] = {to_c(place)};",
        ]
    return lines


def places_name(read: int) -> str:
    """The array of the positions that a read keeps."""
    return f"places_{read}"


def kept_row(operand: Gather, position: Position) -> str:
    """The C text of the address that kept positions count from in the current row."""
    looked_up = {lookup.dimension for lookup in operand.lookups}
    dims = enumerate(zip(operand.indices, operand.dim_strides, strict=True))
    parts = (local(f"({index_text(index, position)})") * stride for d, (index, stride) in dims if d not in looked_up)
    return f"{names.buffer_name(operand.buffer)} + {to_c(operand.offset + sum(parts))}"


def place_name(read: int, dimension: int) -> str:
    """The variable of a position that all lanes look up."""
    return f"place_{read}_{dimension}"


def row_place(operand: Gather, read: int, vector: str | None, position: Position) -> tuple[str, IntegerExpression]:
    """The C text of the address of the first lane, and the stride between lanes, where `is_of_rows`."""
    places = {lookup.dimension: place_name(read, lookup.dimension) for lookup in operand.lookups}
    return f"{names.buffer_name(operand.buffer)} + {to_c(place_of(operand, position, places))}", lane_stride(operand, vector)
