"""Extents that follow from others: a cache of `s0` rows and one more row are `s0_plus_1` rows.

A sum is a symbol of its own, with a range of its own; whoever binds symbols computes its value from those of its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.graph.scalar import Literal, Parameter, Scalar, apply
from tilewright.graph.types import Extent, SymbolicExtent


@dataclass(frozen=True, slots=True)
class SumOfExtents(SymbolicExtent):
    """`sum(terms) + offset`; no term is a sum itself."""

    terms: tuple[SymbolicExtent, ...]
    offset: int


def plus(left: Extent, right: Extent) -> Extent:
    """The sum.

    >>> s = SymbolicExtent("s0", 5, 16, 16)
    >>> str(plus(s, 1)), plus(s, 1).high, plus(plus(s, 1), -1) == s
    ('s0_plus_1', 17, True)
    """
    return _sum((*_terms(left), *_terms(right)), _offset(left) + _offset(right))


def minus(minuend: Extent, subtrahend: Extent) -> Extent | None:
    """The difference; None where terms are left over.

    >>> s = SymbolicExtent("s0", 5, 16, 16)
    >>> minus(plus(s, 1), s), minus(4, s)
    (1, None)
    """
    terms = list(_terms(minuend))
    for term in _terms(subtrahend):
        if term not in terms:
            return None
        terms.remove(term)
    return _sum(terms, _offset(minuend) - _offset(subtrahend))


def value_of(extent: Extent, symbols: Mapping[str, int]) -> int:
    """The integer, where symbols that are no sums have these values."""
    return sum(symbols[term.name] for term in _terms(extent)) + _offset(extent)


def scalar_of(extent: Extent) -> Scalar:
    """The extent in the body of an operator.

    >>> scalar_of(3), scalar_of(SymbolicExtent("s0", 5, 16, 16))
    (Literal(value=3.0), Parameter(name='s0'))
    """
    result: Scalar | None = None
    for term in _terms(extent):
        result = Parameter(term.name) if result is None else apply("add", result, Parameter(term.name))
    if result is None:
        return Literal(float(_offset(extent)))
    return apply("add", result, Literal(float(_offset(extent)))) if _offset(extent) else result


def _terms(extent: Extent) -> tuple[SymbolicExtent, ...]:
    if isinstance(extent, SumOfExtents):
        return extent.terms
    return (extent,) if isinstance(extent, SymbolicExtent) else ()


def _offset(extent: Extent) -> int:
    return extent.offset if isinstance(extent, SumOfExtents) else 0 if isinstance(extent, SymbolicExtent) else extent


def _sum(terms: Sequence[SymbolicExtent], offset: int) -> Extent:
    if not terms:
        return offset
    if len(terms) == 1 and offset == 0:
        return terms[0]
    ordered = tuple(sorted(terms, key=lambda term: term.name))
    low, high, hint = (sum(numbers) + offset for numbers in zip(*((t.low, t.high, t.hint) for t in ordered), strict=True))
    name = "_plus_".join(term.name for term in ordered) + (
        f"_plus_{offset}" if offset > 0 else f"_minus_{-offset}" if offset else ""
    )
    return SumOfExtents(name, low, high, hint, ordered, offset)
