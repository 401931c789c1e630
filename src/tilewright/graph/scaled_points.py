"""Reductions of scaled points: what a reduction that sees differences of points makes of `factor * x`, said of `x`.

A maximum of `factor * x` is `factor` times that of `x`, for a positive factor, and the difference of two points, or of a point
and such an extreme, is `factor` times the difference. A softmax sees nothing else, so that its scale costs one product where the
exponential takes one anyway: softmax(factor * x) has the shares exp(factor * (x - max x)).
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.expressions.scalar import Apply, Literal, Point, Previous, Scalar, State, apply, rewrite, subexpressions
from tilewright.graph.types import Reduction


def scaled_reduction(reduction: Reduction, factor: float) -> Reduction | None:
    """The reduction that makes of points what `reduction` makes of `factor` times them; None if it is not made of differences.

    The factor is positive. Identities stay: an extreme of nothing is as far from every point as before.

    >>> from tilewright.graph.builders.norms import ROW_SOFTMAX
    >>> half = scaled_reduction(ROW_SOFTMAX, 0.5)
    >>> point_factor(half), scaled_reduction(half, 2.0) == scaled_reduction(ROW_SOFTMAX, 1.0)
    (0.5, True)
    """
    extremes = [s.name for s in reduction.states if s.contribution == Point() and s.combine in ("maximum", "minimum")]
    leaves: set[Scalar] = {Point(), *(State(name) for name in extremes), *(Previous(name) for name in extremes)}

    def by_factor(node: Scalar) -> Scalar | None:
        node_factor, difference = factor_and_rest(node)
        if isinstance(difference, Apply) and difference.function == "subtract" and leaves.issuperset(difference.operands):
            return apply("multiply", difference, Literal(node_factor * factor))
        return node if node in leaves else None

    states = tuple(
        state if state.name in extremes else replace(state, contribution=rewrite(state.contribution, by_factor))
        for state in reduction.states
    )
    rescales = tuple(replace(rescale, factor=rewrite(rescale.factor, by_factor)) for rescale in reduction.rescales)
    found = Reduction(states, rewrite(reduction.finish, by_factor), rescales)
    others = (state.contribution for state in states if state.name not in extremes)
    rest = [*others, found.finish, *(rescale.factor for rescale in rescales)]
    return None if any(_sees_more(scalar, leaves) for scalar in rest) else found


def point_factor(reduction: Reduction) -> float:
    """What all differences of points are multiplied by; 1 where they are taken as they are."""
    contributions = [node for state in reduction.states for node in subexpressions(state.contribution)]
    factors = [factor for factor, rest in map(factor_and_rest, contributions) if factor != 1 and _is_difference(rest)]
    return factors[0] if factors else 1.0


def factor_and_rest(scalar: Scalar) -> tuple[float, Scalar]:
    """(c, x) of c * x, x * c or x / c with a positive constant c; (1, the expression) of all others.

    >>> from tilewright.graph.expressions.scalar import Load
    >>> factor_and_rest(apply("divide", Load(0), Literal(8.0)))
    (0.125, Load(read=0))
    """
    if isinstance(scalar, Apply) and scalar.function in ("multiply", "divide"):
        left, right = scalar.operands
        if isinstance(right, Literal) and 0 < right.value < float("inf"):
            return (right.value if scalar.function == "multiply" else 1 / right.value), left
        if scalar.function == "multiply" and isinstance(left, Literal) and 0 < left.value < float("inf"):
            return left.value, right
    return 1.0, scalar


def _is_difference(scalar: Scalar) -> bool:
    return isinstance(scalar, Apply) and scalar.function == "subtract" and Point() in scalar.operands


def _sees_more(scalar: Scalar, leaves: set[Scalar]) -> bool:
    """Whether an expression has one of these leaves outside of a difference of two."""
    if isinstance(scalar, Apply) and scalar.function == "subtract" and leaves.issuperset(scalar.operands):
        return False
    return scalar in leaves or (isinstance(scalar, Apply) and any(_sees_more(operand, leaves) for operand in scalar.operands))
