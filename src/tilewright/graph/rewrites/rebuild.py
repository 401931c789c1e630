"""How a pass puts a changed graph together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.graph.scalar import Load, rewrite, subexpressions
from tilewright.graph.types import Graph, Operator


def with_operators(graph: Graph, operators: Iterable[Operator]) -> Graph:
    """The graph with other operators; tensors and constants that nothing refers to any more are dropped, inputs stay.

    Operators that are equal to those that were there are these, so that it shows what is new.
    """
    own = {operator.write.tensor: operator for operator in graph.operators}
    kept = tuple(_itself(operator, own.get(operator.write.tensor)) for operator in operators)
    used = {*graph.inputs, *graph.outputs}
    for operator in kept:
        used.update(access.tensor for access in (*operator.reads, operator.write))
    return replace(
        graph,
        operators=kept,
        tensors=tuple(tensor for tensor in graph.tensors if tensor.name in used),
        constants=tuple(pair for pair in graph.constants if pair[0] in used),
    )


def _itself(operator: Operator, own: Operator | None) -> Operator:
    return own if own is not None and own == operator else operator


def with_used_reads(operator: Operator) -> Operator:
    """The operator without the reads that its body does not use, and with equal ones as one."""
    used = sorted({node.read for node in subexpressions(operator.body) if isinstance(node, Load)})
    reads = tuple(dict.fromkeys(operator.reads[number] for number in used))
    numbers = {Load(old): Load(reads.index(operator.reads[old])) for old in used}
    body = rewrite(operator.body, lambda node: numbers.get(node) if isinstance(node, Load) else None)
    return replace(operator, reads=reads, body=body)
