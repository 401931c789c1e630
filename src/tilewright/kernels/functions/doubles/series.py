"""Polynomials as C text."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def series(coefficients: Iterable[Fraction], variable: str) -> str:
    """The polynomial with these coefficients, from the constant term up, by Horner's rule in multiply-adds.

    >>> series([Fraction(1), Fraction(1, 2)], "z")
    'tw_multiply_add_float64(z, 0.5, 1.0)'
    """
    first, *lower = coefficients
    return f"tw_multiply_add_float64({variable}, {series(lower, variable)}, {float(first)!r})" if lower else repr(float(first))
