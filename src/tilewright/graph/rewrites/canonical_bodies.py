"""Canonical bodies: one spelling for all bodies of equal meaning, so that equal formulas are equal chains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import Apply, Literal, Scalar, apply
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Graph, Operator

MIRRORED = {"greater": "less", "greater_equal": "less_equal"}
ROUNDINGS = frozenset(("floor", "ceil", "round", "trunc", "mod", "fmod", "floor_divide", "sign"))
"""Functions that jump: a rounding before them may change their value by 1."""


@dataclass(frozen=True, slots=True)
class CanonicalBodies:
    """In float32 operators: literals are rounded to what is computed with, `a > b` is `b < a`, a literal is the second factor,
    and a division by a literal is a multiplication by its reciprocal, which differs by one rounding.

    What is rounded or compared keeps its divisions: their quotients may be exact. So do single numbers (scales of quantised
    tensors), for which nothing is gained.
    """

    name: str = "canonical-bodies"

    def run(self, graph: Graph) -> Graph:
        """The graph with all bodies spelled alike."""
        return with_operators(graph, map(_spelled, graph.operators))


def _spelled(operator: Operator) -> Operator:
    if operator.accumulator != "float32":
        return operator
    return replace(operator, body=_canonical(operator.body, exact=not operator.axes))


def _canonical(scalar: Scalar, exact: bool = False) -> Scalar:
    """`exact` expressions keep their divisions."""
    if isinstance(scalar, Literal):
        with np.errstate(over="ignore"):
            return Literal(float(np.float32(scalar.value)))
    if not isinstance(scalar, Apply):
        return scalar
    exact = exact or scalar.function in ROUNDINGS or FUNCTIONS[scalar.function].is_condition
    operands = tuple(_canonical(operand, exact) for operand in scalar.operands)
    match scalar.function, scalar.operands:
        case ("greater" | "greater_equal") as function, _:
            return Apply(MIRRORED[function], operands[::-1])
        case "multiply", (Literal(), other) if not isinstance(other, Literal):
            return apply("multiply", operands[1], operands[0])
        case "divide", (_, Literal(value)) if not exact and 1e-30 < abs(value) < 1e30:
            return apply("multiply", operands[0], Literal(float(np.float32(1 / value))))
    return Apply(scalar.function, operands)
