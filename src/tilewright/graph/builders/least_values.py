"""Lower bounds on the elements of tensors, as far as the maps that make them show: what a rectifier makes is not negative."""

from __future__ import annotations

from math import inf

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Apply, Literal, Load, Scalar
from tilewright.graph.types import Operator, Tensor


def least_value(builder: Builder, tensor: Tensor) -> float:
    """A number that no element of a tensor is below; minus infinity where nothing is known. Elements may be NaN all the same.

    >>> builder = Builder("f")
    >>> x = builder.input("x", (2, 3), "float32")
    >>> least_value(builder, builder.map("clip", x, 1.0, 6.0)), least_value(builder, builder.map("minimum", x, 6.0))
    (1.0, -inf)
    """
    if tensor.name in builder.constants:
        return _least_constant(builder.known[tensor.name])
    producer = next((operator for operator in reversed(builder.operators) if operator.write.tensor == tensor.name), None)
    return -inf if producer is None or not producer.is_map() else _least(builder, producer, producer.body)


def _least_constant(values: np.ndarray) -> float:
    found = float(values.min()) if values.size and values.dtype.kind in "iuf" else -inf
    return found if found == found else -inf


def _least(builder: Builder, operator: Operator, body: Scalar) -> float:
    """Of an expression in a map: of maxima and minima of numbers and constant tensors."""
    match body:
        case Literal(value):
            return value if value == value else -inf
        case Load(read):
            values = builder.known.get(operator.reads[read].tensor)
            return -inf if values is None or operator.reads[read].guard else _least_constant(values)
        case Apply("maximum", (first, second)):
            return max(_least(builder, operator, first), _least(builder, operator, second))
        case Apply("minimum", (first, second)):
            return min(_least(builder, operator, first), _least(builder, operator, second))
    return -inf
