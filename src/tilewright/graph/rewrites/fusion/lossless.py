"""Which producers a reader sees without loss.

Bounds of the whole numbers in a body: which type computes all of them as they are, so that two types give the same.

Test for lossless fusion: a reader that computes a map's body by itself gets what it would have read.

Storing an element rounds, cuts off or wraps; and the reader computes in its own accumulator. Three kinds of bodies have the same
value there: those of the same type; those that two types compute alike, since all their numbers are whole and none of them is
rounded or wraps (`whole_numbers`); and those of halves, whose rounding the reader does by itself. What a conversion of a load to
the type that a body is computed in changes, is changed: such a body has the value of that type alone (`conversions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from math import inf
from typing import TypeAlias

import numpy as np

from tilewright.graph.exactness import HALVES, INTEGERS, LARGEST_WHOLE, WRAPPING, exact_element_type, exact_type
from tilewright.graph.expressions.conditions import constraint_of
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Scalar, apply, subexpressions
from tilewright.graph.expressions.scalar_functions import AS_STORED, FUNCTIONS
from tilewright.graph.numpy_types import is_lossless, numbers_of, rounded_once
from tilewright.graph.rewrites.fusion.compose import inlined
from tilewright.graph.types import Operator, SymbolicExtent, Tensor, element_bytes, largest_extent
from tilewright.records import record

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


@record
class WholeNumbers:
    """The whole numbers in the body of a map that reads integers and truth values."""

    operator: Operator
    tensors: Mapping[str, Tensor]

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
            case Load(read):
                numbers = numbers_of(self.tensors[self.operator.reads[read].tensor].dtype)
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
        case Apply("floor", (Apply("divide", operands),)) | Apply(_, operands):
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
        case "where":
            return min(lows[1:]), max(highs[1:])
    return (0, 1) if FUNCTIONS[function].is_condition else NOTHING


CHOOSING = frozenset(("maximum", "minimum", "negative", "abs", "floor", "ceil", "trunc", "round", "sign"))
"""Functions whose value has no more digits than their operands."""
SHORT = frozenset(("int8", "uint8", "int16", "uint16"))
"""Integers that a NaN becomes 0 in."""
WHOLE = INTEGERS | {"bool"}
Types = Mapping[str, Tensor]


def inlined_as_read(operator: Operator, producers: Mapping[str, Operator], tensors: Types) -> Operator:
    """An operator that computes the bodies of those of these maps by itself whose results it then computes with as before.

    It stays what it is where it would be computed in another type because of what they read.
    """
    readable = [as_read(producer, operator, tensors) for producer in producers.values()]
    kept = {producer.write.tensor: producer for producer in readable if producer is not None}
    fused = inlined(operator, kept)
    return fused if fused is operator or _computed(fused, tensors) == _computed(operator, tensors) else operator


def as_read(producer: Operator, reader: Operator, tensors: Types) -> Operator | None:
    """A map whose body has, inside a reader, the value that this map's result has there; None if it has none."""
    if is_as_read(producer, reader, tensors):
        return producer
    stored = tensors[producer.write.tensor].dtype
    alike = _computed(producer, tensors) == _computed(reader, tensors) == _computed_together(producer, reader, tensors)
    if stored in HALVES and alike and producer.is_map():
        return replace(producer, body=apply(AS_STORED[stored], producer.body))
    return None


def is_as_read(producer: Operator, reader: Operator, tensors: Types) -> bool:
    """Whether the body of a map, inside a reader, has the value that its result has there."""
    stored = tensors[producer.write.tensor].dtype
    if stored in INTEGERS and _is_widening(reader, stored, tensors):
        return producer.accumulator == "float32" and _is_clipped(producer.body, stored)
    made, used = (_computed(operator, tensors) for operator in (producer, reader))
    if used != _computed_together(producer, reader, tensors):
        return False
    types = [tensors[read.tensor].dtype for read in producer.reads]
    if made != used:
        is_whole = producer.is_map() and all(dtype in WHOLE for dtype in types)
        return is_whole and _Converted(producer, tensors, made, used).is_exact(stored)
    if stored == "bool":
        return is_condition(producer.body, types)
    if stored in HALVES:
        return producer.is_map() and _is_of_type(producer.body, stored, types)
    return stored == made or (stored in SHORT and made in INTEGERS and _is_short(producer, reader, tensors))


def _is_short(producer: Operator, reader: Operator, tensors: Types) -> bool:
    """Whether it makes no difference that a map of longer integers is stored as short ones: it has none else, or nothing but
    the lowest bits of what is read enters what the reader stores."""
    if not producer.is_map():
        return False
    stored, whole = tensors[producer.write.tensor].dtype, WholeNumbers(producer, tensors)
    (low, high), (least, most) = limits(stored), whole.bounds(producer.body)
    if low <= least and most <= high and whole.are_within(producer.body, producer.accumulator):
        return True
    reads = {number for number, read in enumerate(reader.reads) if read.tensor == producer.write.tensor}
    written = tensors[reader.write.tensor].dtype
    is_as_short = reader.is_map() and written in SHORT and element_bytes(written) <= element_bytes(stored)
    return is_as_short and not reads & reader.looked_up() and _wraps(reader.body, reads)


def _wraps(body: Scalar, reads: Set[int]) -> bool:
    """Whether the lowest bits of a body depend on nothing but those of some loads.

    >>> x, y = Load(0), Load(1)
    >>> _wraps(apply("add", x, apply("maximum", y, y)), {0}), _wraps(apply("maximum", x, y), {0})
    (True, False)
    """
    match body:
        case Apply(function, operands) if function in WRAPPING:
            return all(_wraps(operand, reads) for operand in operands)
        case Load():
            return True
    return not any(isinstance(node, Load) and node.read in reads for node in subexpressions(body))


def _is_widening(reader: Operator, stored: str, tensors: Types) -> bool:
    """Whether a map in float32 only gives short integers a longer short type."""
    written = tensors[reader.write.tensor].dtype
    is_copy = reader.is_map() and reader.body == Load(0) and reader.accumulator == "float32"
    return is_copy and written in SHORT and written != stored and is_lossless(stored, written)


def in_floats(reader: Operator, producer: Operator, tensors: Types) -> Operator:
    """A reader that gives floats a short integer type, computed in float32, where they lie within its limits; else itself."""
    written = tensors[reader.write.tensor].dtype
    is_copy = reader.is_map() and reader.body == Load(0) and written in SHORT and reader.accumulator == "int32"
    is_float = tensors[producer.write.tensor].dtype == "float32" and producer.accumulator == "float32"
    return replace(reader, accumulator="float32") if is_copy and is_float and _is_clipped(producer.body, written) else reader


def _is_clipped(body: Scalar, dtype: str) -> bool:
    """Whether a float is within the range of an integer type, or NaN: both types cut off its fraction then, and make 0 of NaN."""
    match body:
        case Apply("minimum", (Apply("maximum", (_, Literal(low))), Literal(high))):
            return bool(np.iinfo(dtype).min <= low <= high <= np.iinfo(dtype).max)
    return False


def is_condition(body: Scalar, types: list[str]) -> bool:
    """Whether a body is 0 or 1, given the element types of its reads."""
    match body:
        case Load(read):
            return types[read] == "bool"
        case Literal(value):
            return value in (0, 1)
        case Apply("where", (_, yes, no)):
            return is_condition(yes, types) and is_condition(no, types)
        case Apply(function):
            return FUNCTIONS[function].is_condition
    return False


def _is_of_type(body: Scalar, dtype: str, types: list[str]) -> bool:
    """Whether the value of a body is a number of a floating-point type, so that storing it changes nothing."""
    match body:
        case Load(read):
            return is_lossless(types[read], dtype)
        case Literal(value):
            return bool(np.array_equal(rounded_once(np.float64(value), dtype).astype(np.float64), value, equal_nan=True))
        case Apply("where", (_, yes, no)):
            return _is_of_type(yes, dtype, types) and _is_of_type(no, dtype, types)
        case Apply(function, operands) if function in CHOOSING:
            return all(_is_of_type(operand, dtype, types) for operand in operands)
        case Apply(function):
            return FUNCTIONS[function].is_condition or function == AS_STORED[dtype]
    return False


def _computed(operator: Operator, tensors: Types) -> str:
    return exact_element_type(operator, tensors) or "float32"


def _computed_together(producer: Operator, reader: Operator, tensors: Types) -> str:
    """The type that a reader would be computed in if it read what a producer reads."""
    looked_up, written = reader.looked_up(), producer.write.tensor
    own = [read.tensor for number, read in enumerate(reader.reads) if number not in looked_up and read.tensor != written]
    loaded = (tensors[name].dtype for name in (*own, *(read.tensor for read in producer.reads)))
    return exact_type(reader.accumulator, loaded) or "float32"


class _Converted:
    """A map of integers and truth values, computed in one type, whose body is to be computed in another one."""

    def __init__(self, producer: Operator, tensors: Types, made: str, used: str) -> None:
        self.body, self.made, self.used = producer.body, made, used
        self.types = [tensors[read.tensor].dtype for read in producer.reads]
        self.whole = WholeNumbers(producer, tensors)

    def is_exact(self, stored: str) -> bool:
        """Whether the body gives in the other type what the stored result gives, converted to it."""
        if not all(is_lossless(dtype, self.made) for dtype in self.types):
            return False
        if stored == "bool":
            return is_condition(self.body, self.types) and self.is_exact_condition(self.body)
        is_kept = stored == self.made and (stored in INTEGERS or (stored == "float64" and self.used not in INTEGERS))
        return is_kept and self.is_exact_value(self.body)

    def is_exact_value(self, body: Scalar) -> bool:
        """Converting commutes with choosing an element; everything else has to be whole in both types."""
        match body:
            case Load():
                return True
            case Apply("where", (condition, yes, no)):
                return self.is_exact_condition(condition) and self.is_exact_value(yes) and self.is_exact_value(no)
        return self.whole.are_within(body, self.made) and self.whole.are_within(body, self.used)

    def is_exact_condition(self, body: Scalar) -> bool:
        """Whether a condition holds in both types at once. Being rounded keeps a number from 0, wrapping does not."""
        if not isinstance(body, Apply):
            return isinstance(body, Load) and (self.used not in INTEGERS or is_lossless(self.types[body.read], self.used))
        if body.function.startswith("logical_"):
            return all(self.is_exact_condition(operand) for operand in body.operands)
        if not FUNCTIONS[body.function].is_condition or not self.is_whole(body):
            return False
        if all(self.whole.are_within(operand, self.used) for operand in body.operands):
            return True
        return self.used not in INTEGERS and self.whole.compares_alike(body, self.used)

    def is_whole(self, comparison: Apply) -> bool:
        """Whether the type that the map is computed in neither rounds an operand nor lets it wrap: a load it does not change.

        Sums of positions and one int64 are taken not to wrap: they do only within 2^24 of the ends of the type.
        """
        kept = all(isinstance(part, Load) or self.whole.are_within(part, self.made) for part in comparison.operands)
        return kept or (self.made == "int64" and constraint_of(comparison) is not None)
