"""C text of guarded windows: a vector of which some lanes lie in the padding, and every other element of a row.

A guard says of which lanes an access is real. Every constraint is affine, so that along the lanes it holds from some lane on or
up to some lane; those that do not move with the lanes hold for all of them or for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from tilewright.block.memory import Gather
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import to_c
from tilewright.c_text.lookups import index_text, lane_stride, place_text
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.c_text.statements import indent
from tilewright.graph.expressions.index import Index
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.element_access import C_TYPES, NARROW, reading, suffix
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)

WORDS = {"int8": "short", "uint8": "unsigned short", "bool": "unsigned short"}


def short_windows(dtypes: Iterable[str], lanes: int) -> list[Helper]:
    """The functions that load windows of elements of these types, in vectors of so many lanes."""
    return [_short_windows(dtype, lanes) for dtype in sorted(set(dtypes) - {"float32"})]


@cache
def _short_windows(dtype: str, lanes: int) -> Helper:
    is_byte = dtype in WORDS
    parts = {
        "MASKED": (TEXTS["masked"] if dtype in NARROW else "") + TEXTS["some_bytes"] * is_byte,
        "EVERY_OTHER": TEXTS["every_other_byte"] * is_byte,
        "WHOLE": "stride == 2 ? tw_load_every_other_@NAME@(p) : " * is_byte,
        "WORD": WORDS.get(dtype, ""),
        "IN_ORDER": ", ".join(map(str, range(lanes))),
    }
    text = with_instructions(filled(TEXTS["short_windows"], parts), dtype)
    types = {"NAME": dtype, "TYPE": C_TYPES[dtype]}
    return Helper(f"tw_load_between_{dtype}", filled(text, types), tuple(reading([dtype])))


@cache
def windows(lanes: int) -> Helper:
    """The functions that load windows, in vectors of so many lanes."""
    even = [2 * lane for lane in range(lanes)]
    even_then_odd = ", ".join(str(lane + (lane >= lanes)) for lane in even)
    text = filled(with_instructions(TEXTS["windows"]), {"EVEN": ", ".join(map(str, even)), "EVEN_THEN_ODD": even_then_odd})
    return Helper("tw_load_between", text)


def guarded_lines(read: int, operand: Gather, lanes: str, vector: str | None, position: Callable[[str], str]) -> list[str]:
    """The statements that define `load_<read>` from an affine read; `position` is that of the first lane along an axis."""
    return [
        *_bounds(("first", "last"), read, operand, lanes, vector, position),
        f"const tw_vec {_assigned(read, operand, vector, position)}",
    ]


def lines_inside(read: int, operand: Gather, vector: str, position: Callable[[str], str]) -> list[str]:
    """As `guarded_lines`, of a whole vector behind `span_inside`: all lanes are real but near the ends of a row."""
    offset = names.axis_offset(vector)
    return [
        f"tw_vec load_{read};",
        f"if ({offset} >= inside_{read} && {offset} + TW_LANES <= outside_{read})",
        f"  {_assigned(read, operand, vector, position, ('0', 'TW_LANES'))}",
        "else {",
        *indent(_bounds(("first", "last"), read, operand, "TW_LANES", vector, position)),
        f"  {_assigned(read, operand, vector, position)}",
        "}",
    ]


def span_inside(read: int, operand: Gather, vector: str, size: str, position: Callable[[str], str]) -> list[str]:
    """The statements before a loop over vectors that say from which element up to which all are real: `inside_<read>` and
    `outside_<read>`. `position` is that of the first element of the loop."""
    return _bounds(("inside", "outside"), read, operand, size, vector, position)


def _assigned(
    read: int, operand: Gather, vector: str | None, position: Callable[[str], str], span: tuple[str, str] | None = None
) -> str:
    """The assignment of a vector of whose lanes those of a span are real."""
    first, last = span or (f"first_{read}", f"last_{read}")
    step, pointer = lane_stride(operand, vector), f"{names.buffer_name(operand.buffer)} + {place_text(operand, position)}"
    of = suffix(operand.dtype)
    if step == 1 and span is not None:
        return f"load_{read} = tw_load{of}({pointer});"
    otherwise = literal_text(operand.guard.otherwise) if operand.guard is not None else "0.0f"
    call = f"tw_load_between{of}({pointer}" if step == 1 else f"tw_load_strided_between{of}({pointer}, {to_c(step)}"
    return f"load_{read} = {call}, {first}, {last}, {otherwise});"


def _bounds(
    called: tuple[str, str], read: int, operand: Gather, size: str, vector: str | None, position: Callable[[str], str]
) -> list[str]:
    """The first and the end, by these names, of the elements that are real, of so many from a position on."""
    constraints = operand.guard.constraints if operand.guard is not None else ()
    fixed = [constraint for constraint in constraints if not constraint.coefficient(vector or "")]
    starts = [_start(c, c.coefficient(vector or ""), position) for c in constraints if c.coefficient(vector or "") > 0]
    stops = [_stop(c, -c.coefficient(vector or ""), position) for c in constraints if c.coefficient(vector or "") < 0]
    first, last = _folded("tw_max", ["0", *starts]), _folded("tw_min", [size, *stops])
    if fixed:
        condition = " && ".join(f"({index_text(constraint, position)}) >= 0" for constraint in fixed)
        last = f"{condition} ? {last} : 0"
    return [f"const long {called[0]}_{read} = {first};", f"const long {called[1]}_{read} = {last};"]


def is_guarded_window(operand: Gather) -> bool:
    """Whether a read is affine, with affine constraints."""
    constraints = operand.guard.constraints if operand.guard is not None else ()
    return not operand.lookups and all(index.is_affine() for index in (*operand.indices, *constraints))


def _start(constraint: Index, factor: int, position: Callable[[str], str]) -> str:
    """The first lane at which a constraint that grows by `factor` a lane holds."""
    value = f"-({index_text(constraint, position)})"
    return value if factor == 1 else f"({value} + {factor - 1}) / {factor}"


def _stop(constraint: Index, factor: int, position: Callable[[str], str]) -> str:
    """The lane from which on a constraint that falls by `factor` a lane does not hold; not below 0 is needed of it."""
    value = f"({index_text(constraint, position)})"
    return f"{value} + 1" if factor == 1 else f"({value} + {factor}) / {factor}"


def _folded(function: str, values: list[str]) -> str:
    text = values[0]
    for value in values[1:]:
        text = f"{function}({text}, {value})"
    return text
