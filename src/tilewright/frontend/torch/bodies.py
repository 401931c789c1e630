"""Scalar expressions by the names of their functions: `add(Load(0), 1)`. Numbers are literals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar

Part: TypeAlias = Scalar | float
"""An expression, or a number in its place."""
X, Y, Z = Load(0), Load(1), Load(2)
"""The elements of the first three operands."""


def scalar(part: Part) -> Scalar:
    """A number as an expression."""
    return Literal(float(part)) if isinstance(part, int | float) else part


def _function(name: str) -> Callable[..., Scalar]:
    return lambda *parts: Apply(name, tuple(map(scalar, parts)))


add, subtract, multiply, divide = map(_function, ("add", "subtract", "multiply", "divide"))
maximum, minimum, fmod, floor_divide = map(_function, ("maximum", "minimum", "fmod", "floor_divide"))
negative, absolute, square, sqrt, reciprocal = map(_function, ("negative", "abs", "square", "sqrt", "reciprocal"))
floor, trunc, nearest = map(_function, ("floor", "trunc", "round"))
exp, exp2, expm1, log, log1p, log2_of = map(_function, ("exp", "exp2", "expm1", "log", "log1p", "log2"))
sin, cos, tan, atan2, erf, erfc = map(_function, ("sin", "cos", "tan", "atan2", "erf", "erfc"))
sigmoid, tanh = map(_function, ("sigmoid", "tanh"))
equal, not_equal, is_nan, is_infinite = map(_function, ("equal", "not_equal", "isnan", "isinf"))
less, less_equal, greater, greater_equal = map(_function, ("less", "less_equal", "greater", "greater_equal"))
both, either, one_of, no = map(_function, ("logical_and", "logical_or", "logical_xor", "logical_not"))
where = _function("where")


def times(part: Part, factor: float) -> Scalar:
    """A multiple; once is the expression itself."""
    return scalar(part) if factor == 1 else multiply(part, factor)


def held(part: Part, least: Part, largest: Part) -> Scalar:
    """Between two bounds; NaN stays."""
    return minimum(maximum(part, least), largest)


def has_sign(part: Part) -> Scalar:
    """Whether the sign bit of a float is set; that of NaN counts as clear.

    >>> has_sign(X).function
    'less'
    """
    return less(where(equal(part, 0), reciprocal(part), part), 0)


def polynomial(x: Part, coefficients: Sequence[float]) -> Scalar:
    """The value at x, from the coefficient of the highest power to that of 1, by Horner's rule.

    >>> polynomial(X, (2.0, 1.0)) == add(multiply(2.0, X), 1.0)
    True
    """
    return reduce(lambda value, coefficient: add(multiply(value, x), coefficient), coefficients[1:], scalar(coefficients[0]))
