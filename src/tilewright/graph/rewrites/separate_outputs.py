"""Separate outputs: an operator for every output of a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import unused
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class SeparateOutputs(Rewrite):
    """An output that is an input, a constant, or an output already is a copy, under another name, in the same place."""

    def run(self, graph: Graph) -> Graph:
        """The graph whose outputs all are written, each once."""
        free = {operator.write.tensor for operator in graph.operators}
        if len(set(graph.outputs)) == len(graph.outputs) and free.issuperset(graph.outputs):
            return graph
        tensors, copies, outputs = {tensor.name: tensor for tensor in graph.tensors}, list[Operator](), list[str]()
        for name in graph.outputs:
            if name not in free:
                target = replace(graph.tensor(name), name=unused(f"{name}_copy", tensors))
                tensors[target.name] = target
                copies.append(copy_of(graph.tensor(name), target, f"copy_{target.name}"))
                name = target.name
            free.discard(name)
            outputs.append(name)
        operators = (*graph.operators, *copies)
        return replace(graph, operators=operators, tensors=tuple(tensors.values()), outputs=tuple(outputs))


def copy_of(source: Tensor, target: Tensor, name: str) -> Operator:
    """The operator that puts the elements of a tensor into another of the same shape, perhaps of another type."""
    kind = "copy" if source.dtype == target.dtype else "astype"
    reads = [Access(source.name, points(len(source.shape)))]
    return map_of(kind, source.shape, reads, Load(0), target.dtype, name, target.name)[0]
