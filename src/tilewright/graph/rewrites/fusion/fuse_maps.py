"""Fusion of maps that follow each other point by point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.stored_parts import StoredParts
from tilewright.graph.rewrites.fusion.compose import is_invertible
from tilewright.graph.rewrites.fusion.lossless import inlined_as_read
from tilewright.graph.rewrites.rebuild import read_once, with_operators
from tilewright.graph.scalar import subexpressions
from tilewright.graph.types import Access, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class FuseMaps(Rewrite):
    """A map whose result another map alone reads, once and at every point, is computed inside of that one.

    Both must have the same points: what is broadcast is not computed again for each of its readers' points. Outputs stay, and so
    do maps of constants that are better stored. The steps in which a formula was written leave no trace: equal formulas are equal
    operators.
    """

    most_nodes: int = 96
    """In a fused body: operands that stand several times in a formula double it."""

    def run(self, graph: Graph) -> Graph:
        """The graph with maps fused, until none is left that may be: what two maps have read may then be read by one."""
        fused = self._fused_once(graph)
        while len(fused.operators) < len(graph.operators):
            graph, fused = fused, self._fused_once(fused)
        return graph

    def _fused_once(self, graph: Graph) -> Graph:
        alone = read_once(graph)
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        stored = StoredParts(graph)
        operators: dict[str, Operator] = {}
        for operator in graph.operators:
            fused = operator
            operands = (access for number, access in enumerate(operator.reads) if number not in operator.looked_up())
            for access in operands if operator.is_map() else ():
                producer = operators.get(access.tensor) if access.tensor in alone else None
                if producer is None or not _has_same_points(operator, access, producer):
                    continue
                if not stored.keep_apart(producer, operator):
                    fused = self._fused(fused, producer, operators, tensors)
            operators[fused.write.tensor] = fused
        return with_operators(graph, operators.values())

    def _fused(
        self, operator: Operator, producer: Operator, operators: dict[str, Operator], tensors: Mapping[str, Tensor]
    ) -> Operator:
        """The map with a producer's body inside, unless that becomes too long or changes values; the producer is dropped."""
        fused = inlined_as_read(operator, {producer.write.tensor: producer}, tensors)
        is_read = any(access.tensor == producer.write.tensor for access in fused.reads)
        if is_read or len(subexpressions(fused.body)) > self.most_nodes:
            return operator
        del operators[producer.write.tensor]
        return fused


def _has_same_points(operator: Operator, access: Access, producer: Operator) -> bool:
    """Whether a reader takes every element of a map's result exactly once."""
    guarded = any(read.guard is not None or read.lookups for read in (access, *producer.reads))
    positions = [read for read in access.indices if read.terms]
    wide = {axis.name for axis in operator.axes if axis.extent != 1}
    is_plain = is_invertible(producer) and not guarded and all(index.is_axis() for index in positions)
    return producer.is_map() and is_plain and wide <= access.axes()
