"""Canonical bodies: one spelling for all bodies of equal meaning, so that equal formulas are equal chains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import Apply, Literal, Scalar, apply
from tilewright.graph.types import Graph, Operator

MIRRORED = {"greater": "less", "greater_equal": "less_equal"}


@dataclass(frozen=True, slots=True)
class CanonicalBodies(Rewrite):
    """In float32 operators: literals are rounded to what is computed with, `a > b` is `b < a`, a literal is the second factor."""

    def run(self, graph: Graph) -> Graph:
        """The graph with all bodies spelled alike."""
        return with_operators(graph, map(_spelled, graph.operators))


def _spelled(operator: Operator) -> Operator:
    if operator.accumulator != "float32":
        return operator
    return replace(operator, body=_canonical(operator.body))


def _canonical(scalar: Scalar) -> Scalar:
    if isinstance(scalar, Literal):
        with np.errstate(over="ignore"):
            return Literal(float(np.float32(scalar.value)))
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_canonical(operand) for operand in scalar.operands)
    match scalar.function, scalar.operands:
        case ("greater" | "greater_equal") as function, _:
            return Apply(MIRRORED[function], operands[::-1])
        case "multiply", (Literal(), other) if not isinstance(other, Literal):
            return apply("multiply", operands[1], operands[0])
    return Apply(scalar.function, operands)
