"""Integers of addresses and loops: polynomials in named integers, in normal form as soon as they are made.

Equal polynomials are equal objects' values, so that equal addresses are found without any pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Term: TypeAlias = tuple[tuple[str, ...], int]
"""Names that are multiplied, in order, and a factor."""


class Index:
    """A polynomial of at least one name; constants are Python integers.

    >>> i, row = named("i"), named("row")
    >>> (i + 2) * row - row, i - i, str(i * 4 + 3)
    (Index('row + i*row'), 0, '4*i + 3')
    """

    __slots__ = ("terms",)

    terms: tuple[Term, ...]

    def __init__(self, terms: tuple[Term, ...]) -> None:
        """Of sorted terms; use `named` and operators."""
        self.terms = terms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        return f"Index({str(self)!r})"

    def __str__(self) -> str:
        parts = [
            "*".join([*([str(factor)] if factor != 1 or not names else []), *names]) for names, factor in reversed(self.terms)
        ]
        return " + ".join(parts)

    def __add__(self, other: IndexLike) -> IndexLike:
        return _sum(self, other, 1)

    def __radd__(self, other: int) -> IndexLike:
        return _sum(self, other, 1)

    def __sub__(self, other: IndexLike) -> IndexLike:
        return _sum(self, other, -1)

    def __rsub__(self, other: int) -> IndexLike:
        return _sum(Index(tuple((names, -factor) for names, factor in self.terms)), other, 1)

    def __mul__(self, other: IndexLike) -> IndexLike:
        if isinstance(other, int):
            return Index(tuple((names, factor * other) for names, factor in self.terms)) if other else 0
        return normal(_product(self.terms, other.terms))

    __rmul__ = __mul__

    def names(self) -> frozenset[str]:
        """All names that it depends on."""
        return frozenset(name for names, _ in self.terms for name in names)


IndexLike: TypeAlias = int | Index


def named(name: str) -> Index:
    """The integer of a name: a parameter, the variable of a loop, or one that a statement defines."""
    return Index((((name,), 1),))


def terms_of(index: IndexLike) -> tuple[Term, ...]:
    """The terms of a polynomial, of a constant too.

    >>> terms_of(3), terms_of(0)
    ((((), 3),), ())
    """
    if isinstance(index, Index):
        return index.terms
    return (((), index),) if index else ()


def normal(terms: Mapping[tuple[str, ...], int]) -> IndexLike:
    """The polynomial of some terms."""
    found = tuple(sorted((names, factor) for names, factor in terms.items() if factor))
    if not found:
        return 0
    return found[0][1] if len(found) == 1 and not found[0][0] else Index(found)


def substituted(index: IndexLike, values: Mapping[str, IndexLike]) -> IndexLike:
    """With other integers in the place of names.

    >>> substituted(named("i") * 4 + named("n"), {"i": named("j") + 1})
    Index('n + 4*j + 4')
    """
    if isinstance(index, int) or not any(name in values for name in index.names()):
        return index
    total: IndexLike = 0
    for names, factor in index.terms:
        product: IndexLike = factor
        for name in names:
            product = product * values.get(name, named(name))
        total = total + product
    return total


def evaluated(index: IndexLike, values: Mapping[str, int]) -> int:
    """The value, given those of all names.

    >>> evaluated(named("i") * 4 + 3, {"i": 2})
    11
    """
    total = 0
    for names, factor in terms_of(index):
        for name in names:
            factor *= values[name]
        total += factor
    return total


def _sum(left: Index, right: IndexLike, sign: int) -> IndexLike:
    total = dict(left.terms)
    for names, factor in terms_of(right):
        total[names] = total.get(names, 0) + sign * factor
    return normal(total)


def _product(left: tuple[Term, ...], right: tuple[Term, ...]) -> dict[tuple[str, ...], int]:
    total: dict[tuple[str, ...], int] = {}
    for names, factor in left:
        for more, other in right:
            key = tuple(sorted(names + more)) if names and more else names or more
            total[key] = total.get(key, 0) + factor * other
    return total
