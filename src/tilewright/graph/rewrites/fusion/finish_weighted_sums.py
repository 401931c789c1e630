"""Fusion of the map behind a weighted sum into what the sum finishes with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.index import Index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.fusion.lossless import is_as_read
from tilewright.graph.rewrites.readers import read_once
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.rewrites.weighted_sums import is_weighted_sum
from tilewright.graph.scalar import AxisValue, Load, Scalar, subexpressions, with_loads
from tilewright.graph.types import Access, Graph, Operator


@dataclass(frozen=True, slots=True)
class FinishWeightedSums(Rewrite):
    """A map that alone reads weighted sums (a bias, an activation, a shortcut), each once, becomes a part of their finish.

    Legal because the finish of a sum is computed once for every element of the result, as the map is.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with all such maps in the sums before them."""
        alone = read_once(graph)
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        operators: dict[str, Operator] = {}
        for operator in graph.operators:
            sums = [operators[access.tensor] for access in operator.reads if access.tensor in operators.keys() & alone]
            sums = [producer for producer in sums if is_weighted_sum(producer) and is_as_read(producer, operator, tensors)]
            finished = next((found for producer in sums if (found := _finished(producer, operator)) is not None), None)
            if finished is not None:
                operators = {tensor: made for tensor, made in operators.items() if made.name != finished.name}
            operators[operator.write.tensor] = finished or operator
        return with_operators(graph, operators.values())


def _finished(sums: Operator, reader: Operator) -> Operator | None:
    """The sums with their reader in their finish; None where the reader is no map of their points, or writes other columns."""
    if not reader.is_map() or any(isinstance(node, AxisValue) for node in subexpressions(reader.body)):
        return None
    number = next(number for number, access in enumerate(reader.reads) if access.tensor == sums.write.tensor)
    positions = _positions(sums, reader, reader.reads[number])
    if positions is None or reader.looked_up() or any(access.guard or access.lookups for access in reader.reads):
        return None
    others = [read.mapped(lambda index: index.substitute(positions)) for read in reader.reads]
    first = len(sums.reads)
    reduction = sums.reduction
    assert reduction is not None
    values: dict[int, Scalar] = {read: Load(first + read - (read > number)) for read in range(len(others))}
    finish = with_loads(reader.body, values | {number: reduction.finish})
    reads = (*sums.reads, *others[:number], *others[number + 1 :])
    write = reader.write.mapped(lambda index: index.substitute(positions))
    if write.innermost() != sums.write.innermost():
        return None  # lanes run along it, and the image lies as they do
    return replace(sums, reads=reads, write=write, reduction=replace(reduction, finish=finish))


def _positions(sums: Operator, reader: Operator, access: Access) -> dict[str, Index] | None:
    """The reader's axes by those of the sums, axes of one point by 0; None where it does not read every sum once."""
    pairs = [(read, made) for read, made in zip(access.indices, sums.write.indices, strict=True) if read.terms or made.terms]
    wide = {axis.name for axis in reader.axes if axis.extent != 1}
    is_plain = access.guard is None and not access.lookups and all(read.is_axis() for read, _ in pairs)
    if not is_plain or not wide <= access.axes():
        return None
    return {axis.name: Index() for axis in reader.axes if axis.name not in wide} | {str(read): made for read, made in pairs}
