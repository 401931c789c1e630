"""C text of reads at quasi-affine positions: a vector collected element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tilewright.codegen import names
from tilewright.codegen.emit_c.scalar_expressions import literal_text
from tilewright.codegen.expressions import Value, add, multiply, to_c
from tilewright.codegen.loop_nest import Gather
from tilewright.graph.extents import SymbolicExtent
from tilewright.graph.index import FloorDiv, Index, Mod
from tilewright.kernels.element_access import suffix

Position: TypeAlias = Callable[[str], str]
"""The C text of the absolute position along an axis, of the lane `lane`."""


def gather_lines(read: int, operand: Gather, lanes: str, position: Position, place: Value | None = None) -> list[str]:
    """The statements that define `load_<read>`, of which so many lanes are read and the others are 0.

    `place` is where the element of `lane` lies, if something else than the indices says so.
    """
    if place is None:
        dims = zip(operand.indices, operand.dim_strides, strict=True)
        place = add(operand.offset, *(multiply(f"({index_text(index, position)})", stride) for index, stride in dims))
    element = f"tw_read{suffix(operand.dtype)}({operand.buffer} + {to_c(place)})"
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

    >>> from tilewright.graph.index import axis
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
