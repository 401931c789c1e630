"""Packed operands: the functions of C that copy them, and their calls.

Elements are of any type, and panels may hold neighbouring steps of the depth side by side.
"""

from __future__ import annotations

from functools import cache

from tilewright.block.integers import Variable, VariableKind
from tilewright.block.statements import Transfer
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.c_text.statements import loop
from tilewright.graph.types import element_bytes
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.element_access import C_TYPES, whole_numbers
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)
WORD_BYTES = 4
"""Of a lane: groups of so many bytes are put together in vectors."""
LANES = {1: ("uint8", "uint16"), 2: ("uint16", "int32")}
"""By the bytes of an element: integers of its size, and of that of two."""


PACKING = Helper("tw_pack_panels", TEXTS["floats"])
"""The functions that copy operands of float32."""


@cache
def typed_packing(dtype: str, interleave: int) -> Helper:
    """The functions that copy operands of a type, in groups of so many steps."""
    functions = {"PANELS": f"tw_pack_panels_{dtype}_{interleave}", "ROWS": f"tw_pack_rows_{dtype}_{interleave}"}
    functions |= {"TYPE": C_TYPES[dtype]}
    name, size_bytes = f"tw_pack_{dtype}_{interleave}", element_bytes(dtype)
    if interleave == 1 and size_bytes % WORD_BYTES == 0:
        return Helper(name, filled(TEXTS["whole_words"], functions), (PACKING,))
    has_words = interleave > 1 and interleave * size_bytes == WORD_BYTES
    lane, pair = LANES.get(size_bytes, ("", ""))
    types = {"LANE": lane, "PAIR": pair, "H": interleave}
    words = {"WORDS_OF_ROWS": TEXTS["words_of_rows"] * has_words, "WORDS": TEXTS["words"] * has_words}
    needed = (whole_numbers(lane), whole_numbers(pair)) if has_words else ()
    return Helper(name, filled(TEXTS["elements"], {**words, **types, **functions}), needed)


def copy_helper(copy: Transfer) -> Helper:
    """The functions that a copy calls."""
    return PACKING if _is_plain(copy) else typed_packing(copy.target.dtype, copy.interleave)


def _is_plain(copy: Transfer) -> bool:
    return copy.target.dtype == "float32" and copy.interleave == 1


def copy_lines(copy: Transfer) -> list[str]:
    """The statements of a copy: loops over its outer axes around a call. Elements keep their type."""
    of = "" if _is_plain(copy) else f"_{copy.target.dtype}_{copy.interleave}"
    points = {axis: Variable(VariableKind.POINT, axis) for axis, _, _ in copy.outer}
    source = pointer(copy.source.buffer, copy.source.offset + sum(points[axis] * copy.source.stride(axis) for axis in points))
    target = pointer(copy.target.buffer, copy.target.offset + sum(points[axis] * stride for axis, _, stride in copy.outer))
    row, column = copy.source.stride(copy.depth_axis), copy.source.stride(copy.column_axis)
    shape = f"{to_c(row)}, {to_c(column)}, {to_c(copy.depth)}, {to_c(copy.columns)}"
    if copy.panel_columns:
        lines = [f"tw_pack_panels{of}({target}, {to_c(copy.panel_stride)}, {copy.panel_columns}, {source}, {shape});"]
    else:
        lines = [f"tw_pack_rows{of}({target}, {to_c(copy.target_row)}, {source}, {shape});"]
    for axis, size, _ in reversed(copy.outer):
        lines = loop(axis, "0", to_c(size), lines)
    return lines
