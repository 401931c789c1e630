"""Computes what follows from small constants alone: their values may decide what code is generated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod

from tilewright.graph.constant_values import FEW
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators, evaluated
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Constant, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class FoldConstants(Rewrite):
    """Operators of constants alone become constants, as long as all that they read and write is small.

    What reads nothing stays a formula: a reader knows more of positions than of an array of them.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with results in the place of operators on small constants."""
        small = {tensor.name for tensor in graph.tensors if _elements(tensor) <= FEW}
        known = {name for name, _ in graph.constants} & small
        folded: list[Operator] = []
        for operator in constant_operators(graph):
            read = {access.tensor for access in operator.reads}
            if operator.write.tensor in small and read and read <= known:
                known.add(operator.write.tensor)
                folded.append(operator)
        if not folded:
            return graph
        results = [operator.write.tensor for operator in folded]
        values = tuple((name, Constant(array)) for name, array in evaluated(graph, results).items())
        kept = [operator for operator in graph.operators if operator.write.tensor not in results]
        return with_operators(replace(graph, constants=(*graph.constants, *values)), kept)


def _elements(tensor: Tensor) -> float:
    return prod(extent if isinstance(extent, int) else inf for extent in tensor.shape)
