"""Packed sums: products of a few rows with weights of 4 or 8 bits in blocks of one scale, unpacked in registers.

Such a sum is read from its body and its index maps. The leaf may add up a block's products first and multiply their sum by the
block's scales once: scales do not change within a block, and sums may be taken in any order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tilewright.arrays import Quantity, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.builders.nbits_matmul import body_of_floats, body_of_integers
from tilewright.graph.expressions.scalar import Literal, Load, Scalar
from tilewright.graph.types import SUM, AxisKind, Operator
from tilewright.leaves.declaration import Constraints, CostProblem, Mismatch, Problem, Refusal
from tilewright.records import record

NAME = "packed sums"
MOST_ROWS = 4
"""Rows that share the numbers that are unpacked: their sums fill the registers."""
WORD_BYTES = 4
CYCLES = {False: (1.2, 0.55), True: (0.15, 0.3)}
"""Cycles in which a vector of packed numbers is unpacked, and in which it is multiplied by a row, of floats and of integers."""


@record
class PackedSum:
    """Which axes a packed sum has, and what its reads are (`graph/builders/nbits_matmul.py`).

    A byte of weights holds `per_byte` numbers. Where rows are integers (`is_whole`), two reads behind the scales are a scale and
    a share for every block of them. Zero points are the last read where there are any; else all are in the middle.
    """

    per_byte: int
    is_whole: bool
    has_zeros: bool
    row: str
    column: str
    block: str
    group: str
    byte: str

    @property
    def scales(self) -> int:
        """The number of the read of scales."""
        return 1 + self.per_byte

    @property
    def middle(self) -> float:
        """The zero point in the middle of the numbers."""
        return 8.0 if self.per_byte == 2 else 128.0

    @property
    def zeros(self) -> int:
        """The number of the read of zero points, where there are any."""
        return self.scales + (3 if self.is_whole else 1)


def rows_together(rows: int) -> tuple[int, ...]:
    """Rows that are computed together, of so many: powers of two.

    >>> rows_together(11)
    (4, 4, 2, 1)
    """
    return (*[MOST_ROWS] * (rows // MOST_ROWS), *(part for part in (2, 1) if rows % MOST_ROWS & part))


def counts_together() -> tuple[int, ...]:
    """The same of any number of rows, each count once."""
    return (MOST_ROWS, 2, 1)


def form_of(binding: LeafBinding) -> PackedSum:
    """The packed sum of a binding."""
    known: dict[str, Any] = {**dict(binding.numbers), **dict(binding.axes)}
    return PackedSum(**known)


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The axes of a packed sum."""
    operator = problem.operator
    if operator.reduction is None or operator.reduction.states != SUM.states:
        return Refusal(NAME, Mismatch.OPERATION)
    if operator.accumulator != "float32":
        return Refusal(NAME, Mismatch.ELEMENT_TYPE)
    if not all(access.is_affine() for access in (*operator.reads, operator.write)):
        return Refusal(NAME, Mismatch.POSITIONS)
    for per_byte, is_whole, has_zeros, body in _bodies():
        if operator.body == body:
            if not _are_of_types(problem.reads, per_byte, is_whole):
                return Refusal(NAME, Mismatch.ELEMENT_TYPE)
            axes = _axes(operator, per_byte)
            numbers = ("per_byte", per_byte), ("is_whole", int(is_whole)), ("has_zeros", int(has_zeros))
            return (LeafBinding(NAME, tuple(axes.items()), (), numbers),) if axes else Refusal(NAME, Mismatch.LANES)
    return Refusal(NAME, Mismatch.OPERATION)


@cache
def _bodies() -> tuple[tuple[int, bool, bool, Scalar], ...]:
    return tuple(
        (per_byte, is_whole, has_zeros, body(per_byte, Load(2 + per_byte + 2 * is_whole) if has_zeros else Literal(middle)))
        for per_byte, middle in ((2, 8.0), (1, 128.0))
        for is_whole, body in ((False, body_of_floats), (True, body_of_integers))
        for has_zeros in (False, True)
    )


def _are_of_types(reads: tuple[str, ...], per_byte: int, is_whole: bool) -> bool:
    """Whether words and rows have the types in which programs load them; scales and zero points may have any."""
    rows = ("int8" if is_whole else "float32",) * per_byte
    of_blocks = ("float32", "float32") if is_whole else ()
    return reads[: 1 + per_byte] == ("uint8", *rows) and reads[2 + per_byte :][: len(of_blocks)] == of_blocks


def _axes(operator: Operator, per_byte: int) -> dict[str, str]:
    """The axes by role; none where they are not those of a packed sum."""
    numbers, scales = operator.reads[0], operator.reads[1 + per_byte]
    byte, column = numbers.innermost(), scales.innermost()
    reduced = {axis.name: axis.extent for axis in operator.reduction_axes()}
    if byte is None or column is None or reduced.get(byte) != WORD_BYTES or column in reduced:
        return {}
    others = [name for name in reduced if name != byte]
    groups = [name for name in others if name not in scales.axes() and reduced[name] != 1]
    kept = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    rows = [name for name in kept if name not in numbers.axes()]
    if len(others) != 2 or len(groups) != 1 or len(rows) != 1 or not _are_neighbours(operator, per_byte):
        return {}
    (block,) = (name for name in others if name != groups[0])
    return {"row": rows[0], "column": column, "block": block, "group": groups[0], "byte": byte}


def _are_neighbours(operator: Operator, per_byte: int) -> bool:
    """Whether the second read of a row is four elements behind the first."""
    if per_byte == 1:
        return True
    first, second = operator.reads[1:3]
    is_same = first.tensor == second.tensor and first.indices[:-1] == second.indices[:-1]
    return is_same and second.indices[-1] == first.indices[-1] + WORD_BYTES


def constraints(binding: LeafBinding) -> Constraints:
    """Rows stay together: they share the weights that are unpacked."""
    return Constraints(whole_axes=frozenset((form_of(binding).row,)), shares_loops=True)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """What every vector of numbers costs, once for some rows, and for each of them."""
    operator, form = problem.operator, form_of(binding)
    unpacking, taking = CYCLES[bool(form.is_whole)]
    numbers = product(problem.sizes[axis.name] for axis in operator.axes if axis.name != form.row) * form.per_byte
    rows, tile = problem.sizes[form.row], problem.tiles[form.row]
    unpacked = rows // tile * -(-tile // MOST_ROWS) + -(-(rows % tile) // MOST_ROWS)
    cycles = (unpacked * unpacking + rows * taking) * numbers / problem.lanes
    return cycles / problem.machine.frequency_hz
