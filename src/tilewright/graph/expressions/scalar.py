"""Scalar expressions: the value that an operator gives to one point of its index space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import reduce
from operator import is_
from typing import TypeAlias

from tilewright.graph.expressions.extents import Extent, SymbolicExtent
from tilewright.records import record


@record
class Literal:
    """A constant."""

    value: float


@record
class Load:
    """The element that the operator's read number `read` addresses at this point."""

    read: int


@record
class Point:
    """The operator's body at this point; only inside a `Reduction`."""


@record
class State:
    """A state variable of the operator's `Reduction`; only inside it."""

    name: str


@record
class Previous:
    """A state variable before the update; only inside a rescaling rule."""

    name: str


@record
class AxisValue:
    """The position along an axis, as a number (positions, causal biases)."""

    axis: str


@record
class Parameter:
    """A run-time scalar (a scale, a key length): an extent by its name."""

    name: str
    extent: SymbolicExtent | None = field(default=None, repr=False)
    """Of an extent with a formula, the extent."""


@record
class Apply:
    """A named function of `scalar_functions.FUNCTIONS` applied to scalars."""

    function: str
    operands: tuple[Scalar, ...]


Scalar: TypeAlias = Literal | Load | Point | State | Previous | AxisValue | Parameter | Apply


def scalar_of(extent: Extent) -> Scalar:
    """An extent in the body of an operator.

    >>> scalar_of(3), scalar_of(SymbolicExtent("s0", 5, 16, 16))
    (Literal(value=3.0), Parameter(name='s0'))
    """
    if isinstance(extent, int):
        return Literal(float(extent))
    return Parameter(extent.name, None if extent.formula is None else extent)


def apply(function: str, *operands: Scalar) -> Apply:
    """`Apply` with its operands spread out.

    >>> apply("add", Load(0), Literal(1.0))
    Apply(function='add', operands=(Load(read=0), Literal(value=1.0)))
    """
    return Apply(function, operands)


def fold(function: str, parts: Iterable[Scalar]) -> Scalar:
    """Some expressions, one at least, put together from left to right by a function of two.

    >>> fold("add", [Load(0), Load(1), Load(2)]) == apply("add", apply("add", Load(0), Load(1)), Load(2))
    True
    """
    return reduce(lambda left, right: apply(function, left, right), parts)


def times(x: Scalar, factor: float) -> Scalar:
    """A multiple; once is the expression itself."""
    return x if factor == 1 else apply("multiply", x, Literal(factor))


def rewrite(scalar: Scalar, replace: Callable[[Scalar], Scalar | None]) -> Scalar:
    """Replace, from the root down, every subexpression for which `replace` gives one."""
    replacement = replace(scalar)
    if replacement is not None:
        return replacement
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple([rewrite(operand, replace) for operand in scalar.operands])
    return scalar if all(map(is_, operands, scalar.operands)) else Apply(scalar.function, operands)


def with_loads(body: Scalar, values: Mapping[int, Scalar]) -> Scalar:
    """A body with an expression in the place of every read, by the number of the read."""
    return rewrite(body, lambda node: values[node.read] if isinstance(node, Load) else None)


def subexpressions(scalar: Scalar) -> tuple[Scalar, ...]:
    """The expression and all that is in it, the root first."""
    found: list[Scalar] = []
    left = [scalar]
    while left:
        node = left.pop()
        found.append(node)
        if isinstance(node, Apply):
            left.extend(reversed(node.operands))
    return tuple(found)


def nesting(scalar: Scalar) -> int:
    """How many functions are one inside the other at most.

    >>> nesting(Load(0)), nesting(apply("exp", apply("negative", Load(0))))
    (0, 2)
    """
    level, deepest = [scalar], 0
    while level := [operand for node in level if isinstance(node, Apply) for operand in node.operands]:
        deepest += 1
    return deepest


def is_of_row(scalar: Scalar) -> bool:
    """Whether a part of a reduction is made of states, literals and parameters alone: all points of a row have the same."""
    kinds = {type(node) for node in subexpressions(scalar)} - {Apply}
    return State in kinds and kinds <= {State, Literal, Parameter}
