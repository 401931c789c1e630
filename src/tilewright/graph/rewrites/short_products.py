"""Products of float32 with weights that are rounded to bfloat16, of which the sums stay float32 (`precision="bf16"`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators
from tilewright.graph.rewrites.rebuild import unused, with_operators
from tilewright.graph.rewrites.separate_outputs import copy_of
from tilewright.graph.types import Graph, Operator, Tensor

SHORT = "bfloat16"


@dataclass(frozen=True, slots=True)
class ShortProducts(Rewrite):
    """Both operands of a float32 product with a constant operand are rounded to bfloat16 (`docs/correctness.md`).

    Constants are folded, so that half as many bytes are read. Products without a constant stay: their operands would have to be
    rounded at every call. So do windows and all other reads that are not affine, and what is summed in another type.
    """

    licence: ClassVar[Licence] = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph with such operands."""
        return _Rounding(graph, {tensor.name: tensor for tensor in graph.tensors}).rounded()


@dataclass(slots=True)
class _Rounding:
    graph: Graph
    tensors: dict[str, Tensor]
    short: dict[str, str] = field(default_factory=dict)
    """By tensor the one that holds it in bfloat16."""

    def rounded(self) -> Graph:
        """The graph with all roundings."""
        made = (operator.write.tensor for operator in constant_operators(self.graph))
        weights = frozenset((*(name for name, _ in self.graph.constants), *made))
        operators = [part for operator in self.graph.operators for part in self.parts(operator, weights)]
        return with_operators(replace(self.graph, tensors=tuple(self.tensors.values())), operators)

    def parts(self, operator: Operator, weights: frozenset[str]) -> Iterator[Operator]:
        """An operator with what rounds its operands before it."""
        types = {self.tensors[access.tensor].dtype for access in (*operator.reads, operator.write)}
        constant = [access.tensor in weights for access in operator.reads]
        is_float = operator.accumulator == "float32" and types == {"float32"}
        is_free = ShortProducts.licence.permits_operators((operator,), self.tensors)
        if not (operator.is_contraction() and is_float and is_free and any(constant) and not all(constant)):
            yield operator
            return
        for tensor in dict.fromkeys(access.tensor for access in operator.reads):
            if tensor not in self.short:
                name = unused(f"{tensor}_{SHORT}", self.tensors)
                held = replace(self.tensors[tensor], name=name, dtype=SHORT, entries=None)
                self.tensors[held.name], self.short[tensor] = held, held.name
                yield copy_of(self.tensors[tensor], held, f"round_{tensor}")
        yield replace(operator, reads=tuple(replace(access, tensor=self.short[access.tensor]) for access in operator.reads))
