"""Softmax whose weights, or sums of them, a discontinuous function reads: rows stay whole, and every weight is divided.

The rescaling rules of a reduction let planning sum undivided weights, correct such sums from block to block, and divide them at
the end (Milakov and Gimelshein 2018, algorithm 3): other terms are then rounded than the operators name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph, Operator


@dataclass(frozen=True, slots=True)
class WholeRows(Rewrite):
    """Takes the rescaling rules away where the result, or that of an operator that sums it, must be exact."""

    def run(self, graph: Graph) -> Graph:
        """The graph whose other reductions keep their rules."""
        exact = {tensor.name for tensor in graph.tensors if tensor.needs_exact}
        fixed = set(_with_readers(graph, exact)) if exact else set()
        return with_operators(graph, [_ruled(operator, fixed) for operator in graph.operators])


def _with_readers(graph: Graph, exact: set[str]) -> Iterator[str]:
    """The exact tensors, and what operators read whose result is one."""
    yield from exact
    for operator in graph.operators:
        if operator.write.tensor in exact:
            yield from (access.tensor for access in operator.reads)


def _ruled(operator: Operator, fixed: set[str]) -> Operator:
    if operator.reduction is None or not operator.reduction.rescales or operator.write.tensor not in fixed:
        return operator
    return replace(operator, reduction=replace(operator.reduction, rescales=()))
