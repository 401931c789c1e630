"""Products of bytes whose sums are int32, without the maps that widen the bytes: for units that multiply bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.exactness import BYTES
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Access, Graph, Operator, Tensor

SUMS = "int32"


class ShortOperands(Rewrite):
    """A sum of products of two operands that maps widen from bytes of one type to int32 reads the bytes: it is the same sum."""

    def run(self, graph: Graph) -> Graph:
        """The graph with such products."""
        producers = {operator.write.tensor: operator for operator in graph.operators}
        return with_operators(graph, [_of_bytes(operator, producers, graph.by_name) for operator in graph.operators])


def _of_bytes(operator: Operator, producers: Mapping[str, Operator], tensors: Mapping[str, Tensor]) -> Operator:
    if operator.accumulator != SUMS or not operator.is_product_sum():
        return operator
    found = [_widened(read, operator, producers.get(read.tensor), tensors) for read in operator.reads]
    reads = tuple(read for read in found if read is not None)
    is_alike = len(reads) == len(found) and len({tensors[read.tensor].dtype for read in reads}) == 1
    return replace(operator, reads=reads) if is_alike else operator


def _widened(read: Access, reader: Operator, producer: Operator | None, tensors: Mapping[str, Tensor]) -> Access | None:
    """The bytes behind an operand that a map widens, and perhaps moves; None where it is made otherwise."""
    if producer is None or not producer.is_index_change() or not is_invertible(producer) or read.lookups:
        return None
    (source,) = producer.reads
    if tensors[source.tensor].dtype not in BYTES or source.guard is not None or source.lookups:
        return None
    return replace(composed(source, consumer_positions(producer, read), largest_extents(reader)), guard=read.guard)
