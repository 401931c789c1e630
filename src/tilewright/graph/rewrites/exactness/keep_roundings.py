"""What operators with exact results leave alone: roundings, and rows as a whole.

Roundings of products that a discontinuous function reads: no multiply-add takes such a product in.

`a * b + c` is one multiply-add, rounded once, wherever last bits are free. Where they decide, code generation is told to round
the product alone (`ROUNDED`), as the graph says, and to divide the points of a row, not to multiply by a reciprocal.

Softmax whose weights, or sums of them, a discontinuous function reads: rows stay whole, and every weight is divided.

The rescaling rules of a reduction let planning sum undivided weights, correct such sums from block to block, and divide them at
the end (Milakov and Gimelshein 2018, algorithm 3): other terms are then rounded than the operators name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.graph.numpy_types import is_float
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.exactness.mark_exact import Types, exact_parts_of, with_all_marks
from tilewright.graph.rewrites.fusion.match_softmax_and_norms import is_known
from tilewright.graph.rewrites.rebuild import with_operators, with_scalars
from tilewright.graph.scalar import Apply, AxisValue, Literal, Parameter, Scalar, State, apply, subexpressions
from tilewright.graph.scalar_functions import ROUNDED
from tilewright.graph.types import Graph, Operator

PRODUCTS = ("multiply", "square")


@dataclass(frozen=True, slots=True)
class KeepRoundings(Rewrite):
    """Products and divisors in parts that must be exact are `ROUNDED`; how softmax and norms divide belongs to them.

    What algorithms have put between marked tensors is marked first.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose exact parts say so in their expressions."""
        graph = with_all_marks(graph)
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        return with_operators(graph, [_kept(operator, tensors) for operator in graph.operators])


def _kept(operator: Operator, tensors: Types) -> Operator:
    if not is_float(operator.accumulator) or operator.is_product_sum() or is_known(operator):
        return operator
    parts = exact_parts_of(operator, tensors)
    return with_scalars(operator, lambda scalar: _rounded(scalar, parts)) if any(map(_rounds, parts)) else operator


def _rounds(part: Scalar) -> bool:
    return isinstance(part, Apply) and part.function in ("add", "subtract", "divide")


def _rounded(scalar: Scalar, parts: frozenset[Scalar]) -> Scalar:
    """An expression in which products that are added, and states that divide, are rounded alone if they are in these parts."""
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_rounded(operand, parts) for operand in scalar.operands)
    if scalar in parts and scalar.function in ("add", "subtract"):
        operands = tuple(map(rounded_alone, operands))
    if scalar in parts and scalar.function == "divide" and isinstance(operands[1], State):
        operands = (operands[0], apply(ROUNDED, operands[1]))
    return Apply(scalar.function, operands)


def rounded_alone(scalar: Scalar) -> Scalar:
    """An expression that no multiply-add takes in: products are `ROUNDED`, but for those of positions, which are exact.

    >>> from tilewright.graph.scalar import Load
    >>> rounded_alone(apply("multiply", Load(0), Load(1))).function, rounded_alone(apply("add", Load(0), Load(1))).function
    ('rounded', 'add')
    """
    if not isinstance(scalar, Apply) or scalar.function not in PRODUCTS:
        return scalar
    leaves = [part for part in subexpressions(scalar) if not isinstance(part, Apply)]
    return scalar if all(isinstance(leaf, AxisValue | Literal | Parameter) for leaf in leaves) else apply(ROUNDED, scalar)


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
