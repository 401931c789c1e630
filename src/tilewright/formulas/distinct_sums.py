"""Distinct sums: how many values an affine index takes whose terms reach over each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod
from typing import Any

import numpy as np

MOST_BITS = 1 << 16
"""Longest interval in which the values of three or more terms are counted one by one: a planner asks for thousands of tiles."""


def distinct_sums(*terms: Any) -> Any:
    """The distinct values of first * i + second * j + ...: terms are positive factors, each before the number of its values.

    >>> int(distinct_sums(4, 8, 1, 3)), distinct_sums(4, np.array([2, 8]), 1, 6).tolist()
    (24, [10, 34])
    """
    factors = terms[::2]
    counts = np.broadcast_arrays(*(np.asarray(count, np.int64) for count in terms[1::2]))
    if _are_digits(sorted((factor, int(count.max())) for factor, count in zip(factors, counts, strict=True) if count.size)):
        return np.asarray(prod(counts))
    tiles = list(zip(*(count.ravel().tolist() for count in counts), strict=True))
    sizes = {tile: _size(factors, tile) for tile in set(tiles)}
    return np.array([sizes[tile] for tile in tiles], np.int64).reshape(counts[0].shape)


def _are_digits(terms: Sequence[tuple[int, int]]) -> bool:
    """Whether every term is farther apart than the smaller ones reach, as in packed arrays: the numbers of values multiply."""
    reach = 0
    for at, (factor, count) in enumerate(terms):
        if gcd(*(larger for larger, _ in terms[at:])) <= reach:
            return False
        reach += factor * (count - 1)
    return True


@lru_cache(maxsize=1 << 14)
def _size(factors: tuple[int, ...], counts: tuple[int, ...]) -> int:
    """The distinct values of sum(factor * i), i < count, for positive factors.

    Larger terms whose values are farther apart (at least by the greatest common divisor of their factors) than smaller terms
    reach are independent of these: the numbers of values multiply.
    """
    together: list[tuple[int, int]] = []
    size, reach = 1, 0
    terms = sorted((factor, count) for factor, count in zip(factors, counts, strict=True) if count > 1)
    for at, (factor, count) in enumerate(terms):
        if together and gcd(*(larger for larger, _ in terms[at:])) > reach:
            size, together, reach = size * _overlapping_size(together), [], 0
        together.append((factor, count))
        reach += factor * (count - 1)
    return size * _overlapping_size(together)


def _overlapping_size(terms: Sequence[tuple[int, int]]) -> int:
    """The distinct values of terms (factor, count) that reach over each other.

    Values are the bits of one integer, shifted and united; beyond MOST_BITS the number is a bound from above.
    """
    common = gcd(*(factor for factor, _ in terms)) if terms else 1
    span = sum(factor // common * (count - 1) for factor, count in terms) + 1
    if len(terms) < 2 or span > MOST_BITS:
        return min(prod(count for _, count in terms), span)
    values = 1
    for factor, count in terms:
        reached = 1
        while reached < count:
            step = min(reached, count - reached)
            values |= values << (factor // common * step)
            reached += step
    return values.bit_count()
