"""Moves comparisons into the operators that use them, so that no tensor of truth values is ever stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.rewrites.compose import composed, consumer_positions, largest_extents
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import AxisValue, Load, Scalar, rewrite, subexpressions
from tilewright.graph.types import Access, Graph, Operator


@dataclass(frozen=True, slots=True)
class InlineConditions:
    """A map that writes `bool` is computed again inside each of its readers. It stays an operator where it is an output.

    A condition is cheap and a stored one would need an element type that kernels do not have.
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
    positions = any(isinstance(node, AxisValue) for node in subexpressions(operator.body))
    return operator.is_map() and simple and not positions and graph.tensor(operator.write.tensor).dtype == "bool"


def _inline(operator: Operator, conditions: dict[str, Operator]) -> Operator:
    reads: list[Access] = []
    values: dict[int, Scalar] = {}
    for number, access in enumerate(operator.reads):
        condition = conditions.get(access.tensor)
        if condition is None or access.guard is not None:
            values[number] = Load(_number_of(access, reads))
            continue
        positions, extents = consumer_positions(condition, access), largest_extents(operator)
        inner = [_number_of(composed(read, positions, extents), reads) for read in condition.reads]
        values[number] = _renumbered(condition.body, {old: Load(new) for old, new in enumerate(inner)})
    return replace(operator, reads=tuple(reads), body=_renumbered(operator.body, values))


def _number_of(access: Access, reads: list[Access]) -> int:
    if access not in reads:
        reads.append(access)
    return reads.index(access)


def _renumbered(body: Scalar, values: dict[int, Scalar]) -> Scalar:
    return rewrite(body, lambda node: values[node.read] if isinstance(node, Load) else None)
