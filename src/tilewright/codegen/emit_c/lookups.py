"""C text of lookups, reads at positions that other reads give: rows copied whole, or elements collected one by one.

A position counts from the end if it is negative. One outside of its dimension is reported to the caller, and the first element
is read in its place: no foreign memory is touched, whatever the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.codegen.emit_c.gathers import Position, index_text
from tilewright.codegen.expressions import Value, add, multiply, to_c
from tilewright.codegen.loop_nest import Gather, View
from tilewright.kernels.element_access import C_TYPES, TOUCH_BYTES
from tilewright.kernels.helpers import Helper

Pointer = Callable[[View], str]
"""The C text of the address of a view's current element."""

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
ARGUMENTS = """\
TW_INLINE long tw_place_{name}(const {type} *p, const {type} *first, long index, long extent,
                               const struct tw_context *caller, long lookup) {{
"""
PLACE = """\
  const long position = (long)*p;
  const unsigned long counted = (unsigned long)position + (position < 0 ? extent : 0) + index;
  if (__builtin_expect(counted < (unsigned long)extent, 1))
    return (long)counted;
  return tw_out_of_range(caller, lookup, p - first, position, extent);
}
"""
TRACED = """\
  (void)first, (void)extent, (void)caller, (void)lookup;
  tw_touch_bytes(p, sizeof *p);
  return index;
}
"""


def lookups(reads: Iterable[View | Gather]) -> list[Helper]:
    """The functions that find the positions which these reads look up."""
    operands = tuple(reads)
    found = {operands[lookup.read].dtype for operand in operands if isinstance(operand, Gather) for lookup in operand.lookups}
    return [_lookup(dtype) for dtype in sorted(found)]


def _lookup(dtype: str) -> Helper:
    name, arguments = f"tw_place_{dtype}", ARGUMENTS.format(name=dtype, type=C_TYPES[dtype])
    return Helper(name, arguments + PLACE, (REPORT,), Helper(name, arguments + TRACED, (TOUCH_BYTES,)))


def position_texts(operand: Gather, reads: tuple[View | Gather, ...], pointer: Pointer, position: Position) -> dict[int, str]:
    """By dimension with a lookup, the C text of the position in it."""
    texts = {}
    for lookup in operand.lookups:
        by = reads[lookup.read]
        place = pointer(by) if isinstance(by, View) else f"{by.buffer} + {place_text(by, position)}"
        index = index_text(operand.indices[lookup.dimension], position)
        number = to_c(add("lookups_before", lookup.number))
        arguments = ", ".join((place, by.buffer, index, to_c(lookup.extent), "caller", number))
        texts[lookup.dimension] = f"tw_place_{by.dtype}({arguments})"
    return texts


def place_of(operand: Gather, position: Position, found: dict[int, str]) -> Value:
    """Where in its buffer an element lies, with the positions that lookups found."""
    dims = enumerate(zip(operand.indices, operand.dim_strides, strict=True))
    parts = (multiply(found.get(d, f"({index_text(index, position)})"), stride) for d, (index, stride) in dims)
    return add(operand.offset, *parts)


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


def lane_place(
    operand: Gather, reads: tuple[View | Gather, ...], vector: str | None, pointer: Pointer, position: Position
) -> Value:
    """Where the element of the lane `lane` lies; `position` counts that lane in, `pointer` does not."""

    def of_lane(view: View) -> str:
        return f"{pointer(view)} + lane * {to_c(view.stride(vector))}"

    return place_of(operand, position, position_texts(operand, reads, of_lane, position))


def lane_stride(operand: Gather, vector: str | None) -> Value:
    """The stride between lanes, where all look up the same positions."""
    pairs = zip(operand.indices, operand.dim_strides, strict=True)
    return add(*(multiply(index.coefficient(vector or ""), stride) for index, stride in pairs))


def place_name(read: int, dimension: int) -> str:
    """The variable of a position that all lanes look up."""
    return f"place_{read}_{dimension}"


def row_place(operand: Gather, read: int, vector: str | None, position: Position) -> tuple[str, Value]:
    """The C text of the address of the first lane, and the stride between lanes, where `is_of_rows`."""
    places = {lookup.dimension: place_name(read, lookup.dimension) for lookup in operand.lookups}
    return f"{operand.buffer} + {to_c(place_of(operand, position, places))}", lane_stride(operand, vector)
