"""Where a last bit may decide: functions that jump, and choices that do not.

Discontinuous functions in scalar expressions: which parts of an expression must keep every bit.

A floor, a rounding, a cast to integers, a comparison, mod, sign and a position turn a difference in the last bit of what they
read into another integer or another choice. Functions of a point and selections that hand values on pass that on to their reads.

Choices between values that are equal where their comparison changes, seen through the maps that make these values.

A leaky ReLU is a comparison, a product and a choice, three operators of most programs: the choice alone does not show what it
chooses from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from math import isclose, isfinite

import numpy as np

from tilewright.graph.expressions.scalar import Apply, Literal, Scalar, rewrite, subexpressions
from tilewright.graph.expressions.scalar_functions import COMPARISONS, FUNCTIONS, OF_BITS
from tilewright.graph.rewrites.fusion.compose import inlined, is_invertible
from tilewright.graph.types import Operator
from tilewright.records import record

ROUNDINGS = frozenset(("floor", "ceil", "round", "trunc", "sign", "mod", "fmod", "floor_divide"))
"""Beside comparisons. `isnan` and `isinf` are no discontinuities: where a NaN is, other last bits hardly decide."""


@lru_cache(maxsize=4096)
def exact_parts(scalar: Scalar, is_exact: bool = False, continuous: frozenset[Scalar] = frozenset()) -> frozenset[Scalar]:
    """The parts of an expression, itself included, that a discontinuous function reads, in it or, if `is_exact`, behind it.

    Choices are `continuous` where it says so, or where the expression itself shows it.

    >>> from tilewright.graph.expressions.scalar import Load, apply
    >>> quotient = apply("divide", Load(0), Literal(3.0))
    >>> exact_parts(apply("floor", quotient)) == {quotient, Load(0), Literal(3.0)}
    True
    >>> exact_parts(quotient)
    frozenset()
    """
    seen: set[tuple[Scalar, bool]] = set()
    waiting = [(scalar, is_exact)]
    while waiting:
        part = waiting.pop()
        if part not in seen:
            seen.add(part)
            waiting += _operands(*part, continuous)
    return frozenset(part for part, must_be_exact in seen if must_be_exact)


def _operands(scalar: Scalar, is_exact: bool, continuous: frozenset[Scalar]) -> Iterator[tuple[Scalar, bool]]:
    """The operands of a function, and whether they must be exact."""
    if not isinstance(scalar, Apply):
        return
    jumps = scalar.function in ROUNDINGS or scalar.function in COMPARISONS
    for number, operand in enumerate(scalar.operands):
        if number == 0 and isinstance(operand, Apply) and (scalar in continuous or is_continuous(scalar)):
            yield from ((compared, is_exact) for compared in operand.operands)
        else:
            yield operand, is_exact or jumps


def has_comparison(scalar: Scalar) -> bool:
    """Whether an expression chooses between two by one comparison."""
    if not isinstance(scalar, Apply) or scalar.function != "where":
        return False
    condition = scalar.operands[0]
    return isinstance(condition, Apply) and condition.function in COMPARISONS


def is_continuous(choice: Scalar) -> bool:
    """Whether a `where` by one comparison chooses between values that are equal where the comparison changes: LeakyRelu, Elu.

    Proved, not sampled: with one side of the comparison in the place of the other, both are the same expression or number.

    >>> from tilewright.graph.expressions.scalar import Load, apply
    >>> is_negative = apply("less", Load(0), Literal(0.0))
    >>> leaky, thresholded = apply("multiply", Load(0), Literal(0.1)), apply("add", Load(0), Literal(1.0))
    >>> [is_continuous(apply("where", is_negative, below, Load(0))) for below in (leaky, thresholded)]
    [True, False]
    """
    if not isinstance(choice, Apply) or not has_comparison(choice):
        return False
    condition, yes, no = choice.operands
    assert isinstance(condition, Apply)
    sides = condition.operands if not isinstance(condition.operands[0], Literal) else condition.operands[::-1]
    at_boundary = [_folded(rewrite(branch, {sides[0]: sides[1]}.get)) for branch in (yes, no)]
    if not _leaves(sides[0]).isdisjoint(_leaves(at_boundary[0]) | _leaves(at_boundary[1])):
        return False  # the choice depends on more than the side that is compared
    return at_boundary[0] == at_boundary[1] or _are_same_numbers(*at_boundary)


def _leaves(scalar: Scalar) -> frozenset[Scalar]:
    return frozenset(part for part in subexpressions(scalar) if not isinstance(part, Apply | Literal))


def _are_same_numbers(yes: Scalar, no: Scalar) -> bool:
    """Whether both are finite numbers that differ by no more than a rounding of float32: at a pole, signs decide."""
    if not isinstance(yes, Literal) or not isinstance(no, Literal):
        return False
    return isfinite(yes.value) and isclose(yes.value, no.value, rel_tol=2.0**-23)


def _folded(scalar: Scalar) -> Scalar:
    """An expression with numbers in the place of functions of numbers, and of products with 0."""
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(map(_folded, scalar.operands))
    values = [operand.value for operand in operands if isinstance(operand, Literal)]
    if scalar.function == "multiply" and 0 in values:
        return Literal(0.0)
    if scalar.function == "where" and isinstance(operands[0], Literal):
        return operands[1] if operands[0].value else operands[2]
    if len(values) == len(operands) and scalar.function not in OF_BITS:
        with np.errstate(all="ignore"):
            return Literal(float(FUNCTIONS[scalar.function].numpy(*values)))
    return Apply(scalar.function, operands)


MOST_STEPS = 6
"""Maps behind each other that are looked through."""
MOST_NODES = 96
"""Of an expression that is looked at."""


@record
class ContinuousChoices:
    """Of the operators of a graph, by the tensors that they write."""

    operators: Mapping[str, Operator]
    whole: dict[tuple[str, int], Operator] = field(default_factory=dict)
    """Maps with what they read inside of them, by their results and so many steps."""

    def of(self, operator: Operator) -> frozenset[Scalar]:
        """The choices in the body of an operator that are continuous."""
        if not any(map(has_comparison, subexpressions(operator.body))):
            return frozenset()
        body = self._with_reads(operator, MOST_STEPS).body
        return frozenset(choice for choice, seen in _pairs(operator.body, body) if is_continuous(seen))

    def _with_reads(self, operator: Operator, steps: int) -> Operator:
        able = {read.tensor for read in operator.reads if steps and _is_plain(self.operators.get(read.tensor))}
        whole = inlined(operator, {tensor: self._whole(tensor, steps - 1) for tensor in sorted(able)})
        return whole if len(subexpressions(whole.body)) <= MOST_NODES else operator

    def _whole(self, tensor: str, steps: int) -> Operator:
        if (tensor, steps) not in self.whole:
            self.whole[tensor, steps] = self._with_reads(self.operators[tensor], steps)
        return self.whole[tensor, steps]


def _is_plain(producer: Operator | None) -> bool:
    """Whether an operator is a map that may be computed inside of its readers."""
    if producer is None or not producer.is_map() or not is_invertible(producer):
        return False
    return all(read.guard is None and not read.lookups for read in producer.reads)


def _pairs(scalar: Scalar, seen: Scalar) -> Iterator[tuple[Scalar, Scalar]]:
    """The parts of an expression with those that stand in their places in the same expression of more."""
    yield scalar, seen
    if isinstance(scalar, Apply) and isinstance(seen, Apply):
        for part, operand in zip(scalar.operands, seen.operands, strict=True):
            yield from _pairs(part, operand)
