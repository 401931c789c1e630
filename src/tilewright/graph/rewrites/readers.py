"""Which tensors of a graph are read once: what makes them may be changed together with its reader."""

from __future__ import annotations

from collections import Counter

from tilewright.graph.types import Graph


def read_once(graph: Graph) -> set[str]:
    """Tensors that a single access of a single operator reads, and that are no outputs."""
    readers = Counter(access.tensor for operator in graph.operators for access in operator.reads)
    return {tensor for tensor, count in readers.items() if count == 1} - set(graph.outputs)
