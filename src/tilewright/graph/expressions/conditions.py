"""Conditions as affine constraints: which comparisons of positions, integers and one value of the data a condition consists of.

m + 3 >= l    is    m - l + 3 >= 0
l < length    is    ceil(length) - l - 1 >= 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.index import constant as constant_index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Scalar

SPREAD = 1 << 24
"""No two positions of a comparison are further apart: numbers beyond it are all the same."""
CONJUNCTION, DISJUNCTION, NEGATION = "logical_and", "logical_or", "logical_not"
OPPOSITE = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}
"""The comparison that holds where another does not (of values that are not NaN)."""


@dataclass(frozen=True, slots=True)
class Datum:
    """A value of the data: a run-time integer, or the element of a read, times `sign`, rounded up or down."""

    leaf: Load | Parameter
    sign: int
    rounds_up: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """What holds where `index + sum of data >= 0`; the index is affine in the axes."""

    index: Index
    data: tuple[Datum, ...] = ()
    """At most one of them is an element of a read."""


@dataclass(frozen=True, slots=True)
class _Linear:
    """`index + constant + sum of sign * leaf`; the index has no constant of its own."""

    index: Index
    constant: float = 0.0
    leaves: tuple[tuple[int, Load | Parameter], ...] = field(default=())

    def plus(self, other: _Linear, sign: int) -> _Linear:
        leaves = (*self.leaves, *((sign * factor, leaf) for factor, leaf in other.leaves))
        return _Linear(self.index + other.index * sign, self.constant + sign * other.constant, leaves)


def compared_ahead(function: str, this: Scalar, that: Scalar, by: int) -> Apply:
    """`this - that` compared with a whole number, as sums of which none is negative: unsigned integers cannot be.

    A number beyond `SPREAD` is as good as it.

    >>> compared_ahead("equal", AxisValue("m"), AxisValue("l"), -2).operands[0]
    Apply(function='add', operands=(AxisValue(axis='m'), Literal(value=2.0)))
    """
    by = max(-SPREAD, min(by, SPREAD))
    return Apply(function, (_plus(this, -by), _plus(that, by)))


def _plus(position: Scalar, offset: int) -> Scalar:
    return Apply("add", (position, Literal(float(offset)))) if offset > 0 else position


def conjuncts(condition: Scalar, holds: bool = True) -> tuple[Scalar, ...]:
    """Conditions that together are this one; or, with `holds` of False, its opposite.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> m, l = AxisValue("m"), AxisValue("l")
    >>> conjuncts(apply("less", m, l), holds=False) == (apply("greater_equal", m, l),)
    True
    """
    if isinstance(condition, Apply) and condition.function == NEGATION:
        return conjuncts(condition.operands[0], not holds)
    if isinstance(condition, Apply) and condition.function == (CONJUNCTION if holds else DISJUNCTION):
        return tuple(part for operand in condition.operands for part in conjuncts(operand, holds))
    if holds:
        return (condition,)
    if isinstance(condition, Apply) and condition.function in OPPOSITE:
        return (Apply(OPPOSITE[condition.function], condition.operands),)
    return (Apply("equal", (condition, Literal(0.0))),)


def constraint_of(comparison: Scalar) -> Constraint | None:
    """A comparison as a constraint; None if it is no comparison, or not affine.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> str(constraint_of(apply("less", AxisValue("l"), apply("add", AxisValue("m"), Literal(3.0)))).index)
    '-1*l + m + 2'
    """
    if not isinstance(comparison, Apply) or comparison.function not in OPPOSITE:
        return None
    left, right = (_linear(operand) for operand in comparison.operands)
    if left is None or right is None:
        return None
    is_strict = comparison.function in ("less", "greater")
    return _rounded(right.plus(left, -1) if comparison.function.startswith("less") else left.plus(right, -1), is_strict)


def _rounded(linear: _Linear, is_strict: bool) -> Constraint | None:
    """The constraint that a linear form is not negative, or, if strict, positive."""
    loads = [leaf for _, leaf in linear.leaves if isinstance(leaf, Load)]
    whole = ceil(linear.constant) - 1 if is_strict and not loads else floor(linear.constant) - is_strict
    if not linear.index.terms or len(loads) > 1 or (loads and linear.constant != floor(linear.constant)):
        return None
    data = tuple(Datum(leaf, sign, is_strict) for sign, leaf in linear.leaves)
    return Constraint(linear.index + constant_index(whole), data)


def _linear(scalar: Scalar) -> _Linear | None:
    match scalar:
        case AxisValue(axis):
            return _Linear(axis_index(axis))
        case Literal(value) if abs(value) < 2**24:
            return _Linear(Index(), value)
        case Load() | Parameter():
            return _Linear(Index(), 0.0, ((1, scalar),))
        case Apply(function, operands):
            parts = [_linear(operand) for operand in operands]
            known = [part for part in parts if part is not None]
            return _combined(function, known) if len(known) == len(parts) else None
        case _:
            return None


def _combined(function: str, parts: Sequence[_Linear]) -> _Linear | None:
    zero = _Linear(Index())
    match function, parts:
        case "add", (left, right):
            return left.plus(right, 1)
        case "subtract", (left, right):
            return left.plus(right, -1)
        case "negative", (only,):
            return zero.plus(only, -1)
        case "multiply", (left, right):
            return _product(left, right) or _product(right, left)
        case _:
            return None


def _product(linear: _Linear, factor: _Linear) -> _Linear | None:
    """A linear form times an integer."""
    whole = int(factor.constant)
    if factor.index.terms or factor.leaves or linear.leaves or whole != factor.constant:
        return None
    return _Linear(linear.index * whole, linear.constant * whole)
