"""Products of short integers whose sums are int32, without the maps that widen these: for units that multiply short ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Access, Graph, Operator, Tensor
from tilewright.records import record

SUMS = "int32"
SHORT = ("int8", "uint8", "int16")
"""Types whose products are summed in int32."""


@record
class ShortOperands(Rewrite):
    """A sum of products of two operands that maps widen from short integers to int32 reads these: it is the same sum."""

    products: frozenset[tuple[str, str]] = frozenset((("int8", "int8"), ("uint8", "uint8")))
    """Types of two operands, in any order, that are multiplied as they are; those of short integers count."""

    def run(self, graph: Graph) -> Graph:
        """The graph with such products."""
        producers = {operator.write.tensor: operator for operator in graph.operators}
        return with_operators(graph, [self._of_short(operator, producers, graph.by_name) for operator in graph.operators])

    def _of_short(self, operator: Operator, producers: Mapping[str, Operator], tensors: Mapping[str, Tensor]) -> Operator:
        if operator.accumulator != SUMS or not operator.is_product_sum():
            return operator
        found = [_widened(read, operator, producers.get(read.tensor), tensors) for read in operator.reads]
        reads = tuple(read for read in found if read is not None)
        types = tuple(tensors[read.tensor].dtype for read in reads)
        return replace(operator, reads=reads) if self.products & {types, types[::-1]} else operator


def _widened(read: Access, reader: Operator, producer: Operator | None, tensors: Mapping[str, Tensor]) -> Access | None:
    """The short integers behind an operand that a map widens, and perhaps moves; None where it is made otherwise."""
    if producer is None or not producer.is_index_change() or not is_invertible(producer) or read.lookups:
        return None
    (source,) = producer.reads
    if tensors[source.tensor].dtype not in SHORT or source.guard is not None or source.lookups:
        return None
    return replace(composed(source, consumer_positions(producer, read), largest_extents(reader)), guard=read.guard)
