"""The order of nodes: files should have them sorted, but not all do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.errors import InvalidModel


def sorted_nodes(nodes: Sequence[Any], where: str) -> list[tuple[int, Any]]:
    """`NodeProto`s, with their numbers in the file, such that values are made before they are read; sorted ones stay as they are.

    Raises `InvalidModel` for a cycle, naming a node of it.
    """
    makers = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[name] for name in free_names(node) if name in makers} for node in nodes]
    order: list[int] = []
    state = [0] * len(nodes)
    for start in range(len(nodes)):
        _visit(start, needs, state, order, nodes, where)
    return [(number, nodes[number]) for number in order]


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


def _visit(start: int, needs: list[set[int]], state: list[int], order: list[int], nodes: Sequence[Any], where: str) -> None:
    """Depth first without recursion; state 1 is on the way, 2 is done."""
    stack = [(start, iter(sorted(needs[start])))] if state[start] == 0 else []
    if stack:
        state[start] = 1
    while stack:
        number, rest = stack[-1]
        following = next((needed for needed in rest if state[needed] != 2), None)
        if following is None:
            stack.pop()
            state[number] = 2
            order.append(number)
        elif state[following] == 1:
            label = nodes[following].name or f"number {following}"
            raise InvalidModel("the nodes form a cycle", where=f"{nodes[following].op_type} node {label!r} of {where}")
        else:
            state[following] = 1
            stack.append((following, iter(sorted(needs[following]))))
