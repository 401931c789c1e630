"""Moves positive constant factors out of what row-wise reductions read and into their reductions, where they cost nothing.

softmax(c * q k^T) takes the exponentials of c * (x - max x); the pass that multiplied is gone. The factor may stand on an operand
of a contraction, (c * q) k^T, or in front of a mask: where(kept, c * x, -inf) = c * where(kept, x, -inf).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isinf

from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.rebuild import read_once, with_operators
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply, subexpressions
from tilewright.graph.scaled_points import factor_and_rest, scaled_reduction
from tilewright.graph.types import Access, Graph, Operator


class FoldScales(Rewrite):
    """A map that only multiplies is left without a reader. Results are those of exact arithmetic, rounded elsewhere.

    Only tensors in float32 that nobody else reads change their values: what is never read at all is removed before.
    """

    licence = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph in which row-wise reductions multiply differences of points by what stood in front of the points."""
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        free = read_once(graph) & {tensor.name for tensor in graph.tensors if tensor.dtype == "float32"}
        operators = {operator.write.tensor: operator for operator in graph.operators}
        for operator in graph.operators:
            if operator.is_row_reduction() and operator.reduction is not None and operator.body == Load(0):
                factor, access, changed = _without_factor(operator, operator.reads[0], operators, free)
                reduction = scaled_reduction(operator.reduction, factor) if factor != 1 else None
                group = [operator, *(operators[tensor] for tensor in changed)]
                if reduction is not None and self.licence.permits_operators(group, tensors):
                    reads = (access, *operator.reads[1:])  # its states and its finish may load the others
                    operators |= {**changed, operator.write.tensor: replace(operator, reads=reads, reduction=reduction)}
        return with_operators(graph, operators.values())


Found = tuple[float, Access, Mapping[str, Operator]]
"""A factor, the access of what is left without it, and the operators that then make it, by the tensors they write."""


def _without_factor(reader: Operator, access: Access, operators: Mapping[str, Operator], free: set[str]) -> Found:
    """What `access`, by which `reader` reads, gives is this factor times what the new access gives."""
    producer = operators.get(access.tensor)
    if producer is None or access.guard is not None or access.lookups or access.tensor not in free:
        return 1.0, access, {}
    factor, body = _factored(producer.body)
    changed: dict[str, Operator] = {}
    reads = list(producer.reads)
    for read in _proportional_reads(replace(producer, body=body)):
        read_factor, reads[read], deeper = _without_factor(producer, reads[read], operators, free)
        factor, changed = factor * read_factor, {**changed, **deeper}
    if factor == 1 or not (producer.is_map() or producer.is_product_sum()):
        return 1.0, access, {}
    if body == Load(0) and producer.is_map():
        source = _through(reader, producer, reads[0], access)
        if source is not None:
            return factor, source, changed
    return factor, access, {**changed, access.tensor: replace(producer, reads=tuple(reads), body=body)}


def _through(reader: Operator, producer: Operator, read: Access, access: Access) -> Access | None:
    """What is left of a map that only copies, read by its reader itself; None where that would divide, or where it cannot be."""
    if not is_invertible(producer) or read.guard is not None or read.lookups:
        return None
    source = composed(read, consumer_positions(producer, access), largest_extents(reader))
    return source if source.is_affine() else None


def _proportional_reads(operator: Operator) -> Iterator[int]:
    """The reads, one by one, to which what an operator makes is proportional."""
    if operator.is_product_sum():
        yield from (0, 1)
    elif operator.is_map():
        yield from _proportional_loads(operator.body)


def _proportional_loads(body: Scalar) -> Iterator[int]:
    """The load that an expression is, where it is not the same for every factor."""
    match body:
        case Load(read):
            yield read
        case Apply("where", (condition, Load(read), Literal(value))):
            if _stays(value) and Load(read) not in subexpressions(condition):
                yield read
        case _:
            return


def _factored(body: Scalar) -> tuple[float, Scalar]:
    """A positive constant and what it is multiplied by, from in front of an expression and of what a mask keeps."""
    factor, rest = factor_and_rest(body)
    match rest:
        case Apply("where", (condition, kept, Literal(value))) if _stays(value):
            inner_factor, kept = _factored(kept)
            return factor * inner_factor, apply("where", condition, kept, Literal(value))
        case _ if factor != 1:
            inner_factor, rest = _factored(rest)
            return factor * inner_factor, rest
    return factor, rest


def _stays(value: float) -> bool:
    """Whether a value times any positive factor is itself."""
    return value == 0 or isinf(value)
