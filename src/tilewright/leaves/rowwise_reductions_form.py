"""Row-wise reductions of float32: what their expressions say of divisions done once a row, exponentials of what falls, and NaN
that survives without care; and their cost."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.arrays import Quantity, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.expressions.scalar import Apply, Point, Scalar, State, apply, is_of_row, rewrite, subexpressions
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.scaled_points import factor_and_rest
from tilewright.graph.types import Reduction, StateVariable
from tilewright.leaves.declaration import CostProblem, Mismatch, Problem, Refusal
from tilewright.records import record

NAME = "row-wise reductions"
LARGEST, LOSES_NAN = "largest", "loses NaN"
"""What a number of a binding says of the state that it counts."""


@record
class RowwiseReduction:
    """Which states are the largest of all points, and which may lose a NaN that a later one keeps."""

    largest: frozenset[str]
    loses_nan: frozenset[str]


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """Any reduction, whose states are told by their numbers."""
    reduction = problem.operator.reduction
    if reduction is None:
        return Refusal(NAME, Mismatch.OPERATION)
    if problem.scalar_type:
        return Refusal(NAME, Mismatch.ELEMENT_TYPE)
    states = tuple(enumerate(reduction.states))
    largest = ((LARGEST, n) for n, state in states if state.combine == "maximum" and state.contribution == Point())
    loses_nan = ((LOSES_NAN, n) for n, state in states if may_lose_nan(reduction, state))
    return (LeafBinding(NAME, numbers=(*largest, *loses_nan)),)


def form_of(binding: LeafBinding, reduction: Reduction) -> RowwiseReduction:
    """The states of a binding."""

    def named(kind: str) -> frozenset[str]:
        return frozenset(reduction.states[int(number)].name for name, number in binding.numbers if name == kind)

    return RowwiseReduction(named(LARGEST), named(LOSES_NAN))


def seconds(_: LeafBinding, problem: CostProblem) -> Quantity:
    """The functions of all points, in a pass for every state and one to finish."""
    operator, reduction = problem.operator, problem.operator.reduction
    assert reduction is not None
    roots = [operator.body, *(state.contribution for state in reduction.states), reduction.finish]
    points = product(problem.sizes[axis.name] for axis in operator.axes)
    return points * problem.seconds_per_element(roots, 1 + len(reduction.states))


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
