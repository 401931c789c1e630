"""Packed sums: products of a few rows with weights of 4 or 8 bits in blocks of one scale, unpacked in registers.

Such a sum is read from its body and its index maps. Code generation may add up a block's products first and multiply their sum by
the block's scales once: scales do not change within a block, and sums may be taken in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tilewright.graph.builders.nbits_matmul import WORD_BYTES, body_of_floats, body_of_integers
from tilewright.graph.scalar import Literal, Load, Scalar
from tilewright.graph.types import SUM, AxisKind, Operator

MOST_ROWS = 4
"""Rows that share the numbers that are unpacked: their sums fill the registers."""
BLOCKS_IN_A_RUN = 128
"""Blocks whose sums are added up before they go into the totals: roundings grow with the count of these runs."""


@dataclass(frozen=True, slots=True)
class PackedSum:
    """Which axes a packed sum has, and what its reads are (`graph/builders/nbits_matmul.py`)."""

    per_byte: int
    """Numbers in a byte of weights."""
    is_whole: bool
    """Whether rows are integers, with a scale and a share for every block: the two reads behind the scales."""
    has_zeros: bool
    """Whether zero points are read, the last read; else all are in the middle."""
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
    def zeros(self) -> int:
        """The number of the read of zero points, where there are any."""
        return self.scales + (3 if self.is_whole else 1)

    @property
    def blocks_in_a_run(self) -> int:
        """Blocks whose sums are added up before they go into the totals."""
        return BLOCKS_IN_A_RUN


def rows_together(rows: int) -> tuple[int, ...]:
    """Rows that are computed together, of so many: powers of two.

    >>> rows_together(11)
    (4, 4, 2, 1)
    """
    return (*[MOST_ROWS] * (rows // MOST_ROWS), *(part for part in (2, 1) if rows % MOST_ROWS & part))


def counts_together() -> tuple[int, ...]:
    """The same of any number of rows, each count once."""
    return (MOST_ROWS, 2, 1)


@lru_cache(1024)
def packed_sum(operator: Operator) -> PackedSum | None:
    """The axes of a packed sum; None of all other operators."""
    if operator.reduction is None or operator.reduction.states != SUM.states or operator.accumulator != "float32":
        return None
    if not all(access.is_affine() for access in (*operator.reads, operator.write)):
        return None
    for per_byte, is_whole, has_zeros, body in _bodies():
        if operator.body == body:
            return _with_axes(operator, per_byte, is_whole, has_zeros)
    return None


def rows_of_packed_sum(operator: Operator) -> str:
    """The axis of the rows of a packed sum; "" for all other operators."""
    found = packed_sum(operator)
    return "" if found is None else found.row


@lru_cache(1)
def _bodies() -> tuple[tuple[int, bool, bool, Scalar], ...]:
    return tuple(_every_body())


def _every_body() -> Iterator[tuple[int, bool, bool, Scalar]]:
    for per_byte, middle in ((2, 8.0), (1, 128.0)):
        for is_whole, body in ((False, body_of_floats), (True, body_of_integers)):
            yield per_byte, is_whole, False, body(per_byte, Literal(middle))
            yield per_byte, is_whole, True, body(per_byte, Load(2 + per_byte + (2 if is_whole else 0)))


def _with_axes(operator: Operator, per_byte: int, is_whole: bool, has_zeros: bool) -> PackedSum | None:
    numbers, scales = operator.reads[0], operator.reads[1 + per_byte]
    byte, column = numbers.innermost(), scales.innermost()
    reduced = {axis.name: axis.extent for axis in operator.reduction_axes()}
    if byte is None or column is None or reduced.get(byte) != WORD_BYTES or column in reduced:
        return None
    others = [name for name in reduced if name != byte]
    groups = [name for name in others if name not in scales.axes() and reduced[name] != 1]
    kept = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    rows = [name for name in kept if name not in numbers.axes()]
    if len(others) != 2 or len(groups) != 1 or len(rows) != 1 or not _are_neighbours(operator, per_byte):
        return None
    (block,) = (name for name in others if name != groups[0])
    return PackedSum(per_byte, is_whole, has_zeros, rows[0], column, block, groups[0], byte)


def _are_neighbours(operator: Operator, per_byte: int) -> bool:
    """Whether the second read of a row is four elements behind the first."""
    if per_byte == 1:
        return True
    first, second = operator.reads[1:3]
    is_same = first.tensor == second.tensor and first.indices[:-1] == second.indices[:-1]
    return is_same and second.indices[-1] == first.indices[-1] + WORD_BYTES
