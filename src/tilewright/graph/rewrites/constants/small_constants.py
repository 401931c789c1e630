"""Small constants: what follows from them alone is computed, and numbers become literals.

Their values may decide what code is generated: scales, roots of two, epsilons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from tilewright.graph.constant_values import FEW
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators, evaluated
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.scalar import Literal, Load, Scalar, rewrite
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


@dataclass(frozen=True, slots=True)
class Literals(Rewrite):
    """A number that a map reads everywhere the same is part of its formula, whoever wrote it as an array.

    Only in maps that compute in floating point, which is what literals are.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps read no constant of one element."""
        numbers = {name: Literal(_value(constant)) for name, constant in graph.constants if constant.array.size == 1}
        return with_operators(graph, [_with_literals(operator, numbers) for operator in graph.operators]) if numbers else graph


def _value(constant: Constant) -> float:
    return float(constant.array.reshape(())[()])


def _with_literals(operator: Operator, numbers: Mapping[str, Literal]) -> Operator:
    known = {Load(number): numbers[access.tensor] for number, access in enumerate(operator.reads) if access.tensor in numbers}
    if not known or not operator.is_map() or not np.issubdtype(np.dtype(operator.accumulator), np.floating):
        return operator
    guarded = {Load(number) for number, access in enumerate(operator.reads) if access.guard is not None}
    values: Mapping[Scalar, Literal] = {load: value for load, value in known.items() if load not in guarded}
    return with_used_reads(replace(operator, body=rewrite(operator.body, values.get)))
