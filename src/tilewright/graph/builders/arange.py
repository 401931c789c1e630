"""Evenly spaced numbers, by the positions along an axis: no memory is read, and readers compute them where they need
them. Extents known at run time are numbers of this kind, too: maps of nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.extents import Extent, SymbolicExtent, ceil_quotient, largest_extent, maximum, minus, range_of
from tilewright.graph.scalar import AxisValue, Literal, Scalar, apply, scalar_of
from tilewright.graph.shapes import symbols_of
from tilewright.graph.types import Operator, Tensor


def arange(
    extent: Extent, start: float | SymbolicExtent, step: float, dtype: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """`start + step * i` for i in 0..extent-1, of shape (extent,). Raises `ShapeError` for whole numbers beyond 2^24.

    >>> operator, tensor = arange(4, 0, 1, "int64", name="arange", result="y")
    >>> operator.body, operator.reads, tensor.shape
    (AxisValue(axis='d0'), (), (4,))
    """
    _check_exact(extent, start, step)
    body: Scalar = AxisValue("d0")
    body = body if abs(step) == 1 else apply("multiply", body, Literal(float(abs(step))))
    first = scalar_of(start) if isinstance(start, SymbolicExtent) else Literal(float(start))
    if step < 0:
        body = apply("subtract", first, body)  # no factor is negative: unsigned integers have none
    elif start != 0:
        body = apply("add", body, first)
    return map_of("arange", (extent,), (), body, dtype, name, result)


def held_positions(extent: Extent, begin: Extent, length: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where `extent` positions lie in a part of `length` that begins at `begin`; outside of it, at its first or last element."""
    operator, tensor = arange(extent, 0, 1, "int64", name=name, result=result)
    ahead = apply("subtract", operator.body, scalar_of(begin)) if begin != 0 else operator.body
    last = apply("subtract", scalar_of(length), Literal(1.0))
    body = apply("maximum", apply("minimum", ahead, last), Literal(0.0))
    return Operator(name, "positions", operator.axes, (), operator.write, body, accumulator="int64"), tensor


def range_length(first: Any, last: Any, step: Any) -> Extent:
    """How many numbers are before `last`; first and last may be symbolic extents. Raises `ArithmeticError` where there is none.

    Python's integers are exact; those of 64 bits are no doubles.

    >>> range_length(0, 7, 2), range_length(1.0, 0.0, -0.25)
    (4, 4)
    """
    if isinstance(first, SymbolicExtent) or isinstance(last, SymbolicExtent):
        return ceil_quotient(maximum(minus(last, first) if step > 0 else minus(first, last), 0), abs(step))
    if all(isinstance(number, int) for number in (first, last, step)):
        return max(0, -int((first - last) // step))
    count: int = math.ceil((last - first) / step)
    return max(0, count)


def _check_exact(extent: Extent, start: float | SymbolicExtent, step: float) -> None:
    most = largest_extent(extent)
    bounds = range_of(start) if isinstance(start, SymbolicExtent) else (start, start)
    ends = (*bounds, bounds[0] + step * max(most - 1, 0), bounds[1] + step * max(most - 1, 0))
    if all(float(number).is_integer() for number in (*bounds, step)) and max(map(abs, ends)) > LARGEST_WHOLE:
        of = f" of {extent}" if symbols_of([extent]) else ""
        raise ShapeError(
            f"arange runs from {ends[0]} to {ends[-1]}{of}",
            where="arange",
            why=f"kernels compute positions in float32, in which integers are exact up to {LARGEST_WHOLE}",
            hint="give a symbolic extent a smaller upper end, or count blocks",
        )


def extent(symbol: SymbolicExtent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The value of a symbol, of shape ().

    >>> extent(SymbolicExtent("s", 1, 64, 32), name="extent", result="y")[0].body
    Parameter(name='s')
    """
    return map_of("extent", (), (), scalar_of(symbol), "int64", name, result)


def extents(values: np.ndarray[Any, Any], dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """An array of integers and run-time extents as data: by the position in it.

    >>> values = np.array([SymbolicExtent("s", 1, 64, 32), 4], object)
    >>> operator, tensor = extents(values, "int64", name="shape", result="y")
    >>> tensor.shape, operator.body.function
    ((2,), 'where')
    """
    return map_of("shape", values.shape, (), _chosen(values.tolist(), 0), dtype, name, result)


def _chosen(values: Any, dimension: int) -> Scalar:
    """The element at the positions along the axes from a dimension on."""
    if not isinstance(values, list):
        return scalar_of(_exact(values))
    body = _chosen(values[-1], dimension + 1)
    for position in reversed(range(len(values) - 1)):
        here = apply("less", AxisValue(f"d{dimension}"), Literal(position + 1.0))
        body = apply("where", here, _chosen(values[position], dimension + 1), body)
    return body


def _exact(value: Any) -> Extent:
    return value if isinstance(value, SymbolicExtent) else int(value)
