"""Moves comparisons and integers into the operators that use them, so that no tensor of either is ever stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph.index import Index
from tilewright.graph.rewrites.compose import composed, consumer_positions, largest_extents, position_value
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import AxisValue, Load, Scalar, rewrite
from tilewright.graph.types import Access, Graph, Operator


@dataclass(frozen=True, slots=True)
class InlineConditions:
    """A map that writes truth values or integers, or that reads nothing (positions), is computed again inside each of its
    readers. It stays an operator where it is an output.

    A condition is cheap and a stored one would need an element type that kernels do not write.
    """

    name: str = "inline-conditions"

    def run(self, graph: Graph) -> Graph:
        """The graph in which the readers of conditions compute these themselves."""
        conditions: dict[str, Operator] = {}
        operators = []
        for operator in graph.operators:
            inlined = _inline(operator, conditions)
            if _is_condition(inlined, graph):
                conditions[inlined.write.tensor] = inlined
            operators.append(inlined)
        read = {access.tensor for operator in operators for access in operator.reads} | set(graph.outputs)
        return with_operators(graph, [o for o in operators if o.write.tensor not in conditions or o.write.tensor in read])


def _is_condition(operator: Operator, graph: Graph) -> bool:
    simple = all(access.guard is None for access in operator.reads)
    is_float = np.issubdtype(graph.tensor(operator.write.tensor).dtype, np.floating)
    return operator.is_map() and simple and not (is_float and operator.reads)


def _inline(operator: Operator, conditions: dict[str, Operator]) -> Operator:
    """An operator that computes the conditions it reads; contractions, which only read, are left alone."""
    reads: list[Access] = []
    values: dict[int, Scalar] = {}
    for number, access in enumerate(operator.reads):
        condition = conditions.get(access.tensor)
        if condition is None or access.guard is not None or operator.is_contraction():
            values[number] = Load(_number_of(access, reads))
            continue
        positions, extents = consumer_positions(condition, access), largest_extents(operator)
        inner = [_number_of(composed(read, positions, extents), reads) for read in condition.reads]
        body = _at(condition.body, positions)
        values[number] = _renumbered(body, {old: Load(new) for old, new in enumerate(inner)})
    return replace(operator, reads=tuple(reads), body=_renumbered(operator.body, values))


def _at(body: Scalar, positions: dict[str, Index]) -> Scalar:
    """A body whose axes stand at the reader's positions. An axis that the write lacks has extent 1."""

    def moved(node: Scalar) -> Scalar | None:
        return position_value(positions.get(node.axis, Index())) if isinstance(node, AxisValue) else None

    return rewrite(body, moved)


def _number_of(access: Access, reads: list[Access]) -> int:
    if access not in reads:
        reads.append(access)
    return reads.index(access)


def _renumbered(body: Scalar, values: dict[int, Scalar]) -> Scalar:
    return rewrite(body, lambda node: values[node.read] if isinstance(node, Load) else None)
