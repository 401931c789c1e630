"""Products of a single column lose its axis, so that rows lie side by side in the result: lanes then run along them.

`y[m, 0] = sum(k) a[m, k] * x[k, 0]` is a product of a matrix and a vector. With an axis of one point for its columns, a tile
would have one useful lane in eight. Maps of such results follow: operators that have their axes in common fuse. Results of other
types than float32 stay as they are: their micro kernels store columns of the last dimension only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph.index import constant
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import AxisValue, subexpressions
from tilewright.graph.types import Access, Graph, Operator


@dataclass(frozen=True, slots=True)
class SingleColumns(Rewrite):
    """Legal for axes whose extent is known to be 1: their only position is 0. Tensors keep their shapes."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which no contraction writes an axis of one point last, nor a map of what such a contraction wrote."""
        changed: dict[str, Operator] = {}
        for operator in graph.operators:
            follows = operator.is_map() and any(access.tensor in changed for access in operator.reads)
            begins = operator.is_contraction() and graph.tensor(operator.write.tensor).dtype == operator.accumulator == "float32"
            without = _without_single_columns(operator) if begins or follows else operator
            if without is not operator:
                changed[operator.write.tensor] = without
        return with_operators(graph, (changed.get(operator.write.tensor, operator) for operator in graph.operators))


def _without_single_columns(operator: Operator) -> Operator:
    last = operator.write.innermost()
    if last is None or operator.axis(last).extent != 1 or len(operator.write.axes()) == 1:
        return operator
    if any(access.lookups for access in operator.reads) or _computes_with(operator, last):
        return operator
    axes = tuple(axis for axis in operator.axes if axis.name != last)
    reads = tuple(_at_zero(access, last) for access in operator.reads)
    return _without_single_columns(replace(operator, axes=axes, reads=reads, write=_at_zero(operator.write, last)))


def _computes_with(operator: Operator, axis: str) -> bool:
    """Whether the body has the position along an axis as a number."""
    return any(isinstance(node, AxisValue) and node.axis == axis for node in subexpressions(operator.body))


def _at_zero(access: Access, axis: str) -> Access:
    return access.mapped(lambda index: index.substitute({axis: constant(0)}))
