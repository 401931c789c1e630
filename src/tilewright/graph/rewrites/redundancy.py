"""Operators that are computed twice, or for nobody.

Operators, tensors and constants on which no output depends go. What is written twice, operators that do the same to the same
tensors, is computed once.

Canonical bodies: one spelling for all bodies of equal meaning, so that equal formulas are equal chains.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from operator import is_

import numpy as np

from tilewright.graph.expressions.scalar import Apply, Literal, Scalar, apply
from tilewright.graph.needed_operators import needed_operators
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.types import Graph, Operator, Tensor


class DeadCode(Rewrite):
    """Walks back from the outputs; inputs stay, used or not."""

    def run(self, graph: Graph) -> Graph:
        """The graph without what is never read."""
        return with_operators(graph, needed_operators(graph.operators, graph.outputs))


class CommonSubexpressions(Rewrite):
    """The first of equal operators stays; who reads another one's result reads the first one's. Outputs keep their names."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which no two operators are equal, but for outputs."""
        same: dict[str, str] = {}
        known: dict[Hashable, str] = {}
        operators = []
        for operator in graph.operators:
            read = _reading(operator, same)
            result = read.write.tensor
            first = known.setdefault(_key(read, graph.tensor(result)), result)
            if first == result or result in graph.outputs:
                operators.append(read)
            else:
                same[result] = first
        return with_operators(graph, operators)


def _reading(operator: Operator, same: dict[str, str]) -> Operator:
    """The operator with the first of equal tensors in the place of each."""
    read = operator.with_reads(lambda access: access.of(same.get(access.tensor, access.tensor)))
    return with_used_reads(read) if read is not operator and operator.is_map() else read


def _key(operator: Operator, result: Tensor) -> Hashable:
    """What operators that make the same have in common: builders name axes alike."""
    write, computed = operator.write, (operator.body, operator.reduction, operator.accumulator)
    return operator.axes, operator.reads, write.indices, write.guard, write.lookups, computed, result.shape, result.dtype


MIRRORED = {"greater": "less", "greater_equal": "less_equal"}


class CanonicalBodies(Rewrite):
    """In float32 operators: literals are rounded to what is computed with, `a > b` is `b < a`, a literal is the second factor."""

    def run(self, graph: Graph) -> Graph:
        """The graph with all bodies spelled alike."""
        return with_operators(graph, map(_spelled, graph.operators))


def _spelled(operator: Operator) -> Operator:
    if operator.accumulator != "float32":
        return operator
    body = _canonical(operator.body)
    return operator if body is operator.body else replace(operator, body=body)


def _canonical(scalar: Scalar) -> Scalar:
    if isinstance(scalar, Literal):
        with np.errstate(over="ignore"):
            rounded = float(np.float32(scalar.value))
        return scalar if rounded == scalar.value and isinstance(scalar.value, float) else Literal(rounded)
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple([_canonical(operand) for operand in scalar.operands])
    match scalar.function, scalar.operands:
        case ("greater" | "greater_equal") as function, _:
            return Apply(MIRRORED[function], operands[::-1])
        case "multiply", (Literal(), other) if not isinstance(other, Literal):
            return apply("multiply", operands[1], operands[0])
    return scalar if all(map(is_, operands, scalar.operands)) else Apply(scalar.function, operands)
