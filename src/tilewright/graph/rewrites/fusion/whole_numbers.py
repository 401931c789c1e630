"""Bounds of the whole numbers in a body: which type computes all of them as they are, so that two types give the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from tilewright.graph.conditions import constraint_of
from tilewright.graph.conversions import numbers_of
from tilewright.graph.exactness import INTEGERS, LARGEST_WHOLE
from tilewright.graph.index import Index
from tilewright.graph.scalar import Apply, AxisValue, Literal, Load, Parameter, Scalar, subexpressions
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Operator, SymbolicExtent, Tensor, largest_extent

Bounds: TypeAlias = tuple[float, float]
"""The least and the largest value."""
NOTHING: Bounds = (-inf, inf)
"""Of what may be no whole number."""
LARGEST_EXTENT = LARGEST_WHOLE // 4
"""Of an extent known at run time of which nothing else is known here."""


def limits(dtype: str) -> Bounds:
    """Between which numbers a type computes with whole ones as they are: of floats with one bit less than they have digits, so
    that what is rounded to these limits lies beyond them.

    >>> limits("float32"), limits("uint8")
    ((-16777215, 16777215), (0, 255))
    """
    numbers = numbers_of(dtype)
    if dtype in INTEGERS:
        return numbers.lowest, numbers.largest
    most = (1 << numbers.digits) - 1
    return -most, most


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The whole numbers in the body of a map that reads integers and truth values."""

    operator: Operator
    tensors: Mapping[str, Tensor]

    def type_of(self, load: Load) -> str:
        """The element type of what is loaded."""
        return self.tensors[self.operator.reads[load.read].tensor].dtype

    def are_within(self, scalar: Scalar, dtype: str) -> bool:
        """Whether all numbers on the way to the value of an expression are whole, and computed by a type as they are."""
        low, high = limits(dtype)
        return all(low <= least and most <= high for least, most in map(self.bounds, _numbers(scalar)))

    def compares_alike(self, comparison: Apply, dtype: str) -> bool:
        """Whether a type of floats compares as whole numbers do, in spite of a load that is rounded to it.

        Rounding keeps the order. A load beyond the limits stays there, and outweighs everything else where that is together
        within the limits; one inside of the limits is not rounded.
        """
        loads = [node for node in subexpressions(comparison) if isinstance(node, Load)]
        others = [operand for operand in comparison.operands if not isinstance(operand, Load)]
        if len(loads) == 1 and all(self.are_within(operand, dtype) for operand in others):
            return True
        constraint = constraint_of(comparison)
        if constraint is None or len(loads) > 1:
            return False
        beside = sum(self._highest(datum.leaf) for datum in constraint.data if isinstance(datum.leaf, Parameter))
        constants = sum(abs(node.value) for node in subexpressions(comparison) if isinstance(node, Literal))
        return self._size(constraint.index) + beside + constants <= limits(dtype)[1]

    def bounds(self, scalar: Scalar) -> Bounds:
        """Between which numbers the value of an expression lies."""
        match scalar:
            case Load():
                numbers = numbers_of(self.type_of(scalar))
                return numbers.lowest, numbers.largest
            case Literal(value) if value == value and abs(value) != inf and value == int(value):
                return int(value), int(value)
            case AxisValue(axis):
                return 0, max(0, largest_extent(self.operator.axis(axis).extent) - 1)
            case Parameter():
                return 0, self._highest(scalar)
            case Apply("floor", (Apply("divide", (dividend, divisor)),)):
                return _quotient(self.bounds(dividend), self.bounds(divisor))
            case Apply(function, operands):
                return _bounds_of(function, [self.bounds(operand) for operand in operands])
        return NOTHING

    def _highest(self, leaf: Scalar) -> int:
        """The largest value of an extent known at run time."""
        assert isinstance(leaf, Parameter)
        if leaf.extent is not None:
            return leaf.extent.high
        extents = (axis.extent for axis in self.operator.axes)
        own = [extent.high for extent in extents if isinstance(extent, SymbolicExtent) and extent.name == leaf.name]
        return own[0] if own else LARGEST_EXTENT

    def _size(self, index: Index) -> float:
        """A bound of the sum of the sizes of all terms of an affine index, but for its constant."""
        terms = [(self.operator.axis(str(atom)).extent, abs(coefficient)) for atom, coefficient in index.terms]
        return sum(coefficient * largest_extent(extent) for extent, coefficient in terms)


def _numbers(scalar: Scalar) -> list[Scalar]:
    """All numbers on the way; a quotient that is rounded down is one with its rounding."""
    match scalar:
        case Apply("floor", (Apply("divide", operands),)):
            return [scalar, *(node for operand in operands for node in _numbers(operand))]
        case Apply(_, operands):
            return [scalar, *(node for operand in operands for node in _numbers(operand))]
    return [scalar]


def _quotient(dividend: Bounds, divisor: Bounds) -> Bounds:
    """Of natural numbers, rounded down: integers are cut off, which is the same."""
    if dividend[0] < 0 or divisor[0] <= 0 or inf in (dividend[1], divisor[1]):
        return NOTHING
    return dividend[0] // divisor[1], dividend[1] // divisor[0]


def _bounds_of(function: str, operands: Sequence[Bounds]) -> Bounds:
    """Of a function that is the same in all types that hold its operands and its result."""
    if any(bound in (inf, -inf) for bounds in operands for bound in bounds):
        return NOTHING
    lows, highs = [bounds[0] for bounds in operands], [bounds[1] for bounds in operands]
    match function:
        case "add":
            return sum(lows), sum(highs)
        case "subtract":
            return lows[0] - highs[1], highs[0] - lows[1]
        case "multiply":
            corners = [x * y for x in operands[0] for y in operands[1]]
            return min(corners), max(corners)
        case "negative":
            return -highs[0], -lows[0]
        case "abs":
            return max(0, lows[0], -highs[0]), max(abs(lows[0]), abs(highs[0]))
        case "maximum":
            return max(lows), max(highs)
        case "minimum":
            return min(lows), min(highs)
        case "floor":
            return operands[0]
    return (0, 1) if FUNCTIONS[function].is_condition else NOTHING
