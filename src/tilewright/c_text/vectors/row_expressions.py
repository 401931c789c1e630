"""Properties of a row-wise reduction's expressions that decide its C text: divisions done once a row, and NaN that survives
without care."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.graph.expressions.scalar import Apply, Point, Scalar, State, apply, is_of_row, rewrite, subexpressions
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.scaled_points import factor_and_rest
from tilewright.graph.types import Reduction, StateVariable
from tilewright.kernels.functions.vector_functions import VECTOR_FUNCTIONS


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


def long_functions(scalar: Scalar, known: Collection[Scalar] = ()) -> tuple[Apply, ...]:
    """The distinct functions of many steps in an expression, the innermost first, but for those inside of what is known.

    >>> long_functions(apply("exp", apply("square", Point()))) == (apply("exp", apply("square", Point())),)
    True
    """
    if scalar in known or not isinstance(scalar, Apply):
        return ()
    inside = [function for operand in scalar.operands for function in long_functions(operand, known)]
    return tuple(dict.fromkeys([*inside, *([scalar] if scalar.function in VECTOR_FUNCTIONS else [])]))


def fall(power: Apply, reduction: Reduction | None) -> tuple[float, Scalar] | None:
    """(c, d) of an exponential exp(c * d) of the difference of a point and the largest of all points, which is at most 0.

    None of other expressions, those of other functions of such a difference among them.

    >>> from tilewright.graph.builders.norms import ROW_SOFTMAX
    >>> [fall(power, ROW_SOFTMAX)[0] for state in ROW_SOFTMAX.states for power in long_functions(state.contribution)]
    [1.0]
    """
    if power.function != "exp":
        return None
    largest = [
        state for state in (reduction.states if reduction else ()) if state.combine == "maximum" and state.contribution == Point()
    ]
    factor, difference = factor_and_rest(power.operands[0])
    return (factor, difference) if difference in [apply("subtract", Point(), State(state.name)) for state in largest] else None


def may_lose_nan(reduction: Reduction, state: StateVariable) -> bool:
    """Whether results are NaN where a contribution to this state is, whatever the state makes of it.

    So it is if a later state sums or multiplies something that is NaN where the contribution is, and the result is NaN where
    that state is: the exponentials of a softmax tell what its maximum has lost. A sum of points does not tell that a root of
    one of them is NaN.

    >>> from tilewright.graph.builders.norms import ROW_SOFTMAX
    >>> [may_lose_nan(ROW_SOFTMAX, state) for state in ROW_SOFTMAX.states]
    [True, False]
    """
    later = reduction.states[reduction.states.index(state) + 1 :]
    return any(
        part.combine in ("add", "multiply")
        and _strict_in(part.contribution, state.contribution)
        and _strict_in(reduction.finish, State(part.name))
        for part in later
    )


def _strict_in(scalar: Scalar, part: Scalar) -> bool:
    """Whether an expression is NaN wherever this part of it is."""
    if scalar == part:
        return True
    if not isinstance(scalar, Apply) or not FUNCTIONS[scalar.function].is_strict:
        return False
    return any(_strict_in(operand, part) for operand in scalar.operands)
