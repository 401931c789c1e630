"""Rewrites for tensor cores: operands of 16 bits are multiplied as they are.

What a chain makes in float32 is multiplied by an operand of 16 bits without a map that widens that, and the product is stored in
16 bits by what computes it; a kernel rounds its own intermediate to 16 bits, once, where it multiplies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.graph.exactness import HALVES
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import read_once, with_operators
from tilewright.graph.types import Access, Graph, Operator, Tensor

WIDENED = frozenset((dtype, "float32") for dtype in HALVES)
"""What maps widen, and to what, that a product takes as it is."""


class MixedProducts(Rewrite):
    """Products read operands of 16 bits without the maps that widen them, where the other operand is an intermediate; they write
    what a map behind them would narrow."""

    @property
    def licence(self) -> Licence:
        """Numbers of 16 bits are numbers of float32; what is stored is rounded once, as before."""
        return Licence.EXACT

    def run(self, graph: Graph) -> Graph:
        """The graph with such products; maps that nobody reads any more are left for dead code."""
        made = {operator.write.tensor: operator for operator in graph.operators}
        operators = [_with_short_operand(operator, made, graph.by_name) for operator in graph.operators]
        return with_operators(graph, _with_short_results(graph, operators))


def _with_short_operand(operator: Operator, made: Mapping[str, Operator], tensors: Mapping[str, Tensor]) -> Operator:
    if not operator.is_product_sum():
        return operator
    short = operator.with_reads(lambda read: _before_widening(read, made, tensors))
    types = {tensors[read.tensor].dtype for read in short.reads}
    is_mixed = bool(types & HALVES) and any(_is_intermediate(read, made, tensors) for read in operator.reads)
    return short if is_mixed else operator


def _is_intermediate(read: Access, made: Mapping[str, Operator], tensors: Mapping[str, Tensor]) -> bool:
    """Whether something that computes makes an operand in float32."""
    maker = made.get(read.tensor)
    return maker is not None and tensors[read.tensor].dtype == "float32" and not _converts(maker)


def _before_widening(read: Access, made: Mapping[str, Operator], tensors: Mapping[str, Tensor]) -> Access:
    maker = made.get(read.tensor)
    if maker is None or not _converts(maker):
        return read
    types = tensors[maker.reads[0].tensor].dtype, tensors[read.tensor].dtype
    return read.of(maker.reads[0].tensor) if types in WIDENED else read


def _converts(operator: Operator) -> bool:
    """Whether a map gives every element another type, and nothing else."""
    if not operator.is_map() or operator.body != Load(0) or len(operator.reads) != 1:
        return False
    (read,) = operator.reads
    indices = operator.write.indices
    is_plain = all(index.is_axis() for index in indices) and len(operator.write.axes()) == len(indices)
    return is_plain and read.indices == indices and read.guard is None and not read.lookups


def _with_short_results(graph: Graph, operators: list[Operator]) -> list[Operator]:
    """Products that have an operand of 16 bits write what is behind a map that only narrows."""
    alone, tensors = read_once(graph), graph.by_name
    narrowed = {
        operator.reads[0].tensor: operator.write.tensor
        for operator in operators
        if _converts(operator) and tensors[operator.write.tensor].dtype in HALVES
    }
    joined = {
        operator.write.tensor
        for operator in operators
        if operator.write.tensor in narrowed.keys() & alone and _reads_halves(operator, tensors)
    }
    dropped = {narrowed[tensor] for tensor in joined}
    kept = [one for one in operators if one.write.tensor not in dropped or not _converts(one)]
    return [_writing(one, narrowed[one.write.tensor]) if one.write.tensor in joined else one for one in kept]


def _reads_halves(operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    return operator.is_product_sum() and any(tensors[read.tensor].dtype in HALVES for read in operator.reads)


def _writing(operator: Operator, tensor: str) -> Operator:
    return replace(operator, write=operator.write.of(tensor), accumulator="float32")
