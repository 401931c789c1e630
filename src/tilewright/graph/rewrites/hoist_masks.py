"""Mask hoisting: what a mask of positions lets through leaves the mask, so that blocks in which it holds everywhere have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.graph.conditions import conjuncts, constraint_of
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.rewrites.rename import unused
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply
from tilewright.graph.types import Access, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class HoistMasks(Rewrite):
    """`where(row >= column, a * x + b, -inf)` becomes a map `a * x + b`, which can end a product in registers, and the mask.

    Only where a reduction reads the mask, which may then be left out of whole blocks.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose masks choose between an element and a constant."""
        reduced = {access.tensor for operator in graph.operators if operator.reduction is not None for access in operator.reads}
        mapped = {access.tensor for operator in graph.operators if operator.is_map() for access in operator.reads}
        able = reduced - mapped - set(graph.outputs)
        operators: list[Operator] = []
        tensors = list(graph.tensors)
        for operator in graph.operators:
            parts = tuple(_hoisted(operator, {tensor.name for tensor in tensors})) if operator.write.tensor in able else ()
            if parts:
                result = graph.tensor(operator.write.tensor)
                tensors.append(Tensor(parts[0].write.tensor, result.shape, result.dtype))
            operators += parts or (operator,)
        return with_operators(replace(graph, tensors=tuple(tensors)), operators)


def _hoisted(operator: Operator, taken: set[str]) -> Iterator[Operator]:
    """What a mask lets through, and the mask; nothing of other operators."""
    match operator.body:
        case Apply("where", (condition, Apply() as kept, Literal() as fill)) if operator.is_map() and _is_of_positions(condition):
            write = Access(unused(f"{operator.write.tensor}_kept", taken), operator.write.indices)
            yield with_used_reads(replace(operator, name=f"{operator.name}_kept", write=write, body=kept))
            reads = (*operator.reads, write)
            yield with_used_reads(replace(operator, reads=reads, body=apply("where", condition, Load(len(reads) - 1), fill)))


def _is_of_positions(condition: Scalar) -> bool:
    """Whether part of a condition bounds one axis by others."""
    return any(constraint_of(part) is not None for part in conjuncts(condition))
