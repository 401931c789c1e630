"""Other names for tensors, throughout a graph, and names that no tensor has."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from tilewright.graph.types import Access, Graph, Operator


def unused(name: str, taken: Container[str]) -> str:
    """The name itself, or with underscores behind it: a name that is made of others may be one of those already.

    >>> unused("x_copy", {"x", "x_copy"})
    'x_copy_'
    """
    while name in taken:
        name += "_"
    return name


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
