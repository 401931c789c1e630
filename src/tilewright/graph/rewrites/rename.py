"""Other names for tensors, throughout a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.types import Access, Graph, Operator


def rename_tensors(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with tensors renamed from key to value; other names stay."""

    def access(old: Access) -> Access:
        return replace(old, tensor=names.get(old.tensor, old.tensor))

    def operator(old: Operator) -> Operator:
        return replace(old, reads=tuple(map(access, old.reads)), write=access(old.write))

    return replace(
        graph,
        tensors=tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in graph.tensors),
        operators=tuple(map(operator, graph.operators)),
        inputs=tuple(names.get(name, name) for name in graph.inputs),
        outputs=tuple(names.get(name, name) for name in graph.outputs),
        constants=tuple((names.get(name, name), constant) for name, constant in graph.constants),
    )
