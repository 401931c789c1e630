"""Reads of elements that lie apart: through indices that divide or are guarded, and at places that are looked up.

C text of reads at quasi-affine positions: a vector collected element by element.

C text of lookups, reads at positions that other reads give: rows copied whole, or elements collected one by one.

A position counts from the end if it is negative. One outside of its dimension is reported to the caller, and the first element
is read in its place: no foreign memory is touched, whatever the data. Positions along the lanes that are the same in all rows of
a map are found once, and kept on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from tilewright.block.integers import IntegerExpression
from tilewright.block.loop_nest import Gather, VectorLoops, View
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.kernels.element_access import C_TYPES, reading, suffix
from tilewright.kernels.helpers import Helper, filled

Position: TypeAlias = Callable[[str], str]
"""The C text of the absolute position along an axis, of the lane `lane`."""


def gather_lines(read: int, operand: Gather, lanes: str, position: Position, place: IntegerExpression | None = None) -> list[str]:
    """The statements that define `load_<read>`, of which so many lanes are read and the others are 0.

    `place` is where the element of `lane` lies, if something else than the indices says so.
    """
    if place is None:
        place = place_of(operand, position, {})
    element = f"tw_read{suffix(operand.dtype)}({names.buffer_name(operand.buffer)} + {to_c(place)})"
    if operand.guard is not None:
        inside = " && ".join(f"({index_text(constraint, position)}) >= 0" for constraint in operand.guard.constraints)
        element = f"{inside} ? {element} : {literal_text(operand.guard.otherwise)}"
    return [
        f"float load_{read}_lanes[TW_LANES] = {{0}};",
        f"for (long lane = 0; lane < {lanes}; lane++)",
        f"  load_{read}_lanes[lane] = {element};",
        f"const tw_vec load_{read} = tw_load(load_{read}_lanes);",
    ]


def index_text(index: Index, position: Position) -> str:
    """A quasi-affine index; of no quotient or remainder is the dividend negative (`with_natural_dividends`).

    >>> from tilewright.graph.expressions.index import axis
    >>> index_text(axis("m") * 2 + 1, lambda name: f"at_{name}")
    '(at_m) * 2 + 1'
    """
    parts = []
    for atom, coefficient in index.terms:
        match atom:
            case FloorDiv(dividend, divisor):
                text = f"({index_text(dividend, position)}) / {divisor}"
            case Mod(dividend, divisor):
                text = f"({index_text(dividend, position)}) % {divisor}"
            case SymbolicExtent():
                text = names.extent(atom.name)
            case str():
                text = position(atom)
        parts.append(text if coefficient == 1 else f"({text}) * {coefficient}")
    return " + ".join([*parts, *([str(index.constant)] if index.constant or not parts else [])])


Pointer = Callable[[View], str]
"""The C text of the address of a view's current element."""
MOST_KEPT = 512
"""Positions along the lanes that are kept for all rows: 4 KiB of a thread's stack."""

REPORT = Helper(
    "tw_out_of_range",
    """\
static __attribute__((noinline, cold)) long tw_out_of_range(const struct tw_context *caller, long lookup, long place,
                                                            long position, long extent) {
  if (caller->out_of_range)
    caller->out_of_range(caller->pool, lookup, place, position, extent);
  return 0;
}
""",
)
PLACE = """\
TW_INLINE long tw_place_@NAME@(const @TYPE@ *p, const @TYPE@ *first, long index, long extent,
                               const struct tw_context *caller, long lookup) {
  const long position = (long)*p;
  const unsigned long counted = (unsigned long)position + (position < 0 ? extent : 0) + index;
  if (__builtin_expect(counted < (unsigned long)extent, 1))
    return (long)counted;
  return tw_out_of_range(caller, lookup, p - first, position, extent);
}
"""
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


def lookups(reads: Iterable[View | Gather]) -> list[Helper]:
    """The functions that find the positions which these reads look up."""
    operands = tuple(reads)
    found = {operands[lookup.read].dtype for operand in operands if isinstance(operand, Gather) for lookup in operand.lookups}
    return [Helper(f"tw_place_{kind}", filled(PLACE, {"NAME": kind, "TYPE": C_TYPES[kind]}), (REPORT,)) for kind in sorted(found)]


def gathers(operands: Iterable[Gather], lanes: int) -> list[Helper]:
    """The functions that collect the elements at kept positions: for vectors of so many lanes, and for a part of one."""
    return [_gather(dtype, lanes) for dtype in sorted({operand.dtype for operand in operands})]


def _gather(dtype: str, lanes: int) -> Helper:
    name = f"tw_gather{suffix(dtype)}"
    elements = ", ".join(f"tw_read{suffix(dtype)}(p + places[{lane}])" for lane in range(lanes))
    text = GATHER.format(of=suffix(dtype), type=C_TYPES[dtype], elements=elements)
    return Helper(name, text, tuple(reading([dtype])))


def position_texts(operand: Gather, reads: tuple[View | Gather, ...], pointer: Pointer, position: Position) -> dict[int, str]:
    """By dimension with a lookup, the C text of the position in it."""
    texts = {}
    for lookup in operand.lookups:
        by = reads[lookup.read]
        place = pointer(by) if isinstance(by, View) else f"{names.buffer_name(by.buffer)} + {place_text(by, position)}"
        index = index_text(operand.indices[lookup.dimension], position)
        number = to_c(local("lookups_before") + lookup.number)
        arguments = ", ".join((place, names.buffer_name(by.buffer), index, to_c(lookup.extent), "caller", number))
        texts[lookup.dimension] = f"tw_place_{by.dtype}({arguments})"
    return texts


def place_of(operand: Gather, position: Position, found: dict[int, str]) -> IntegerExpression:
    """Where in its buffer an element lies, with the positions that lookups found."""
    dims = enumerate(zip(operand.indices, operand.dim_strides, strict=True))
    parts = (local(found.get(d, f"({index_text(index, position)})")) * stride for d, (index, stride) in dims)
    return operand.offset + sum(parts)


def place_text(operand: Gather, position: Position) -> str:
    """The C text of where an element of a read without lookups lies."""
    return to_c(place_of(operand, position, {}))


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


def lane_place(
    operand: Gather, reads: tuple[View | Gather, ...], vector: str | None, pointer: Pointer, position: Position
) -> IntegerExpression:
    """Where the element of the lane `lane` lies; `position` counts that lane in, `pointer` does not."""

    def of_lane(view: View) -> str:
        return f"{pointer(view)} + {to_c(local('lane') * view.stride(vector))}"

    return place_of(operand, position, position_texts(operand, reads, of_lane, position))


def lane_stride(operand: Gather, vector: str | None) -> IntegerExpression:
    """The stride between lanes, where all look up the same positions."""
    pairs = zip(operand.indices, operand.dim_strides, strict=True)
    return sum(index.coefficient(vector or "") * stride for index, stride in pairs)


def place_name(read: int, dimension: int) -> str:
    """The variable of a position that all lanes look up."""
    return f"place_{read}_{dimension}"


def row_place(operand: Gather, read: int, vector: str | None, position: Position) -> tuple[str, IntegerExpression]:
    """The C text of the address of the first lane, and the stride between lanes, where `is_of_rows`."""
    places = {lookup.dimension: place_name(read, lookup.dimension) for lookup in operand.lookups}
    return f"{names.buffer_name(operand.buffer)} + {to_c(place_of(operand, position, places))}", lane_stride(operand, vector)
