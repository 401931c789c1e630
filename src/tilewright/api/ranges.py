"""Ranges of extents that share kernels, and tables of kernels by them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tilewright.records import record

T = TypeVar("T")
LARGEST = 1 << 20
"""The end of the first range; longer extents have ranges of their own."""
Extents = tuple[int, ...]
"""Of all arrays of a call, one after the other."""


@dataclass(slots=True)
class Ranges:
    """Which extents of a structure of calls share kernels. Positions are those of extents of all arrays.

    Its fields are replaced and never changed: `key` may run while another thread learns.
    """

    varying: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The positions that are dynamic, each with those that it has been equal to so far."""
    cuts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By position, where ranges begin."""
    multiples: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """By position and beginning of a range: only multiples of this number share a kernel, other extents are specialised."""
    specialised: frozenset[tuple[int, int]] = frozenset()
    """Positions and the beginnings of ranges."""

    def key(self, extents: Extents) -> Extents:
        """What calls must agree in to share a kernel: extents as they are; those of a dynamic dimension as a number below 0, by
        the number of their range and by the first position with the same symbol."""
        varying = self.varying
        if not varying:
            return extents
        key = list(extents)
        for position, mates in varying:
            if self._is_exact(position, mates, extents):
                continue
            first = next((m for m in mates if m < position and extents[m] == extents[position] and key[m] < 0), position)
            number = bisect_right(self.begins(position), extents[position]) - 1
            key[position] = ~(number * len(key) + first)
        return tuple(key)

    def range_of(self, position: int, extent: int) -> tuple[int, int]:
        """The smallest and the largest extent that share a kernel with one at a position.

        >>> Ranges().range_of(0, 5) == (1, LARGEST)
        True
        """
        begins = self.begins(position)
        number = bisect_right(begins, extent) - 1
        return begins[number], begins[number + 1] - 1 if number + 1 < len(begins) else LARGEST * LARGEST

    def begins(self, position: int) -> tuple[int, ...]:
        """Where the ranges of a position begin."""
        return self.cuts.get(position, (1, LARGEST + 1))

    def _is_exact(self, position: int, mates: tuple[int, ...], extents: Extents) -> bool:
        """Whether an extent of a dynamic dimension is specialised: 0, a broadcast, a range of one value, or a refused range."""
        extent = extents[position]
        if extent < 1 or (extent == 1 and any(extents[mate] != 1 for mate in mates)):
            return True
        low, high = self.range_of(position, extent)
        is_another = extent % self.multiples.get((position, low), 1) != 0
        return low == high or is_another or (position, low) in self.specialised


@record
class KernelTable(Generic[T]):
    """Kernels that were made before, by the extents of calls and the keys of their ranges."""

    ranges: Ranges
    kernels: Mapping[Extents, T]

    def find(self, extents: Extents) -> T | None:
        """The kernel of a call, if there is one."""
        found = self.kernels.get(extents)
        return self.kernels.get(self.ranges.key(extents)) if found is None else found


@record
class SavedTable:
    """A table as data: its kernels are numbers."""

    count: int
    """Of the extents of a call."""
    ranges: Ranges
    kernels: tuple[tuple[Extents, int], ...]

    def table(self, kernels: Sequence[T]) -> KernelTable[T]:
        """The table, given the kernels by number. Raises `ValueError` or `IndexError` for data that is none of ours."""
        positions = {p for first, mates in self.ranges.varying for p in (first, *mates)}
        if not positions <= set(range(self.count)):
            raise ValueError("a dimension is not there")
        if not all(begins and list(begins) == sorted({1, *begins}) for begins in self.ranges.cuts.values()):
            raise ValueError("ranges of a dimension are in no order")
        if any(factor < 1 for factor in self.ranges.multiples.values()):
            raise ValueError("multiples of a dimension are of no number")
        if any(not 0 <= number < len(kernels) or len(key) != self.count for key, number in self.kernels):
            raise ValueError("a kernel is not there")
        return KernelTable(self.ranges, {key: kernels[number] for key, number in self.kernels})
