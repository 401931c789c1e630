"""How a pass puts a changed graph together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.graph.types import Graph, Operator


def with_operators(graph: Graph, operators: Iterable[Operator]) -> Graph:
    """The graph with other operators; tensors and constants that nothing refers to any more are dropped, inputs stay."""
    kept = tuple(operators)
    used = {*graph.inputs, *graph.outputs}
    for operator in kept:
        used.update(access.tensor for access in (*operator.reads, operator.write))
    return replace(
        graph,
        operators=kept,
        tensors=tuple(tensor for tensor in graph.tensors if tensor.name in used),
        constants=tuple(pair for pair in graph.constants if pair[0] in used),
    )
