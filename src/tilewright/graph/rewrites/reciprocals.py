"""Divisions by constants as products with their reciprocals, where last bits are free: a product takes a tenth of the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tilewright.graph.licences import Licence
from tilewright.graph.rewrites.mark_exact import exact_parts_of
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import Apply, Literal, Scalar, apply
from tilewright.graph.types import Graph, Operator, Tensor

LEAST, MOST = 1e-30, 1e30
"""Divisors of which float32 holds the reciprocal as a normal number: products with it leave the range where quotients do."""


@dataclass(frozen=True, slots=True)
class Reciprocals:
    """Maps in float32. Single numbers (scales of quantised tensors) keep their divisions, since nothing is gained for them."""

    licence: ClassVar[Licence] = Licence.ROUNDING
    name: str = "reciprocals"

    def run(self, graph: Graph) -> Graph:
        """The graph with products in the place of such divisions."""
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        return with_operators(graph, [_multiplying(operator, tensors) for operator in graph.operators])


def _multiplying(operator: Operator, tensors: dict[str, Tensor]) -> Operator:
    if operator.accumulator != "float32" or not operator.axes or "divide" not in operator.functions():
        return operator
    return replace(operator, body=_by_reciprocal(operator.body, exact_parts_of(operator, tensors)))


def _by_reciprocal(scalar: Scalar, exact: frozenset[Scalar]) -> Scalar:
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_by_reciprocal(operand, exact) for operand in scalar.operands)
    match scalar.function, operands:
        case "divide", (dividend, Literal(value)) if LEAST < abs(value) < MOST and scalar not in exact:
            return apply("multiply", dividend, Literal(float(np.float32(1 / value))))
    return Apply(scalar.function, operands)
