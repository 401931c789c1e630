"""C text of reads at positions that other reads give: rows copied whole, or elements collected one by one.

A position counts from the end if it is negative, and is held to its dimension: no foreign memory is touched, whatever the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tilewright.codegen.emit_gather import Position, index_text
from tilewright.codegen.expressions import Value, add, multiply, to_c
from tilewright.codegen.loop_nest import Gather, View
from tilewright.kernels.elements import C_TYPES

Pointer = Callable[[View], str]
"""The C text of the address of a view's current element."""

PLACE = """\
TW_INLINE long tw_place(long index, long position, long extent) {
  const long far = 1l << 60;
  position = index + tw_max(-far, tw_min(far, position < 0 ? position + extent : position));
  return tw_max(0, tw_min(position, extent - 1));
}
"""
POSITION = "TW_INLINE long tw_position_{name}(const {type} *p) {{ return (long)*p; }}\n"
TRACED = "TW_INLINE long tw_position_{name}(const {type} *p) {{ tw_touch_bytes(p, sizeof *p); return 0; }}\n"


def lookups_text(lines: Iterable[str], *, traced: bool = False) -> list[str]:
    """The functions that some lines call, if they do; `traced` ones read nothing."""
    used = sorted({name for line in lines for name in re.findall(r"\btw_position_(\w+)\(", line)})
    one = TRACED if traced else POSITION
    return [PLACE, *(one.format(name=name, type=C_TYPES[name]) for name in used)] if used else []


def position_texts(operand: Gather, reads: tuple[View | Gather, ...], pointer: Pointer, position: Position) -> dict[int, str]:
    """By dimension with a lookup, the C text of the position in it."""
    texts = {}
    for lookup in operand.lookups:
        by = reads[lookup.read]
        place = pointer(by) if isinstance(by, View) else f"{by.buffer} + {place_text(by, position)}"
        index = index_text(operand.indices[lookup.dimension], position)
        texts[lookup.dimension] = f"tw_place({index}, tw_position_{by.dtype}({place}), {to_c(lookup.extent)})"
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


def place_name(read: int, dimension: int) -> str:
    """The variable of a position that all lanes look up."""
    return f"place_{read}_{dimension}"


def row_place(operand: Gather, read: int, vector: str | None, position: Position) -> tuple[str, Value]:
    """The C text of the address of the first lane, and the stride between lanes, where `is_of_rows`."""
    places = {lookup.dimension: place_name(read, lookup.dimension) for lookup in operand.lookups}
    pairs = zip(operand.indices, operand.dim_strides, strict=True)
    stride = add(*(multiply(index.coefficient(vector or ""), stride) for index, stride in pairs))
    return f"{operand.buffer} + {to_c(place_of(operand, position, places))}", stride
