"""Names and order of a graph: every value of a model gets a name that no other value has, and files should have nodes sorted.

With unique names bodies can be taken apart and put together.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tilewright.errors import InvalidModel
from tilewright.graph.short_names import short_name
from tilewright.ort_errors import InvalidArgument, raised_as


class Names:
    """All unique names of a model."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """The name itself, shortened if it is long, or with a number behind it.

        >>> names = Names()
        >>> names.unique("x"), names.unique("x")
        ('x', 'x@2')
        """
        found = name = short_name(name)
        while not found or found in self._counts:
            self._counts[name] = self._counts.get(name, 1) + 1
            found = f"{name}@{self._counts[name]}"
        self._counts[found] = 1
        return found


class Scope:
    """The names of a graph, and of the graphs around it."""

    def __init__(self, names: Names, outer: Scope | None = None) -> None:
        self._names = names
        self._defined: ChainMap[str, str] = ChainMap() if outer is None else outer._defined.new_child()

    def define(self, name: str, where: str) -> str:
        """A new value. Raises `InvalidModel` where the graph has one of that name."""
        if not isinstance(name, str):  # protobuf gives the bytes of what is no UTF-8
            raise InvalidModel(f"{name!r} is no name", where=where, why="it is not UTF-8")
        if self.owns(name):
            raise InvalidModel(f"two values are named {name!r}", where=where)
        self._defined[name] = self._names.unique(name)
        return self._defined[name]

    def bind(self, name: str, unique: str) -> None:
        """Another name, inside, of a value that exists outside."""
        self._defined[name] = unique

    def owns(self, name: str) -> bool:
        """Whether the graph itself defines it."""
        return name in self._defined.maps[0]

    def find(self, name: str, where: str) -> str:
        """The unique name of a value; "" stays. Raises `InvalidModel` if there is no such value."""
        if not name:
            return ""
        if name in self._defined:
            return self._defined[name]
        problem = InvalidModel(f"{where} reads {name!r}, which nothing defines", where=where)
        raise raised_as(problem, InvalidArgument)


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
    sparse = (tensor.values for tensor in graph.sparse_initializer)
    defined = {tensor.name for tensor in (*graph.input, *graph.initializer, *sparse)}
    defined |= {name for node in graph.node for name in node.output}
    yield from (name for node in graph.node for name in free_names(node) if name not in defined)
    yield from (output.name for output in graph.output if output.name not in defined)
