"""Knows softmax and the norms again in reductions that say the same in other words: compared as polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.graph.builders.elementwise import point_count
from tilewright.graph.builders.norms import ROW_SOFTMAX, layer_norm_reduction, rms_norm_reduction
from tilewright.graph.expressions.polynomials import ONE, Monomial, Polynomial, polynomial, quotient
from tilewright.graph.expressions.scalar import (
    Apply,
    Literal,
    Load,
    Parameter,
    Point,
    Scalar,
    State,
    apply,
    is_of_row,
    rewrite,
    subexpressions,
)
from tilewright.graph.types import Operator, Reduction, StateVariable

ROOT = Parameter("root")
"""In the place of the root of a mean square, while what it divides is compared."""


SMALL = 2.0**-100
"""Times its reciprocal even the smallest float32 has a reciprocal, and what then overflows is a quotient that does."""

KNOWN = ("softmax", "layer_norm", "rms_norm")
"""Kinds of operators that are matched."""


def is_known(operator: Operator) -> bool:
    """Whether `matched_reduction` found a name for it."""
    return operator.kind in KNOWN


def matched_reduction(operator: Operator) -> Operator:
    """A row-wise reduction as the softmax or the norm that it is. Others divide by values of the row once a row."""
    assert operator.reduction is not None
    if _is_softmax(operator.reduction):
        return replace(operator, kind="softmax", reduction=ROW_SOFTMAX)
    known = next(_norms(operator, operator.reduction), None)
    if known is not None:
        return known
    finish = rewrite(operator.reduction.finish, _by_reciprocal)
    return replace(operator, reduction=replace(operator.reduction, finish=finish))


def _by_reciprocal(node: Scalar) -> Scalar | None:
    """A quotient by a value of the row as a product with its reciprocal.

    The reciprocal of a small divisor overflows where the quotient need not: both are lifted then. Roots are not that small.
    """
    match node:
        case Apply("divide", (dividend, divisor)) if is_of_row(divisor) and not is_of_row(node):
            value = rewrite(dividend, _by_reciprocal)
            if not (isinstance(divisor, Apply) and divisor.function == "sqrt"):
                lift = apply("where", apply("less", apply("abs", divisor), Literal(SMALL)), Literal(1 / SMALL), Literal(1.0))
                value, divisor = apply("multiply", value, lift), apply("multiply", divisor, lift)
            return apply("multiply", value, apply("reciprocal", divisor))
    return None


# Softmax


def _is_softmax(reduction: Reduction) -> bool:
    """Whether it is exp(point - max) over its sum, with or without the maximum."""
    *before, total = reduction.states
    is_shifted = len(before) == 1 and (before[0].combine, before[0].contribution) == ("maximum", Point())
    shares = _power(total.contribution, before[0] if is_shifted else None)
    if (before and not is_shifted) or total.combine != "add" or total.identity != 0 or shares is None:
        return False
    expected = apply("divide", total.contribution, State(total.name))
    found = [node for node in subexpressions(reduction.finish) if _power(node, before[0] if is_shifted else None) is not None]
    same = rewrite(reduction.finish, lambda node: total.contribution if node in found else None)
    return _equal(same, expected)


def _power(scalar: Scalar, largest: StateVariable | None) -> Scalar | None:
    """The expression if it is exp(point), or exp(point - largest)."""
    match scalar:
        case Apply("exp", (operand,)):
            expected = Point() if largest is None else apply("subtract", Point(), State(largest.name))
            return scalar if _equal(operand, expected) else None
    return None


# Norms


def _norms(operator: Operator, reduction: Reduction) -> Iterator[Operator]:
    """The operator as a norm, with its weight and its bias in this order behind the points."""
    count = point_count([axis.extent for axis in operator.reduction_axes()])
    for divisor in dict.fromkeys(subexpressions(reduction.finish)):
        if not isinstance(divisor, Apply) or divisor.function != "sqrt":
            continue
        eps = _eps(reduction, divisor.operands[0], count)
        finish = polynomial(rewrite(reduction.finish, lambda node, root=divisor: ROOT if node == root else None))  # type: ignore[misc]
        weight, bias = _weight_and_bias(finish or {})
        if eps is None or finish is None:
            continue
        known = _norm(reduction, count, eps, weight is not None, bias is not None)
        loads = [load for load in (weight, bias) if load is not None]
        if known is not None and _means(finish, known, reduction, loads):
            reads = (operator.reads[0], *(operator.reads[load.read] for load in loads))
            kind = "layer_norm" if len(known.states) > 1 else "rms_norm"
            yield replace(operator, kind=kind, reads=reads, reduction=known)


def _norm(reduction: Reduction, count: Scalar, eps: float, has_weight: bool, has_bias: bool) -> Reduction | None:
    """The norm with as many states."""
    if len(reduction.states) == 2:
        return layer_norm_reduction(count, eps, has_weight=has_weight, has_bias=has_bias)
    return None if has_bias else rms_norm_reduction(count, eps, has_weight=has_weight)


def _eps(reduction: Reduction, variance: Scalar, count: Scalar) -> float | None:
    """What is added to the mean square of the points, or of their deviations, to make this expression; None if it is another."""
    terms = polynomial(variance)
    if terms is None or not all(state.combine == "add" and state.identity == 0 for state in reduction.states):
        return None
    eps = terms.get(ONE, 0.0)
    rest = {monomial: coefficient for monomial, coefficient in terms.items() if monomial != ONE}
    found = any(_same(rest, polynomial(square)) for square in _mean_squares(reduction, count))
    return float(str(np.float32(eps))) if found and eps >= 0 else None


def _mean_squares(reduction: Reduction, count: Scalar) -> Iterator[Scalar]:
    """The mean square of the points, or of their deviations, in terms of the states of a reduction."""
    squares = apply("square", Point())
    sums = {State(state.name): state.contribution for state in reduction.states}
    if len(sums) == 1:
        yield from (apply("divide", state, count) for state, contribution in sums.items() if _equal(contribution, squares))
        return
    for total in (state for state, contribution in sums.items() if contribution == Point()):
        mean = apply("divide", total, count)
        deviation = apply("square", apply("subtract", Point(), mean))
        for state, summed in sums.items():
            if _equal(summed, deviation):
                yield apply("divide", state, count)
            if _equal(summed, squares):
                yield apply("subtract", apply("divide", state, count), apply("square", mean))


def _weight_and_bias(finish: Polynomial) -> tuple[Load | None, Load | None]:
    """The load that multiplies the points, and the one that is added."""
    by_point = [_loads(monomial) for monomial in finish if (Point(), 1) in monomial]
    alone = [_loads(monomial) for monomial in finish if monomial <= {(load, 1) for load in _loads(monomial)}]
    weight = by_point[0][0] if len(by_point) == 1 and len(by_point[0]) == 1 else None
    bias = alone[0][0] if len(alone) == 1 and len(alone[0]) == 1 else None
    return weight, bias


def _loads(monomial: Monomial) -> list[Load]:
    return [atom for atom, _ in monomial if isinstance(atom, Load)]


def _means(finish: Polynomial, known: Reduction, reduction: Reduction, loads: list[Load]) -> bool:
    """Whether the finish of a norm is this polynomial, in which the root is an unknown and states have other names."""
    totals = [State(state.name) for state in reduction.states if state.contribution == Point()]
    names: dict[Scalar, Scalar] = {State("total"): total for total in totals[:1]}
    names |= {Load(number): load for number, load in enumerate(loads, 1)}

    def renamed(node: Scalar) -> Scalar | None:
        return ROOT if isinstance(node, Apply) and node.function == "sqrt" else names.get(node)

    return _same(finish, polynomial(rewrite(known.finish, renamed)))


def _equal(this: Scalar, that: Scalar) -> bool:
    return _same(polynomial(this) or {}, polynomial(that))


def _same(this: Mapping[Monomial, float], that: Polynomial | None) -> bool:
    factor = quotient(this, that) if that is not None else None
    return factor is not None and abs(factor - 1) < 1e-6
