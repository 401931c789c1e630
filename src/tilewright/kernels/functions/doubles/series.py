"""Polynomials as C text."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def series(coefficients: Iterable[Fraction], variable: str) -> str:
    """The polynomial with these coefficients, from the constant term up, by Horner's rule.

    >>> series([Fraction(1), Fraction(1, 2)], "z")
    '(1.0 + z * 0.5)'
    """
    first, *lower = coefficients
    return f"({float(first)!r} + {variable} * {series(lower, variable)})" if lower else repr(float(first))
