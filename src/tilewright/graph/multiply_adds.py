"""Products that sums take in: a sum with a product is a multiply-add, one rounding where the dialect has it.

`a * b + c`, `a * b - c`, `c - a * b`: of a sum of two products the left one takes the right one in. A difference of two products
rounds both, as NumPy does: `x * x - y * y` is 0 for equal numbers, which one product, exact, less the other, rounded, is not.
Sums over points take products in so, too. A product that is stored or has a name is rounded alone. The rule sees expressions
only, so that whole vectors, partial ones and epilogues round alike, and every compiler gives the same bits.
"""

from __future__ import annotations

from collections.abc import Container

from tilewright.graph.expressions.scalar import Apply, Literal, Point, Scalar, apply
from tilewright.graph.types import StateVariable


def multiply_add(scalar: Scalar, known: Container[Scalar] = ()) -> tuple[Scalar, Scalar, Scalar] | None:
    """(a, b, c) of an expression that is computed as a * b + c in one step; None of all others. What is `known` has a name.

    >>> from tilewright.graph.expressions.scalar import Load
    >>> product = apply("multiply", Load(0), Literal(2.0))
    >>> multiply_add(apply("subtract", Load(1), product))
    (Load(read=0), Literal(value=-2.0), Load(read=1))
    >>> multiply_add(apply("subtract", product, apply("square", Load(1)))) is None
    True
    """
    if not isinstance(scalar, Apply) or scalar.function not in ("add", "subtract"):
        return None
    first, second = scalar.operands
    left, right, is_sum = factors(first, known), factors(second, known), scalar.function == "add"
    if left is not None and (is_sum or right is None):
        return *left, second if is_sum else _negative(second)
    if right is not None and left is None:
        return *(right if is_sum else _negative_product(*right)), first
    return None


def factors(scalar: Scalar, known: Container[Scalar] = ()) -> tuple[Scalar, Scalar] | None:
    """The two factors of a product without a name; None of all other expressions.

    >>> from tilewright.graph.expressions.scalar import Load
    >>> factors(apply("square", Load(0)))
    (Load(read=0), Load(read=0))
    """
    if not isinstance(scalar, Apply) or scalar in known:
        return None
    match scalar.function, scalar.operands:
        case "multiply", (left, right):
            return left, right
        case "square", (factor,):
            return factor, factor
    return None


def summed_product(state: StateVariable, body: Scalar, known: Container[Scalar] = ()) -> tuple[Scalar, Scalar] | None:
    """The factors of what a sum over points takes in, if that is a product: each step is then a multiply-add.

    `body` is the value of a point.
    """
    if state.combine != "add":
        return None
    return factors(body if state.contribution == Point() else state.contribution, known)


def _negative_product(left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """The factors of minus a product; constants lose nothing by their sign."""
    return (left, _negative(right)) if isinstance(right, Literal) else (_negative(left), right)


def _negative(scalar: Scalar) -> Scalar:
    return Literal(-scalar.value) if isinstance(scalar, Literal) else apply("negative", scalar)


def rounded_quotient(scalar: Apply, known: Container[Scalar]) -> tuple[Scalar, ...] | None:
    """What is divided by what, where a quotient is rounded."""
    match scalar:
        case Apply("round", (Apply("divide", operands) as quotient,)) if quotient not in known:
            return operands
    return None
