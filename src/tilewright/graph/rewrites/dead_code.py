"""Removes operators, tensors and constants on which no output depends."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph


@dataclass(frozen=True, slots=True)
class DeadCode(Rewrite):
    """Walks back from the outputs; inputs stay, used or not."""

    def run(self, graph: Graph) -> Graph:
        """The graph without what is never read."""
        needed = set(graph.outputs)
        kept = []
        for operator in reversed(graph.operators):
            if operator.write.tensor in needed:
                kept.append(operator)
                needed.update(access.tensor for access in operator.reads)
        return with_operators(graph, reversed(kept))
