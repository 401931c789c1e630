"""Licences: how a rewrite, an algorithm or a choice of code generation may change values, and where it may not.

The order of a reduction's own terms, its accumulators and multiply-adds inside it are left open by a graph: every variant of them
counts as exact. So does the way in which one function of `scalar_functions` is computed, within its stated error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from tilewright.graph.numpy_types import is_float
from tilewright.graph.types import Graph, Operator, Tensor


class Licence(StrEnum):
    """How results may differ from those of the graph as it was."""

    EXACT = "exact"
    """The same bits for every input."""
    ROUNDING = "rounding"
    """Last bits may differ."""
    RANGE = "range"
    """Last bits may differ, and results may overflow or underflow where they did not, unless constants are of moderate size."""
    CHECKED = "checked"
    """Last bits may differ; what overflows is reported by the kernel and computed again without."""
    QUANTISED = "quantised"
    """Sums of dequantised integers are sums of integers, rounded once: at most one quantisation step from the float form."""

    def permits(self, results: Iterable[Tensor]) -> bool:
        """Whether tensors may be computed in another way under this licence.

        >>> Licence.ROUNDING.permits([Tensor("x", (4,))]), Licence.ROUNDING.permits([Tensor("x", (4,), needs_exact=True)])
        (True, False)
        """
        return self in (Licence.EXACT, Licence.QUANTISED) or not any(tensor.needs_exact for tensor in results)

    def permits_operators(self, operators: Iterable[Operator], tensors: Mapping[str, Tensor]) -> bool:
        """Whether operators may be replaced by others that make the same, given the tensors by name."""
        return self.permits(tensors[operator.write.tensor] for operator in operators)


def with_exact(graph: Graph, names: Collection[str]) -> Graph:
    """A graph of whose results those of these names, in floating point, are read where every bit counts."""
    made = {operator.write.tensor for operator in graph.operators}.intersection(names)
    return with_marks(graph, {tensor.name for tensor in graph.tensors if tensor.name in made and is_float(tensor.dtype)})


def with_marks(graph: Graph, names: Collection[str]) -> Graph:
    """A graph whose tensors of these names need to be exact."""
    unmarked = {tensor.name for tensor in graph.tensors if not tensor.needs_exact}.intersection(names)
    tensors = (replace(tensor, needs_exact=True) if tensor.name in unmarked else tensor for tensor in graph.tensors)
    return replace(graph, tensors=tuple(tensors))
