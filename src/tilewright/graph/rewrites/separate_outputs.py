"""Separate outputs: an operator for every output of a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import axis as axis_index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import unused
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, Graph, Operator, Tensor


@dataclass(frozen=True, slots=True)
class SeparateOutputs(Rewrite):
    """An output that is an input, a constant, or an output already is a copy, under another name, in the same place."""

    def run(self, graph: Graph) -> Graph:
        """The graph whose outputs all are written, each once."""
        free = {operator.write.tensor for operator in graph.operators}
        if len(set(graph.outputs)) == len(graph.outputs) and free.issuperset(graph.outputs):
            return graph
        taken = {tensor.name for tensor in graph.tensors}
        operators, tensors, outputs = list(graph.operators), list(graph.tensors), list[str]()
        for name in graph.outputs:
            if name in free:
                free.remove(name)
                outputs.append(name)
                continue
            source = graph.tensor(name)
            target = replace(source, name=unused(f"{name}_copy", taken))
            taken.add(target.name)
            operators.append(copy_of(source, target, f"copy_{target.name}"))
            tensors.append(target)
            outputs.append(target.name)
        return replace(graph, operators=tuple(operators), tensors=tuple(tensors), outputs=tuple(outputs))


def copy_of(source: Tensor, target: Tensor, name: str) -> Operator:
    """The operator that puts the elements of a tensor into another of the same shape, perhaps of another type."""
    axes = tuple(Axis(f"d{position}", extent) for position, extent in enumerate(source.shape))
    indices = tuple(axis_index(axis.name) for axis in axes)
    reads, write = (Access(source.name, indices),), Access(target.name, indices)
    kind = "copy" if source.dtype == target.dtype else "astype"
    return Operator(name, kind, axes, reads, write, Load(0), accumulator=accumulator_of(target.dtype))
