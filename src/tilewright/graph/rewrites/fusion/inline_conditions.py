"""Moves comparisons and integers into the operators that use them, so that no tensor of either is ever stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.stored_parts import StoredParts
from tilewright.graph.rewrites.fusion.lossless import WHOLE, inlined_as_read
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import subexpressions
from tilewright.graph.types import Graph, Operator, Tensor


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
