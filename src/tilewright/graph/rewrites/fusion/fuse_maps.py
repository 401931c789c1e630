"""Maps that are computed where they are read.

Fusion of maps that follow each other point by point.

Moves comparisons and integers into the operators that use them, so that no tensor of either is ever stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import StoredParts
from tilewright.graph.rewrites.fusion.compose import is_invertible
from tilewright.graph.rewrites.fusion.lossless import WHOLE, inlined_as_read
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


@dataclass(frozen=True, slots=True)
class InlineConditions(Rewrite):
    """A map that writes truth values or integers, or that reads nothing (positions), is computed again inside each of its
    readers. It stays an operator where it is an output, where a reader would compute something else from it than from what is
    stored (see `lossless`), and where it has become long.

    A condition is cheaper to compute than to store and load, but for those of constants that are better stored.
    """

    most_nodes: int = 96
    """In a body that is computed again."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which the readers of conditions compute these themselves."""
        conditions: dict[str, Operator] = {}
        operators = []
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        stored = StoredParts(graph)
        for operator in graph.operators:
            near = {access.tensor: conditions[access.tensor] for access in operator.reads if access.tensor in conditions}
            near = {name: producer for name, producer in near.items() if not stored.keep_apart(producer, operator)}
            whole = operator if operator.is_product_sum() else inlined_as_read(operator, near, tensors)
            if _is_condition(whole, tensors) and len(subexpressions(whole.body)) <= self.most_nodes:
                conditions[whole.write.tensor] = whole
            operators.append(whole)
        read = {access.tensor for operator in operators for access in operator.reads} | set(graph.outputs)
        return with_operators(graph, [o for o in operators if o.write.tensor not in conditions or o.write.tensor in read])


def _is_condition(operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    plain = all(index.is_axis() or not index.terms for index in operator.write.indices)
    simple = plain and all(access.guard is None and not access.lookups for access in operator.reads)
    is_float = tensors[operator.write.tensor].dtype not in WHOLE
    return operator.is_map() and simple and not (is_float and operator.reads)
