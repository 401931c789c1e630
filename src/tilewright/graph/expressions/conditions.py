"""Conditions as affine constraints: which comparisons of positions, integers and one value of the data a condition consists of.

m + 3 >= l    is    m - l + 3 >= 0
l < length    is    ceil(length) - l - 1 >= 0
"""

from __future__ import annotations

from math import ceil, floor

from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.polynomials import ONE, Polynomial, polynomial
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Scalar, apply
from tilewright.records import record

SPREAD = 1 << 24
"""No two positions of a comparison are further apart: numbers beyond it are all the same."""
CONJUNCTION, DISJUNCTION, NEGATION = "logical_and", "logical_or", "logical_not"
OPPOSITE = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}
"""The comparison that holds where another does not (of values that are not NaN)."""


@record
class Datum:
    """A value of the data: a run-time integer, or the element of a read, times `sign`, rounded up or down."""

    leaf: Load | Parameter
    sign: int
    rounds_up: bool


@record
class Constraint:
    """What holds where `index + sum of data >= 0`; the index is affine in the axes."""

    index: Index
    data: tuple[Datum, ...] = ()
    """At most one of them is an element of a read."""


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
    left, right = comparison.operands if comparison.function.startswith("less") else comparison.operands[::-1]
    return _constraint(polynomial(apply("subtract", right, left)) or {}, comparison.function in ("less", "greater"))


def _constraint(terms: Polynomial, is_strict: bool) -> Constraint | None:
    """The constraint that a sum is not negative, or, if strict, positive; None if it is not affine."""
    index, data, constant = Index(), list[Datum](), terms.get(ONE, 0.0)
    for monomial, coefficient in terms.items():
        match tuple(monomial):
            case ():
                continue
            case ((AxisValue(axis), 1),) if coefficient.is_integer():
                index = index + axis_index(axis) * int(coefficient)
            case ((Load() | Parameter() as leaf, 1),) if abs(coefficient) == 1:
                data.append(Datum(leaf, int(coefficient), is_strict))
            case _:
                return None
    loads = sum(isinstance(datum.leaf, Load) for datum in data)
    if not index.terms or loads > 1 or abs(constant) >= SPREAD or (loads and not constant.is_integer()):
        return None
    whole = ceil(constant) - 1 if is_strict and not loads else floor(constant) - is_strict
    return Constraint(index + whole, tuple(data))
