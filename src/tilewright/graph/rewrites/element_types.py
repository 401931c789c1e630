"""Copies of tensors, into other element types or not.

- Every output of a graph has an operator of its own.
- What kernels compute in float32 alone, contractions and row-wise reductions, has conversions around it.
- Products of float32 with weights that are rounded to bfloat16, of which the sums stay float32 (`precision="bf16"`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.exactness import HALVES, exact_element_type
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_tensors
from tilewright.graph.rewrites.fusion.lossless import is_condition
from tilewright.graph.rewrites.rebuild import Expansion, unused
from tilewright.graph.types import Access, Graph, Operator, Tensor
from tilewright.records import record


class SeparateOutputs(Rewrite):
    """An output that is an input, a constant, or an output already is a copy, under another name, in the same place."""

    def run(self, graph: Graph) -> Graph:
        """The graph whose outputs all are written, each once."""
        free = {operator.write.tensor for operator in graph.operators}
        if len(set(graph.outputs)) == len(graph.outputs) and free.issuperset(graph.outputs):
            return graph
        tensors, copies, outputs = dict(graph.by_name), list[Operator](), list[str]()
        for name in graph.outputs:
            if name not in free:
                target = replace(graph.tensor(name), name=unused(f"{name}_copy", tensors))
                tensors[target.name] = target
                copies.append(copy_of(graph.tensor(name), target, f"copy_{target.name}"))
                name = target.name
            free.discard(name)
            outputs.append(name)
        operators = (*graph.operators, *copies)
        return replace(graph, operators=operators, tensors=tuple(tensors.values()), outputs=tuple(outputs))


def copy_of(source: Tensor, target: Tensor, name: str) -> Operator:
    """The operator that puts the elements of a tensor into another of the same shape, perhaps of another type."""
    kind = "copy" if source.dtype == target.dtype else "astype"
    reads = [Access(source.name, points(len(source.shape)))]
    return map_of(kind, source.shape, reads, Load(0), target.dtype, name, target.name)[0]


@record
class ElementTypes(Rewrite):
    """A contraction in float32 reads float32: what has another type is converted by a map before it. What it, or a row-wise
    reduction, writes in another type is converted by a map behind it. The body of a map that writes truth values is a condition.

    Operators that are computed exactly stay as they are, and so do the operands of a contraction that `products` names: planning
    has kernels for them, and decides whether to convert.
    """

    products: frozenset[tuple[str, str]] = frozenset()
    """The element types of operands that kernels multiply as they are, besides float32."""
    stores_halves: bool = False
    """Whether sums and rows of numbers of 16 bits are stored in 16 bits by what computes them, in float32: then no map converts
    these, and images with padding are operands as any others."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which only maps convert."""
        return _Conversion(graph, self.products, self.stores_halves).expanded()


class _Conversion(Expansion):
    def __init__(self, graph: Graph, products: frozenset[tuple[str, str]], stores_halves: bool) -> None:
        super().__init__(graph)
        self.products, self.stores_halves = products, stores_halves
        self.converted_reads: dict[str, str] = {}
        """By tensor the one that holds it in float32."""

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """An operator with the conversions before and behind it."""
        if exact_element_type(operator, self.tensors):
            yield operator
        elif operator.is_map():
            yield self.with_condition(operator)
        elif self.stores_halves and self.is_of_one_half(operator):
            yield replace(operator, accumulator="float32")
        elif operator.is_product_sum() and not self.is_known_product(operator):
            for access in operator.reads:
                yield from self.before(access.tensor)
            yield from self.behind(self.reading(operator))
        else:
            yield from self.behind(operator)

    def is_of_one_half(self, operator: Operator) -> bool:
        """Whether an operator reads and writes numbers of one type of 16 bits, products only those that kernels multiply."""
        types = {self.tensors[access.tensor].dtype for access in operator.accesses()}
        (dtype,) = types if len(types) == 1 else ("",)
        return dtype in HALVES and (not operator.is_product_sum() or (dtype, dtype) in self.products)

    def is_known_product(self, operator: Operator) -> bool:
        """Whether kernels multiply the operands of a contraction as they are."""
        if not operator.is_contraction():
            return False
        left, right = (self.tensors[access.tensor].dtype for access in operator.reads)
        return (left, right) in self.products or (right, left) in self.products

    def with_condition(self, operator: Operator) -> Operator:
        """A map whose body is a condition, if truth values are what it writes."""
        types = [self.tensors[read.tensor].dtype for read in operator.reads]
        if self.tensors[operator.write.tensor].dtype != "bool" or is_condition(operator.body, types):
            return operator
        return replace(operator, body=apply("not_equal", operator.body, Literal(0.0)))

    def before(self, tensor: str) -> Iterator[Operator]:
        """The conversion of what a contraction reads, unless it is there."""
        source = self.tensors[tensor]
        if source.dtype != "float32" and tensor not in self.converted_reads:
            wide = self.declared(f"{tensor}_float32", tensor)
            self.converted_reads[tensor] = wide.name
            yield copy_of(source, wide, f"widen_{tensor}")

    def reading(self, operator: Operator) -> Operator:
        """A contraction of what was converted."""
        reads = (replace(read, tensor=self.converted_reads.get(read.tensor, read.tensor)) for read in operator.reads)
        return replace(operator, reads=tuple(reads))

    def behind(self, operator: Operator) -> Iterator[Operator]:
        """An operator that writes float32, and the conversion of its result."""
        result = self.tensors[operator.write.tensor]
        if result.dtype == "float32":
            yield replace(operator, accumulator="float32")
            return
        wide = self.declared(f"{result.name}_float32", result.name)
        write = replace(operator.write, tensor=wide.name)
        yield replace(operator, write=write, accumulator="float32")
        yield self.with_condition(copy_of(wide, result, f"narrow_{operator.name}"))


SHORT = "bfloat16"


class ShortProducts(Rewrite):
    """Both operands of a float32 product with a constant operand are rounded to bfloat16 (`docs/correctness.md`).

    Constants are folded, so that half as many bytes are read. Products without a constant stay: their operands would have to be
    rounded at every call. So do windows and all other reads that are not affine, and what is summed in another type.
    """

    licence = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph with such operands."""
        return _Rounding(graph).expanded()


class _Rounding(Expansion):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.weights = constant_tensors(graph)
        self.short: dict[str, str] = {}
        """By tensor the one that holds it in bfloat16."""

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """An operator with what rounds its operands before it."""
        types = {self.tensors[access.tensor].dtype for access in operator.accesses()}
        constant = [access.tensor in self.weights for access in operator.reads]
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
