"""Scalar expressions as polynomials: the same sums of products, whatever order and brackets they were written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import isclose, isfinite
from typing import TypeAlias

from tilewright.graph.expressions.scalar import Apply, Literal, Scalar, apply

Monomial: TypeAlias = frozenset[tuple[Scalar, int]]
"""The factors of a product with their powers; all of them are atoms, no sums or products themselves."""
Polynomial: TypeAlias = Mapping[Monomial, float]
ONE: Monomial = frozenset()
MOST_TERMS = 64
SAME = 1e-6
"""Relative difference of coefficients that are equal: they come from programs in float32."""


def polynomial(scalar: Scalar, atoms: Collection[Scalar] = ()) -> Polynomial | None:
    """An expression as a polynomial, with `atoms` as unknowns whatever they are made of; None if it gets too long.

    Unknowns are also functions that are not sums, products or quotients, and reciprocals of what is not constant.

    >>> from tilewright.graph.expressions.scalar import Load
    >>> polynomial(apply("square", apply("add", Load(0), Literal(3.0)))) == {
    ...     frozenset({(Load(0), 2)}): 1.0,
    ...     frozenset({(Load(0), 1)}): 6.0,
    ...     ONE: 9.0,
    ... }
    True
    """
    match scalar:
        case _ if scalar in atoms:
            return {frozenset({(scalar, 1)}): 1.0}
        case Literal(value) if isfinite(value):
            return {ONE: value}
        case Apply("add" | "subtract" as function, (left, right)):
            return _sum(polynomial(left, atoms), polynomial(right, atoms), 1.0 if function == "add" else -1.0)
        case Apply("negative", (operand,)):
            return _product(polynomial(operand, atoms), {ONE: -1.0})
        case Apply("multiply", (left, right)):
            return _product(polynomial(left, atoms), polynomial(right, atoms))
        case Apply("square", (operand,)):
            squared = polynomial(operand, atoms)
            return _product(squared, squared)
        case Apply("divide", (left, right)):
            return _product(polynomial(left, atoms), _inverse(right, atoms))
        case Apply("reciprocal", (operand,)):
            return _inverse(operand, atoms)
    return {frozenset({(scalar, 1)}): 1.0}


def unknowns(of: Polynomial) -> tuple[Scalar, ...]:
    """The atoms of a polynomial, each once."""
    return tuple(dict.fromkeys(atom for monomial in of for atom, _ in monomial))


def quotient(this: Polynomial, that: Polynomial) -> float | None:
    """The constant by which `that` is to be multiplied to be `this`; None if there is none."""
    if not this or set(this) != set(that):
        return None
    largest = max(that, key=lambda monomial: abs(that[monomial]))
    factor = this[largest] / that[largest]
    return factor if all(isclose(this[monomial], factor * that[monomial], rel_tol=SAME) for monomial in this) else None


def _inverse(scalar: Scalar, atoms: Collection[Scalar]) -> Polynomial:
    divisor = polynomial(scalar, atoms)
    if divisor is not None and set(divisor) == {ONE} and divisor[ONE]:
        return {ONE: 1 / divisor[ONE]}
    return {frozenset({(apply("reciprocal", scalar), 1)}): 1.0}


def _sum(this: Polynomial | None, that: Polynomial | None, sign: float) -> Polynomial | None:
    if this is None or that is None:
        return None
    return _short({monomial: this.get(monomial, 0.0) + sign * that.get(monomial, 0.0) for monomial in {**this, **that}})


def _product(this: Polynomial | None, that: Polynomial | None) -> Polynomial | None:
    if this is None or that is None or len(this) * len(that) > MOST_TERMS:
        return None
    terms: Counter[Monomial] = Counter()
    for left, left_coefficient in this.items():
        for right, right_coefficient in that.items():
            terms[frozenset((Counter(dict(left)) + Counter(dict(right))).items())] += left_coefficient * right_coefficient  # type: ignore[assignment]
    return _short(terms)


def _short(terms: Mapping[Monomial, float]) -> Polynomial | None:
    kept = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    return kept if len(kept) <= MOST_TERMS else None
