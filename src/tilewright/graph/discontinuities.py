"""Discontinuous functions in scalar expressions: which parts of an expression must keep every bit.

A floor, a rounding, a cast to integers, a comparison, mod, sign and a position turn a difference in the last bit of what they
read into another integer or another choice. Functions of a point and selections that hand values on pass that on to their reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from tilewright.graph.scalar import Apply, Literal, Scalar, rewrite, subexpressions
from tilewright.graph.scalar_functions import FUNCTIONS

ROUNDINGS = frozenset(("floor", "ceil", "round", "trunc", "sign", "mod", "fmod", "floor_divide"))
COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
"""`isnan` and `isinf` are none: other last bits make no NaN, and no infinity but at the largest number."""
SAMPLES = ((0.37, -1.9, 2.3), (-0.73, 1.1, -5.9), (3.7, 0.21, 0.87))
"""Values of what else an expression reads, for comparing two expressions at a boundary."""


@lru_cache(maxsize=4096)
def exact_parts(scalar: Scalar, is_exact: bool = False, continuous: frozenset[Scalar] = frozenset()) -> frozenset[Scalar]:
    """The parts of an expression, itself included, that a discontinuous function reads, in it or, if `is_exact`, behind it.

    Choices are `continuous` where it says so, or where the expression itself shows it.

    >>> from tilewright.graph.scalar import Load, apply
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
        is_choice = number == 0 and has_comparison(scalar)
        if is_choice and isinstance(operand, Apply) and (scalar in continuous or is_continuous(scalar)):
            yield from ((compared, is_exact) for compared in operand.operands)
        else:
            yield operand, is_exact or jumps


def has_comparison(scalar: Scalar) -> bool:
    """Whether an expression chooses between two by one comparison."""
    if not isinstance(scalar, Apply) or scalar.function != "where":
        return False
    condition = scalar.operands[0]
    return isinstance(condition, Apply) and condition.function in COMPARISONS


def is_continuous(choice: Apply) -> bool:
    """Whether a `where` by one comparison chooses between values that are equal where the comparison changes: LeakyRelu, Elu.

    >>> from tilewright.graph.scalar import Load, apply
    >>> is_negative = apply("less", Load(0), Literal(0.0))
    >>> leaky, thresholded = apply("multiply", Load(0), Literal(0.1)), apply("add", Load(0), Literal(1.0))
    >>> [is_continuous(apply("where", is_negative, below, Load(0))) for below in (leaky, thresholded)]
    [True, False]
    """
    condition, yes, no = choice.operands
    assert isinstance(condition, Apply)
    sides = condition.operands if not isinstance(condition.operands[0], Literal) else condition.operands[::-1]
    at_boundary = [rewrite(branch, {sides[0]: sides[1]}.get) for branch in (yes, no)]
    leaves, others = _leaves(sides[0]), dict.fromkeys((*_leaves(at_boundary[0]), *_leaves(at_boundary[1])))
    if not leaves.isdisjoint(others):
        return False  # the choice depends on more than the side that is compared
    with np.errstate(all="ignore"):
        return all(_are_equal(at_boundary, dict(zip(others, _repeated(sample, len(others)), strict=True))) for sample in SAMPLES)


def _leaves(scalar: Scalar) -> frozenset[Scalar]:
    return frozenset(part for part in subexpressions(scalar) if not isinstance(part, Apply | Literal))


def _repeated(sample: tuple[float, ...], count: int) -> list[float]:
    return [sample[number % len(sample)] * (1 + number // len(sample)) for number in range(count)]


def _are_equal(branches: Iterable[Scalar], values: Mapping[Scalar, float]) -> bool:
    yes, no = (_value(branch, values) for branch in branches)
    return bool(np.isclose(yes, no, rtol=1e-6, atol=1e-9))


def _value(scalar: Scalar, values: Mapping[Scalar, float]) -> float:
    match scalar:
        case Literal(value):
            return value
        case Apply(function, operands):
            if function.startswith("bitwise") or function.endswith("_shift"):
                return float("nan")  # of integers alone
            return float(FUNCTIONS[function].numpy(*(_value(operand, values) for operand in operands)))
    return values[scalar]
