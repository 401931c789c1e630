"""Dimensions inside of extents: multiples of one, other extents in its place, and values from which on a bound is exceeded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import assert_never

from tilewright.graph.expressions.extents import (
    Extent,
    Operation,
    Sum,
    SymbolicExtent,
    dimensions_of,
    maximum,
    minimum,
    plus,
    quotient,
    times,
    value_of,
)


def multiple_of(dimension: SymbolicExtent, factor: int) -> Extent:
    """A dimension as `factor * floor(dimension / factor)`, so that quotients by divisors of the factor are exact.

    Assumption: every value of the dimension is a multiple of the factor. Its range must hold one from the factor on.

    >>> from tilewright.graph.expressions.extents import exact_quotient, range_of
    >>> rows = multiple_of(SymbolicExtent("s", 1, 100, 50), 8)
    >>> str(rows), range_of(rows), str(exact_quotient(times(rows, 3), 12))
    ('8*(s//8)', (8, 96), '2*(s//8)')
    """
    low, high = -(-max(dimension.low, factor) // factor) * factor, dimension.high // factor * factor
    hint = min(max(dimension.hint // factor * factor, low), high)
    return times(factor, quotient(SymbolicExtent(dimension.name, low, high, hint), factor))


def dimension_of_multiple(extent: SymbolicExtent) -> SymbolicExtent | None:
    """The dimension that `multiple_of` was given, with the range of its multiples; None for other extents.

    >>> s = SymbolicExtent("s", 1, 100, 50)
    >>> str(dimension_of_multiple(multiple_of(s, 8))), dimension_of_multiple(times(s, 8))
    ('s', None)
    """
    match extent.formula:
        case Sum(terms=((factor, (SymbolicExtent(formula=Operation("//", SymbolicExtent() as dimension, divisor)),)),)):
            return dimension if factor == divisor and dimension.formula is None else None
    return None


def cuts_above(extent: Extent, bound: int) -> tuple[tuple[str, int], ...]:
    """The same value of all dimensions from which on an extent may exceed a bound; none where the least values exceed it.

    It is found by bisection, for extents that grow with their dimensions.

    >>> s, t = SymbolicExtent("s", 1, 99, 9), SymbolicExtent("t", 1, 3, 2)
    >>> cuts_above(times(s, s, t), 100), cuts_above(s, 200)
    ((('s', 6),), ())
    """
    dimensions = dimensions_of([extent]).values()

    def exceeds(limit: int) -> bool:
        return value_of(extent, {d.name: min(max(limit, d.low), d.high) for d in dimensions}) > bound

    values = range(1, max((dimension.high for dimension in dimensions), default=0) + 1)
    first = bisect_left(values, True, key=exceeds) + 1
    return tuple((d.name, first) for d in dimensions if d.low < first <= d.high)


def substituted(extent: Extent, values: Mapping[str, Extent]) -> Extent:
    """The extent with other extents in the place of dimensions.

    >>> s = SymbolicExtent("s", 1, 16, 16)
    >>> substituted(plus(times(s, 8), 1), {"s": 3})
    25
    """
    if isinstance(extent, int):
        return extent
    match extent.formula:
        case None:
            return values.get(extent.name, extent)
        case Sum(terms):
            return plus(*(times(coefficient, *(substituted(f, values) for f in factors)) for coefficient, factors in terms))
        case Operation(function, first, second):
            operation = {"//": quotient, "min": minimum, "max": maximum}[function]
            return operation(substituted(first, values), substituted(second, values))
        case _:
            assert_never(extent.formula)
