"""Finds the functions that have a name in what exporters and users write out: gelu in x * 0.5 * (1 + erf(x / sqrt(2)))."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from tilewright.graph.expressions.polynomials import ONE, Monomial, polynomial, quotient, unknowns
from tilewright.graph.expressions.scalar import Apply, Literal, Scalar, apply, subexpressions
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.exactness.mark_exact import Types, exact_parts_of
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph, Operator
from tilewright.records import record
from tilewright.tile.functions.activations import CUBIC, SQRT_2_OVER_PI


@record
class Composition:
    """function(z) = value(z, inner(argument(z))): polynomials by powers of z, and of z and the inner function."""

    function: str
    inner: str
    argument: Mapping[int, float]
    value: Mapping[tuple[int, int], float]


_LOGIT = 2 * SQRT_2_OVER_PI
COMPOSITIONS = (
    Composition("tanh", "sigmoid", {1: 2}, {(0, 1): 2, (0, 0): -1}),
    Composition("silu", "sigmoid", {1: 1}, {(1, 1): 1}),
    Composition("gelu", "erf", {1: math.sqrt(0.5)}, {(1, 0): 0.5, (1, 1): 0.5}),
    Composition("gelu_tanh", "tanh", {1: SQRT_2_OVER_PI, 3: SQRT_2_OVER_PI * CUBIC}, {(1, 0): 0.5, (1, 1): 0.5}),
    Composition("gelu_tanh", "sigmoid", {1: _LOGIT, 3: _LOGIT * CUBIC}, {(1, 1): 1}),
)
NAMED = frozenset(("sigmoid", *(composition.function for composition in COMPOSITIONS)))


class RecogniseFunctions(Rewrite):
    """Sums and products that make up a function become that function, in whatever order and brackets they were written.

    Results are those of exact arithmetic: named functions are at least as accurate as what they stand for.
    """

    licence = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph with named functions in the place of their compositions."""
        return with_operators(graph, [_with_names(operator, graph.by_name) for operator in graph.operators])


def _with_names(operator: Operator, tensors: Types) -> Operator:
    """The operator with named functions in its body; the constants of a formula may be those of float32, so not in float64."""
    if operator.accumulator == "float64" or not any(map(_may_belong, subexpressions(operator.body))):
        return operator
    return replace(operator, body=recognised(operator.body, exact_parts_of(operator, tensors)))


def recognised(scalar: Scalar, exact: Collection[Scalar] = ()) -> Scalar:
    """An expression with named functions in the place of their compositions, but for parts that must be exact.

    >>> from tilewright.graph.expressions.scalar import Load
    >>> recognised(apply("divide", Load(0), apply("add", Literal(1.0), apply("exp", apply("negative", Load(0))))))
    Apply(function='silu', operands=(Load(read=0),))
    """
    if not isinstance(scalar, Apply) or not any(_may_belong(node) for node in subexpressions(scalar)):
        return scalar
    found = _named(scalar) if scalar not in exact else None
    if found is not None:
        return recognised(found, exact)
    whole = Apply(scalar.function, tuple(recognised(operand, exact) for operand in scalar.operands))
    return whole if whole == scalar else recognised(whole, exact)


def _may_belong(node: Scalar) -> bool:
    return isinstance(node, Apply) and node.function in ("exp", *NAMED, *(composition.inner for composition in COMPOSITIONS))


def _named(scalar: Apply) -> Scalar | None:
    """A whole expression as a named function, perhaps times a constant; None if it is one already."""
    terms = polynomial(scalar)
    for atom in unknowns(terms or {}):
        if isinstance(atom, Apply) and terms is not None:
            factor = quotient(terms, {_monomial(atom, 1): 1.0}) if atom.function in NAMED else None
            composed = (_composed(scalar, atom, known) for known in COMPOSITIONS if known.inner == atom.function)
            found = next((known for known in composed if known is not None), None) or _times(factor, atom)
            if found is not None and not _is_named(scalar):
                return found
    return _logistic(scalar)


def _times(factor: float | None, function: Scalar) -> Scalar | None:
    if factor is None:
        return None
    return function if _is_one(factor) else apply("multiply", function, Literal(float(np.float32(factor))))


def _is_named(scalar: Scalar) -> bool:
    """Whether an expression is a function that can be recognised, perhaps times a constant."""
    match scalar:
        case Apply("multiply", (Apply(function), Literal())) | Apply(function):
            return function in NAMED
    return False


def _logistic(scalar: Apply) -> Scalar | None:
    """a / (1 + exp(-z)) as a * sigmoid(z)."""
    match scalar:
        case Apply("divide", (dividend, divisor)):
            pass
        case Apply("reciprocal", (divisor,)):
            dividend = Literal(1.0)
        case _:
            return None
    terms = polynomial(divisor) or {}
    powers = [atom for atom in unknowns(terms) if isinstance(atom, Apply) and atom.function == "exp"]
    if len(powers) != 1 or quotient(terms, {ONE: 1.0, _monomial(powers[0], 1): 1.0}) != 1:
        return None
    sigmoid = apply("sigmoid", _opposite(powers[0].operands[0]))
    return sigmoid if dividend == Literal(1.0) else apply("multiply", dividend, sigmoid)


def _opposite(scalar: Scalar) -> Scalar:
    match scalar:
        case Apply("negative", (operand,)):
            return operand
        case Apply("multiply", (operand, Literal(value))) | Apply("multiply", (Literal(value), operand)):
            return operand if value == -1 else apply("multiply", operand, Literal(-value))
    return apply("negative", scalar)


def _composed(scalar: Apply, atom: Apply, composition: Composition) -> Scalar | None:
    """The expression by this composition with this inner function; z is any part of its argument."""
    (argument,) = atom.operands
    for z in dict.fromkeys(subexpressions(argument)):
        powers = {_monomial(z, power): coefficient for power, coefficient in composition.argument.items()}
        if isinstance(z, Literal) or not _is_one(quotient(polynomial(argument, (z,)) or {}, powers)):
            continue
        value = {_monomial(z, p) | _monomial(atom, q): coefficient for (p, q), coefficient in composition.value.items()}
        terms = polynomial(scalar, (z,))
        found = None if terms is None else _times(quotient(terms, value), apply(composition.function, z))
        if found is not None:
            return found
    return None


def _is_one(factor: float | None) -> bool:
    return factor is not None and math.isclose(factor, 1, rel_tol=2e-6)


def _monomial(atom: Scalar, power: int) -> Monomial:
    return frozenset({(atom, power)}) if power else ONE
