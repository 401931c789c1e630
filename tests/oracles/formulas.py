"""Sizes as formulas of the extents: a size that is linear in every extent is found from its values at the corners of a cube."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import prod

Size = Callable[[Mapping[str, int]], int]
BASE = 5
"""Extents at which values are taken: small ones may be special (a loop of one iteration carries nothing)."""


def formula(size: Size, names: Sequence[str]) -> str:
    """The polynomial that a size is. Raises `ValueError` where it is not linear in each extent.

    >>> formula(lambda at: at["N"] * at["K"] + at["N"] + 1, ("N", "K"))
    'N*K + N + 1'
    """
    factors = coefficients(size, names)
    for shift in (2, 7):
        point = {name: BASE + shift * (at + 1) for at, name in enumerate(names)}
        if size(point) != value(factors, point):
            raise ValueError(f"the size is {size(point)} at {point}, not {value(factors, point)}: no product of linear terms")
    monomials = sorted(factors, key=lambda term: (-len(term), [names.index(name) for name in term]))
    return " + ".join(_text(term, factors[term]) for term in monomials if factors[term]).replace("+ -", "- ") or "0"


def coefficients(size: Size, names: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The coefficient of every product of distinct extents, by finite differences, those of most factors first."""
    found: dict[tuple[str, ...], int] = {}
    for count in reversed(range(len(names) + 1)):
        for term in combinations(names, count):
            difference = _difference(size, names, term)
            above = (other for other in found if set(term) < set(other))
            found[term] = difference - sum(found[other] * BASE ** (len(other) - count) for other in above)
    return found


def value(factors: Mapping[tuple[str, ...], int], point: Mapping[str, int]) -> int:
    """The value of the polynomial."""
    return sum(factor * prod(point[name] for name in term) for term, factor in factors.items())


def _difference(size: Size, names: Sequence[str], term: Sequence[str]) -> int:
    """The mixed first difference in the extents of a term, all others at the base."""
    total = 0
    for count in range(len(term) + 1):
        for raised in combinations(term, count):
            point = {name: BASE + (name in raised) for name in names}
            total += (-1) ** (len(term) - count) * size(point)
    return total


def _text(term: Sequence[str], factor: int) -> str:
    if not term:
        return str(factor)
    sign, size = "-" * (factor < 0), abs(factor)
    return sign + "*".join([str(size)] * (size != 1) + list(term))
