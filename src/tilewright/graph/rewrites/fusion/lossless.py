"""Test for lossless fusion: a reader that computes a map's body by itself gets what it would have read.

Storing an element rounds, cuts off or wraps; and the reader computes in its own accumulator. Integers wrap in theirs, while
float32 has 24 bits: of integers beyond these it still knows how they compare with positions and short numbers, and how they are
rounded when they become floats.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.graph.conditions import constraint_of
from tilewright.graph.exactness import HALVES, IN_FLOAT32, INTEGERS, LARGEST_WHOLE, scalar_element_type
from tilewright.graph.scalar import Apply, AxisValue, Literal, Load, Parameter, Scalar, subexpressions
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Operator, Tensor

WHOLE_FUNCTIONS = frozenset(("add", "subtract", "multiply", "negative", "abs", "maximum", "minimum", "floor", "divide"))
"""Of short integers, for which they are exact: divisions are rounded down."""
Types = Mapping[str, Tensor]


def is_as_read(producer: Operator, reader: Operator, tensors: Types) -> bool:
    """Whether the body of a map, inside a reader, has the value that its result has there."""
    stored = tensors[producer.write.tensor].dtype
    if stored in INTEGERS and _is_widening(reader, stored, tensors):
        return producer.accumulator == "float32" and _is_clipped(producer.body, stored)
    made, used = (_computed(operator, tensors) for operator in (producer, reader))
    if made != used:
        return used in ("float32", "float64") and _is_safe(producer, stored, tensors)
    if stored == "bool":
        return is_condition(producer.body, [tensors[read.tensor].dtype for read in producer.reads])
    if stored in HALVES:
        return producer.accumulator == stored and all(tensors[read.tensor].dtype in (stored, "bool") for read in producer.reads)
    return stored == made


def _is_widening(reader: Operator, stored: str, tensors: Types) -> bool:
    """Whether a map in float32 only gives short integers a longer type."""
    written = tensors[reader.write.tensor].dtype
    is_copy = reader.is_map() and reader.body == Load(0) and reader.accumulator == "float32"
    return is_copy and written in INTEGERS and written != stored and np.can_cast(stored, written)


def _is_clipped(body: Scalar, dtype: str) -> bool:
    """Whether a float is within the range of an integer type, or NaN: both types cut off its fraction then, and make 0 of NaN."""
    match body:
        case Apply("minimum", (Apply("maximum", (_, Literal(low))), Literal(high))):
            return bool(np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max)
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


def _computed(operator: Operator, tensors: Types) -> str:
    return scalar_element_type(operator, tensors) or "float32"


def _is_safe(producer: Operator, stored: str, tensors: Types) -> bool:
    """Whether a body of integers gives in float32 (and then in float64, too) what its stored result gives, converted to it."""
    types = [tensors[read.tensor].dtype for read in producer.reads]
    if not all(dtype == "bool" or dtype in INTEGERS for dtype in types):
        return False
    if stored == "bool":
        return _is_safe_condition(producer.body, types)
    if stored in INTEGERS and (np.iinfo(stored).max < LARGEST_WHOLE or not all(np.can_cast(dtype, stored) for dtype in types)):
        return False
    return (stored in INTEGERS or stored == "float64") and _is_safe_value(producer.body, types)


def _is_safe_value(body: Scalar, types: list[str]) -> bool:
    """Rounding commutes with choosing an element; everything else has to be short."""
    match body:
        case Load():
            return True
        case Apply("where", (condition, yes, no)):
            return _is_safe_condition(condition, types) and _is_safe_value(yes, types) and _is_safe_value(no, types)
    return _is_short(body, types)


def _is_safe_condition(body: Scalar, types: list[str]) -> bool:
    if not isinstance(body, Apply):
        return isinstance(body, Load) and types[body.read] in IN_FLOAT32
    if body.function.startswith("logical_"):
        return all(_is_safe_condition(operand, types) for operand in body.operands)
    if not FUNCTIONS[body.function].is_condition:
        return False
    wide = [operand for operand in body.operands if not _is_short(operand, types)]
    return not wide or (len(wide) == 1 and isinstance(wide[0], Load)) or constraint_of(body) is not None


def _is_short(body: Scalar, types: list[str]) -> bool:
    """Whether an expression is made of positions, extents and short numbers."""
    return all(_is_short_node(node, types) for node in subexpressions(body))


def _is_short_node(node: Scalar, types: list[str]) -> bool:
    match node:
        case Load(read):
            return types[read] in IN_FLOAT32
        case Literal(value):
            return abs(value) < LARGEST_WHOLE and value == int(value)
        case Apply(function):
            return function in WHOLE_FUNCTIONS
    return isinstance(node, AxisValue | Parameter)
