"""Lengths: which extents of a function's arguments vary between calls, and the ranges that share a kernel.

The first call with given extents is specialised. An extent that is met with a second value is a length from then on: a symbol,
whose kernels serve a bucket of values each. Buckets grow by a factor of `FACTOR` (2..4, 5..16, 17..64, ...): with the extents 0
and 1, which are always specialised (NumPy broadcasts them, and a row of one is other work), loops over 1..4096 need eight
kernels at most.

Extents that were equal whenever both were above 1 share a symbol (keys, values and the last axis of a mask). Where a
function cannot be traced or planned with a bucket, its values are specialised.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.graph.types import Extent, SymbolicExtent

FACTOR_BITS = 2
"""Buckets grow by this power of two."""
Extents = tuple[int, ...]
"""Of all arrays of a call, one after the other."""


def shape_bucket(length: int) -> tuple[int, int]:
    """The smallest and the largest length of the bucket of a length above 1.

    >>> [shape_bucket(length) for length in (2, 4, 5, 16, 17, 4096)]
    [(2, 4), (2, 4), (5, 16), (5, 16), (17, 64), (1025, 4096)]
    """
    return _range(_number(length))


def _number(length: int) -> int:
    return (FACTOR_BITS - 1 + (length - 1).bit_length()) // FACTOR_BITS


def _range(number: int) -> tuple[int, int]:
    return (1 << FACTOR_BITS * (number - 1)) + 1, 1 << FACTOR_BITS * number


class DynamicDimensions:
    """What the calls of one structure have shown. `key` may run while another thread learns; `learn` and `specialise` may not."""

    def __init__(self, dynamic: bool | None) -> None:
        """`dynamic`: None learns from calls, True takes every extent above 1 for a length, False none."""
        self._dynamic = dynamic
        self.seen: list[Extents] = []
        """The calls that showed something."""
        self._specialised: frozenset[tuple[int, int]] = frozenset()
        """Positions and numbers of buckets."""
        self._varying: tuple[tuple[int, tuple[int, ...]], ...] = ()
        """The positions of lengths, each with the earlier ones that it has been equal to so far."""

    def key(self, extents: Extents) -> Extents:
        """What calls must agree in to share a kernel: extents as they are; a length as a number below 0, by its bucket and by
        the first position with the same symbol."""
        if not self._varying:
            return extents
        key, specialised = list(extents), self._specialised
        for position, mates in self._varying:
            length = extents[position]
            if length <= 1 or (specialised and (position, _number(length)) in specialised):
                continue
            first = position
            for mate in mates:
                if extents[mate] == length:
                    first = mate
                    break
            key[position] = ~(_number(length) * len(key) + first)
        return tuple(key)

    def learn(self, extents: Extents) -> None:
        """Take a call into account that no kernel serves so far. Calls that show nothing are not kept."""
        if self._dynamic is False:
            return
        known, is_first = self._varying, self._is_first_above_one(extents)
        self.seen.append(extents)
        self._find_varying(len(extents))
        if self._varying == known and not is_first:
            self.seen.pop()

    def specialise(self, positions: Sequence[int], extents: Extents) -> None:
        """Specialise these positions for every value in the buckets of a call."""
        self._specialised |= {(position, _number(extents[position])) for position in positions}

    def _is_first_above_one(self, extents: Extents) -> bool:
        """Whether some position has its first extent above 1."""
        return any(extent > 1 and all(seen[i] <= 1 for seen in self.seen) for i, extent in enumerate(extents))

    def _find_varying(self, count: int) -> None:
        varying = [position for position in range(count) if self._varies(position)]
        self._varying = tuple(
            (number, tuple(earlier for earlier in varying if earlier < number and self._is_always_equal(earlier, number)))
            for number in varying
        )

    def _varies(self, position: int) -> bool:
        values = {extents[position] for extents in self.seen if extents[position] > 1}
        return len(values) > (0 if self._dynamic else 1)

    def _is_always_equal(self, first: int, second: int) -> bool:
        return all(extents[first] == extents[second] or min(extents[first], extents[second]) <= 1 for extents in self.seen)


def symbols(key: Extents) -> dict[int, list[int]]:
    """The positions of every length of a key, by the first of them."""
    found: dict[int, list[int]] = {}
    for position, code in enumerate(key):
        if code < 0:
            found.setdefault(~code % len(key), []).append(position)
    return found


def described(key: Extents, extents: Extents, chosen: Collection[int]) -> list[Extent]:
    """The extents to trace with: those of a call, where the lengths that begin at these positions are symbols s0, s1, ..."""
    result: list[Extent] = list(extents)
    for number, (first, positions) in enumerate(symbols(key).items()):
        if first in chosen:
            low, high = shape_bucket(extents[first])
            for position in positions:
                result[position] = SymbolicExtent(f"s{number}", low, high, high)
    return result
