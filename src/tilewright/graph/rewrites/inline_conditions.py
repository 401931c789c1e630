"""Moves comparisons and integers into the operators that use them, so that no tensor of either is ever stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.graph.rewrites.compose import inlined
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph, Operator


@dataclass(frozen=True, slots=True)
class InlineConditions:
    """A map that writes truth values or integers, or that reads nothing (positions), is computed again inside each of its
    readers. It stays an operator where it is an output.

    A condition is cheap and a stored one would need an element type that kernels do not write.
    """

    name: str = "inline-conditions"

    def run(self, graph: Graph) -> Graph:
        """The graph in which the readers of conditions compute these themselves."""
        conditions: dict[str, Operator] = {}
        operators = []
        for operator in graph.operators:
            whole = operator if operator.is_contraction() else inlined(operator, conditions)
            if _is_condition(whole, graph):
                conditions[whole.write.tensor] = whole
            operators.append(whole)
        read = {access.tensor for operator in operators for access in operator.reads} | set(graph.outputs)
        return with_operators(graph, [o for o in operators if o.write.tensor not in conditions or o.write.tensor in read])


def _is_condition(operator: Operator, graph: Graph) -> bool:
    simple = all(access.guard is None and not access.lookups for access in operator.reads)
    is_float = np.issubdtype(graph.tensor(operator.write.tensor).dtype, np.floating)
    return operator.is_map() and simple and not (is_float and operator.reads)
