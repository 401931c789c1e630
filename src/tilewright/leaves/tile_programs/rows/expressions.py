"""Expressions of row-wise reductions: divisions done once a row, parts that a row has once, exponentials of what falls."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.graph.expressions.scalar import Apply, Point, Scalar, State, apply, is_of_row, rewrite, subexpressions
from tilewright.graph.scaled_points import factor_and_rest
from tilewright.records import record


@record
class RowwiseReduction:
    """Which states are the largest of all points, and which may lose a NaN that a later one keeps."""

    largest: frozenset[str]
    loses_nan: frozenset[str]


def inverses(finish: Scalar) -> list[tuple[str, Scalar]]:
    """Reciprocals of the states that a finishing value divides by.

    >>> inverses(apply("divide", Point(), State("total")))[0][0]
    'total_inverse'
    """
    divisors = {divisor.name for node in subexpressions(finish) if (divisor := _state_divisor(node)) is not None}
    return [(f"{name}_inverse", apply("reciprocal", State(name))) for name in sorted(divisors)]


def hoist_division(finish: Scalar) -> Scalar:
    """Multiply by the reciprocal, computed once per row, where a point is divided by a state."""

    def by_inverse(node: Scalar) -> Scalar | None:
        divisor = _state_divisor(node)
        if divisor is None or not isinstance(node, Apply):
            return None
        return apply("multiply", hoist_division(node.operands[0]), State(f"{divisor.name}_inverse"))

    return rewrite(finish, by_inverse)


def _state_divisor(node: Scalar) -> State | None:
    if isinstance(node, Apply) and node.function == "divide" and isinstance(node.operands[1], State):
        return node.operands[1]
    return None


def row_values(scalar: Scalar) -> tuple[Apply, ...]:
    """The largest parts of an expression that are made of states: the same for all points of a row.

    >>> from tilewright.graph.expressions.scalar import Literal
    >>> mean = apply("divide", State("total"), Literal(8.0))
    >>> row_values(apply("square", apply("subtract", Point(), mean))) == (mean,)
    True
    """
    if not isinstance(scalar, Apply):
        return ()
    if is_of_row(scalar):
        return (scalar,)
    return tuple(dict.fromkeys(part for operand in scalar.operands for part in row_values(operand)))


def fall(power: Apply, largest: Collection[str]) -> tuple[float, Scalar] | None:
    """(c, d) of an exponential exp(c * d) of the difference of a point and one of the largest of all points, which is at most 0.

    None of other expressions, those of other functions of such a difference among them.

    >>> fall(apply("exp", apply("subtract", Point(), State("top"))), ["top"])[0]
    1.0
    """
    if power.function != "exp":
        return None
    factor, difference = factor_and_rest(power.operands[0])
    return (factor, difference) if difference in [apply("subtract", Point(), State(name)) for name in largest] else None
