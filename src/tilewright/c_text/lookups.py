"""Reads of elements that lie apart: through indices that divide or are guarded, and at places that are looked up.

C text of reads at quasi-affine positions: a vector collected element by element.

C text of lookups, reads at positions that other reads give: rows copied whole, or elements collected one by one.

A position counts from the end if it is negative. One outside of its dimension is reported to the caller, and the first element
is read in its place: no foreign memory is touched, whatever the data. Positions along the lanes that are the same in all rows of
a map are found once, and kept on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import Gather, View
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.element_access import C_TYPES, suffix
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)

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
REPORT = Helper("tw_out_of_range", TEXTS["out_of_range"])


def lookups(reads: Iterable[View | Gather]) -> list[Helper]:
    """The functions that find the positions which these reads look up."""
    operands = tuple(reads)
    found = {operands[lookup.read].dtype for operand in operands if isinstance(operand, Gather) for lookup in operand.lookups}
    texts = {dtype: filled(TEXTS["place"], {"NAME": dtype, "TYPE": C_TYPES[dtype]}) for dtype in sorted(found)}
    return [Helper(f"tw_place_{dtype}", text, (REPORT,)) for dtype, text in texts.items()]


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
