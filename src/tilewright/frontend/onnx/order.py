"""The order of nodes: files should have them sorted, but not all do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tilewright.errors import InvalidModel


def sorted_nodes(nodes: Sequence[Any], where: str) -> list[tuple[int, Any]]:
    """`NodeProto`s, with their numbers in the file, such that values are made before they are read; sorted ones stay as they are.

    Raises `InvalidModel` for a cycle, naming a node of it.
    """
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[name] for name in free_names(node) if name in makers} for node in nodes]
    if all(needed < number for number, of_one in enumerate(needs) for needed in of_one):
        return list(enumerate(nodes))
    try:
        return [(number, nodes[number]) for number in TopologicalSorter(dict(enumerate(needs))).static_order()]
    except CycleError as problem:
        number = problem.args[1][0]
        label = nodes[number].name or f"number {number}"
        place = f"{nodes[number].op_type} node {label!r} of {where}"
        raise InvalidModel("the nodes form a cycle", where=place) from problem


def free_names(node: Any) -> Iterator[str]:
    """The values that a node reads: its inputs, and what its bodies take from outside."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _free_names_of_graph(graph)


def _free_names_of_graph(graph: Any) -> Iterator[str]:
    defined = {tensor.name for tensor in (*graph.input, *graph.initializer)} | {
        tensor.values.name for tensor in graph.sparse_initializer
    }
    defined |= {name for node in graph.node for name in node.output}
    yield from (name for node in graph.node for name in free_names(node) if name not in defined)
    yield from (output.name for output in graph.output if output.name not in defined)
