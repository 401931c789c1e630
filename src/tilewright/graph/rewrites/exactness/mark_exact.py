"""Results that must be exact to the last bit, and what operators leave alone for them.

Exactness marks: the tensors that a discontinuous function reads, directly or through functions of points and selections.

Rewrites and algorithms that change last bits leave what makes these tensors as it is (`graph/licences.py`).

What operators with exact results leave alone: roundings, and rows as a whole.

Roundings of products that a discontinuous function reads: no multiply-add takes such a product in.

`a * b + c` is one multiply-add, rounded once, wherever last bits are free. Where they decide, code generation is told to round
the product alone (`ROUNDED`), as the graph says, and to divide the points of a row, not to multiply by a reciprocal.

Softmax whose weights, or sums of them, a discontinuous function reads: rows stay whole, and every weight is divided.

The rescaling rules of a reduction let planning sum undivided weights, correct such sums from block to block, and divide them at
the end (Milakov and Gimelshein 2018, algorithm 3): other terms are then rounded than the operators name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_

from tilewright.errors import InternalError
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.expressions.scalar import (
    Apply,
    AxisValue,
    Literal,
    Load,
    Parameter,
    Point,
    Scalar,
    State,
    apply,
    subexpressions,
)
from tilewright.graph.expressions.scalar_functions import ROUNDED
from tilewright.graph.licences import with_marks
from tilewright.graph.numpy_types import is_float
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.exactness.continuous_choices import ContinuousChoices, exact_parts
from tilewright.graph.rewrites.fusion.fuse_maps import InlineConditions
from tilewright.graph.rewrites.fusion.match_softmax_and_norms import is_known
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph, Operator, Tensor
from tilewright.records import record

Types = Mapping[str, Tensor]
Parts = frozenset[Scalar]


@record
class MarkExact(Rewrite):
    """Marks results in floating point, from the outputs back: nothing else changes.

    Sums, means, products, convolutions, softmax and norms end a path; their own results are marked. Maxima and minima of rows and
    windows, and gathers, hand values on. ArgMax, TopK and NonMaxSuppression over computed scores do not count as discontinuous.
    """

    everywhere: bool = False
    """Whether every result is marked (`precision="strict"`), and not those alone that a discontinuous function reads."""

    def run(self, graph: Graph) -> Graph:
        """The graph with its marks, those it has included."""
        tensors = graph.by_name
        marked = {tensor.name for tensor in graph.tensors if tensor.needs_exact}
        operators = InlineConditions().run(graph).operators  # a choice is seen with its comparison
        choices = ContinuousChoices({operator.write.tensor: operator for operator in operators})
        for operator in reversed(operators):
            result, continuous = operator.write.tensor, choices.of(operator)
            parts = _parts_inside(operator, tensors, continuous)
            if State in map(type, parts) or (self.everywhere and is_float(tensors[result].dtype)):
                marked.add(result)
            if result in marked:
                parts |= _parts_behind(operator, continuous)
            marked.update(_reads(operator, parts, tensors))
        return with_marks(graph, marked - {*graph.inputs, *dict(graph.constants)})


def with_inherited_marks(graph: Graph, before: Graph) -> Graph:
    """A graph after a rewrite, whose new tensors, and those with new readers, are marked where they make something marked."""
    is_same = len(graph.operators) == len(before.operators) and all(map(is_, graph.operators, before.operators))
    return graph if is_same else with_all_marks(graph)


def with_all_marks(graph: Graph) -> Graph:
    """A graph in which marks have reached all that makes what is marked; one without marks stays so."""
    return MarkExact().run(graph) if any(tensor.needs_exact for tensor in graph.tensors) else graph


def check_licence(graph: Graph, before: Graph, step: Rewrite) -> None:
    """Raise `InternalError` where a rewrite has changed what makes a marked result, and its licence does not permit that."""
    if step.licence.permits(graph.tensors):
        return
    same = {id(operator) for operator in graph.operators}
    exact = {tensor.name for tensor in before.tensors if tensor.needs_exact}
    changed = [op.name for op in before.operators if op.write.tensor in exact and id(op) not in same]
    if changed:
        raise InternalError(f"{step.name} changes last bits of {', '.join(changed)}, which a discontinuous function reads")


def exact_parts_of(operator: Operator, tensors: Types) -> frozenset[Scalar]:
    """The parts of an operator's expressions that must keep every bit, for its own discontinuous functions or its readers'."""
    parts = _parts_inside(operator, tensors)
    if not tensors[operator.write.tensor].needs_exact:
        return parts
    finish = exact_parts(operator.reduction.finish, True) if operator.reduction is not None else frozenset()
    return parts | _parts_behind(operator) | finish


def _reads(operator: Operator, parts: frozenset[Scalar], tensors: Types) -> set[str]:
    """The tensors in floating point that an operator reads in these parts."""
    read = {access.tensor for number, access in enumerate(operator.reads) if Load(number) in parts}
    return {name for name in read if is_float(tensors[name].dtype)}


def _parts_inside(operator: Operator, tensors: Types, continuous: Parts = frozenset()) -> Parts:
    """The parts that an operator's own discontinuous functions read: casts to integers, where it stores such, are one."""
    is_cast = not is_float(tensors[operator.write.tensor].dtype) or operator.accumulator in INTEGERS
    return _parts(operator, is_cast, is_cast, continuous)


def _parts_behind(operator: Operator, continuous: Parts = frozenset()) -> Parts:
    """The parts that hand values on to the result: all of a map, what a maximum is taken of, nothing of a sum."""
    return _parts(operator, True, False, continuous)


def _parts(operator: Operator, is_exact: bool, is_cast: bool, continuous: Parts) -> Parts:
    reduction = operator.reduction
    if reduction is None:
        return exact_parts(operator.body, is_exact, continuous)
    parts = exact_parts(reduction.finish, is_cast)
    selects = isinstance(reduction.finish, State) and all(state.combine in ("maximum", "minimum") for state in reduction.states)
    for state in reduction.states:
        parts |= exact_parts(state.contribution, is_exact and selects)
    return parts | exact_parts(operator.body, Point() in parts, continuous)


PRODUCTS = ("multiply", "square")


class KeepRoundings(Rewrite):
    """Products and divisors in parts that must be exact are `ROUNDED`; how softmax and norms divide belongs to them.

    What algorithms have put between marked tensors is marked first.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose exact parts say so in their expressions."""
        graph = with_all_marks(graph)
        return with_operators(graph, [_kept(operator, graph.by_name) for operator in graph.operators])


def _kept(operator: Operator, tensors: Types) -> Operator:
    if not is_float(operator.accumulator) or operator.is_product_sum() or is_known(operator):
        return operator
    parts = exact_parts_of(operator, tensors)
    rounds = any(isinstance(part, Apply) and part.function in ("add", "subtract", "divide") for part in parts)
    return operator.with_scalars(lambda scalar: _rounded(scalar, parts)) if rounds else operator


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

    >>> from tilewright.graph.expressions.scalar import Load
    >>> rounded_alone(apply("multiply", Load(0), Load(1))).function, rounded_alone(apply("add", Load(0), Load(1))).function
    ('rounded', 'add')
    """
    if not isinstance(scalar, Apply) or scalar.function not in PRODUCTS:
        return scalar
    leaves = [part for part in subexpressions(scalar) if not isinstance(part, Apply)]
    return scalar if all(isinstance(leaf, AxisValue | Literal | Parameter) for leaf in leaves) else apply(ROUNDED, scalar)


class WholeRows(Rewrite):
    """Takes the rescaling rules away where the result, or that of an operator that sums it, must be exact."""

    def run(self, graph: Graph) -> Graph:
        """The graph whose other reductions keep their rules."""
        exact = {tensor.name for tensor in graph.tensors if tensor.needs_exact}
        summed = (access.tensor for operator in graph.operators if operator.write.tensor in exact for access in operator.reads)
        fixed = exact.union(summed)
        return with_operators(graph, [_ruled(operator, fixed) for operator in graph.operators])


def _ruled(operator: Operator, fixed: set[str]) -> Operator:
    if operator.reduction is None or not operator.reduction.rescales or operator.write.tensor not in fixed:
        return operator
    return replace(operator, reduction=replace(operator.reduction, rescales=()))
