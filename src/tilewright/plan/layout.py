"""Layouts: where the elements of an array lie in memory. One type for plain and blocked tensors and for packed panels.

Rows are padded so that columns and blocks of rows spread over the sets of a cache (docs/kernels.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod

from tilewright.graph.expressions.index import Index, constant, floordiv, mod
from tilewright.records import record


@record
class Digit:
    """A part of an index that has a place of its own in memory: `index // divisor % extent` of a dimension."""

    dimension: int
    divisor: int
    extent: int
    """How many values it has; the slowest digit of a dimension needs no remainder."""
    is_slowest: bool


@record
class Layout:
    """The order of an array's dimensions, slowest first, and the blocks that they are cut into, which lie inside.

    A block is (dimension, size); several blocks stand slowest first, and a dimension may be cut again inside its block. The last
    block of a dimension is filled up. An array may have more dimensions in front: these are slower than those of the layout, in
    their order. Padding stands behind every run of the fastest digit.

    >>> panels(64, interleave=4)
    Layout(order=(1, 0), blocks=((1, 64), (0, 4)), row_padding=0)
    """

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    row_padding: int = 0
    """In elements."""

    def digits(self, shape: Sequence[int]) -> tuple[Digit, ...]:
        """The digits of an element's position in memory, slowest first."""
        before = len(shape) - len(self.order)
        found = [Digit(dimension, 1, shape[dimension], True) for dimension in range(before)]
        for dimension in self.order:
            inside = prod(size for cut, size in self.blocks if cut == dimension)
            found.append(Digit(before + dimension, inside, -(-shape[before + dimension] // inside), True))
        for place, (dimension, size) in enumerate(self.blocks):
            inside = prod(smaller for cut, smaller in self.blocks[place + 1 :] if cut == dimension)
            found.append(Digit(before + dimension, inside, size, False))
        return tuple(found)

    def elements(self, shape: Sequence[int]) -> int:
        """The elements that an array takes, with all that is filled up.

        >>> panels(64).elements((10, 100)), row_major(2, row_padding=16).elements((3, 64))
        (1280, 240)
        """
        digits = self.digits(shape)
        return digits[0].extent * self._strides(digits)[0] if len(digits) > 1 else prod(digit.extent for digit in digits)

    def offset(self, indices: Sequence[Index], shape: Sequence[int]) -> Index:
        """The place of an element, counted in elements.

        >>> from tilewright.graph.expressions.index import axis
        >>> str(panels(64, interleave=4).offset((axis("k"), axis("n")), (512, 128)))
        '(k)%4 + 256*(k)//4 + 4*(n)%64 + 32768*(n)//64'
        """
        digits = self.digits(shape)
        places = zip(digits, self._strides(digits), strict=True)
        return sum((_part(indices[digit.dimension], digit) * stride for digit, stride in places), constant(0))

    @property
    def panel_columns(self) -> int:
        """The columns of packed panels: the size of the blocks of the last dimension; 0 without blocks."""
        sizes = [size for dimension, size in self.blocks if dimension == len(self.order) - 1]
        return prod(sizes) if sizes else 0

    @property
    def interleave(self) -> int:
        """How many neighbours along the dimension before the last lie side by side, inside all else."""
        dimension, size = self.blocks[-1] if self.blocks else (-1, 1)
        return size if dimension == len(self.order) - 2 else 1

    def _strides(self, digits: Sequence[Digit]) -> list[int]:
        """Elements between neighbours of every digit."""
        strides: list[int] = []
        apart = 1
        for digit in reversed(digits):
            strides.insert(0, apart)
            apart = apart * digit.extent + (self.row_padding if len(strides) == 1 else 0)
        return strides


def row_major(rank: int, row_padding: int = 0) -> Layout:
    """The last dimension fastest.

    >>> row_major(2)
    Layout(order=(0, 1), blocks=(), row_padding=0)
    """
    return Layout(tuple(range(rank)), row_padding=row_padding)


def panels(columns: int, interleave: int = 1) -> Layout:
    """The right operand of a micro kernel, of depth x columns: panels of its columns, steps of the depth side by side in groups.

    >>> panels(64)
    Layout(order=(1, 0), blocks=((1, 64),), row_padding=0)
    """
    return Layout((1, 0), ((1, columns), *(((0, interleave),) if interleave > 1 else ())))


def spread_padding(row: int | None, element_bytes: int, period_bytes: int, line_bytes: int) -> int:
    """Elements behind every row of `row` elements, where lines `period_bytes` apart share a set; 0 where nothing is known of it.

    Rows that fill cache lines are padded as `spread_lines` says, those of run-time length (None) by a line. Rows that are no
    whole lines are left alone.

    >>> [spread_padding(row, 4, 4096, 64) for row in (64, 80, 8, None)], [spread_padding(64, 4, 4096, line) for line in (64, 128)]
    ([16, 0, 0, 16], [16, 32])
    """
    line = line_bytes // element_bytes
    if not period_bytes:
        return 0
    if row is None:
        return line
    lines, rest = divmod(row, line)
    return 0 if rest else (spread_lines(lines, period_bytes // line_bytes) - lines) * line


def spread_lines(lines: int, sets: int) -> int:
    """The least stride, in lines, at which neither a column of lines nor a block of long rows meets in few sets of a cache.

    Numbers of sets are powers of two, so that an odd stride takes a column through all sets. Rows that are longer than the
    distance to their successors modulo the sets overlap there: twelve rows of eleven lines at a distance of one fill the same
    set eleven times. At a distance of more than an eighth of the sets, either way, no set gets more than three lines beyond
    twice its share, whatever the block.

    >>> [spread_lines(lines, 64) for lines in (1, 5, 32, 64, 127, 128)]
    [1, 5, 33, 73, 137, 137]
    """
    least = sets // 8
    return next(n for n in count(lines | 1, 2) if n <= sets - least or least < n % sets < sets - least)


def _part(index: Index, digit: Digit) -> Index:
    """The value of a digit."""
    quotient = floordiv(index, digit.divisor) if digit.divisor > 1 else index
    return quotient if digit.is_slowest else mod(quotient, digit.extent)
