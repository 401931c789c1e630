"""Computes once what is written twice: operators that do the same to the same tensors."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.types import Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class CommonSubexpressions(Rewrite):
    """The first of equal operators stays; who reads another one's result reads the first one's. Outputs keep their names."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which no two operators are equal, but for outputs."""
        types = {tensor.name: tensor for tensor in graph.tensors}
        same: dict[str, str] = {}
        known: dict[Hashable, str] = {}
        operators = []
        for operator in graph.operators:
            read = _reading(operator, same)
            result = read.write.tensor
            first = known.setdefault(_key(read, types[result]), result)
            if first == result or result in graph.outputs:
                operators.append(read)
            else:
                same[result] = first
        return with_operators(graph, operators)


def _reading(operator: Operator, same: dict[str, str]) -> Operator:
    """The operator with the first of equal tensors in the place of each."""
    if all(same.get(access.tensor, access.tensor) == access.tensor for access in operator.reads):
        return operator
    reads = tuple(replace(access, tensor=same.get(access.tensor, access.tensor)) for access in operator.reads)
    return with_used_reads(replace(operator, reads=reads)) if operator.is_map() else replace(operator, reads=reads)


def _key(operator: Operator, result: Tensor) -> Hashable:
    """What operators that make the same have in common: builders name axes alike."""
    nameless = replace(operator, name="", kind="", write=replace(operator.write, tensor=""))
    return nameless, result.shape, result.dtype
