"""Layouts: where the elements of an array lie in memory. One type for plain and blocked tensors and for packed panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.graph.index import Index, constant, floordiv, mod


@dataclass(frozen=True, slots=True)
class Digit:
    """A part of an index that has a place of its own in memory: `index // divisor % extent` of a dimension."""

    dimension: int
    divisor: int
    extent: int
    """How many values it has; the slowest digit of a dimension needs no remainder."""
    is_slowest: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of an array's dimensions, slowest first, and the blocks that they are cut into, which lie inside.

    A block is (dimension, size); several blocks stand slowest first, and a dimension may be cut again inside its block. The last
    block of a dimension is filled up. An array may have more dimensions in front: these are slower than those of the layout, in
    their order. Padding stands behind every run of the fastest digit.

    >>> Layout((0, 2, 3, 1)) == channels_last(4)
    True
    >>> panels(64, interleave=4)
    Layout(order=(1, 0), blocks=((1, 64), (0, 4)), row_padding=0)
    """

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    row_padding: int = 0
    """In elements."""

    def digits(self, shape: Sequence[int]) -> tuple[Digit, ...]:
        """The digits of an element's position in memory, slowest first."""
        return tuple(self._digits(shape))

    def elements(self, shape: Sequence[int]) -> int:
        """The elements that an array takes, with all that is filled up.

        >>> panels(64).elements((10, 100)), row_major(2, row_padding=16).elements((3, 64))
        (1280, 240)
        """
        digits = self.digits(shape)
        return digits[0].extent * self._strides(digits)[0] if len(digits) > 1 else prod(digit.extent for digit in digits)

    def offset(self, indices: Sequence[Index], shape: Sequence[int]) -> Index:
        """The place of an element, counted in elements.

        >>> from tilewright.graph.index import axis
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

    def _digits(self, shape: Sequence[int]) -> Iterator[Digit]:
        before = len(shape) - len(self.order)
        yield from (Digit(dimension, 1, shape[dimension], True) for dimension in range(before))
        for dimension in self.order:
            inside = prod(size for cut, size in self.blocks if cut == dimension)
            yield Digit(before + dimension, inside, -(-shape[before + dimension] // inside), True)
        for place, (dimension, size) in enumerate(self.blocks):
            inside = prod(smaller for cut, smaller in self.blocks[place + 1 :] if cut == dimension)
            yield Digit(before + dimension, inside, size, False)

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


def channels_last(rank: int) -> Layout:
    """The second dimension fastest, as in NHWC.

    >>> channels_last(4).order
    (0, 2, 3, 1)
    """
    return Layout((0, *range(2, rank), 1))


def blocked(rank: int, dimension: int, size: int) -> Layout:
    """A dimension in blocks, inside all others: `blocked(4, 1, 16)` is NCHW16c.

    >>> blocked(4, 1, 16)
    Layout(order=(0, 1, 2, 3), blocks=((1, 16),), row_padding=0)
    """
    return Layout(tuple(range(rank)), ((dimension, size),))


def panels(columns: int, interleave: int = 1) -> Layout:
    """The right operand of a micro kernel, of depth x columns: panels of its columns, steps of the depth side by side in groups.

    >>> panels(64)
    Layout(order=(1, 0), blocks=((1, 64),), row_padding=0)
    """
    return Layout((1, 0), ((1, columns), *(((0, interleave),) if interleave > 1 else ())))


def _part(index: Index, digit: Digit) -> Index:
    """The value of a digit."""
    quotient = floordiv(index, digit.divisor) if digit.divisor > 1 else index
    return quotient if digit.is_slowest else mod(quotient, digit.extent)
