"""Extents: integers, dimensions known at run time, and expressions of these in a normal form.

An expression is a sum of products of atoms with integer coefficients; atoms are dimensions, quotients (rounded down), minima and
maxima. Sums are collected, products distributed and factors sorted while an expression is built, so that equal sums of products
are equal objects. Two expressions of equal values may still differ where quotients, minima or maxima are in them.

The rules that simplify, and the assumption of each:

- floor((b q + r) / b) = q + floor(r / b) needs b >= 1: divisors whose range has 0 in it are refused;
- floor((floor(a / b) + k) / c) = floor((a + k b) / (b c)) for an integer k;
- floor(r / b) = 0 needs 0 <= r < b for all values: the range of r, and that of b - r, tell;
- min(a, b) = a needs a <= b for all values: the range of b - a tells.

Ranges are interval arithmetic: they hold all values, and may hold more where a dimension occurs twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product
from math import prod
from operator import floordiv
from typing import NoReturn, TypeAlias, assert_never

from tilewright.errors import Undecided, UnsupportedOperation
from tilewright.records import record


@record
class SymbolicExtent:
    """An extent known at run time: `low <= value <= high`; planning uses `hint`. Without a formula it is a dimension."""

    name: str
    """Of a dimension; the text of a formula."""
    low: int
    high: int
    hint: int
    formula: Formula | None = field(default=None, repr=False)
    """How the value follows from those of dimensions."""

    def __str__(self) -> str:
        return self.name

    def __float__(self) -> NoReturn:
        raise UnsupportedOperation(f"a number in the place of {self.name}", why="it is known at run time")


Extent: TypeAlias = int | SymbolicExtent
Factors: TypeAlias = tuple[SymbolicExtent, ...]
"""Of a product: atoms sorted by name, one that is there twice is squared. None: 1."""


@record
class Sum:
    """`sum(coefficient * product of factors)`; the terms are sorted, their coefficients are not 0."""

    terms: tuple[tuple[int, Factors], ...]


@record
class Operation:
    """`//` (rounded down, the second at least 1), `min` or `max` of two extents, of which neither is always the smaller one."""

    function: str
    first: Extent
    second: Extent


Formula: TypeAlias = Sum | Operation
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {"//": floordiv, "min": min, "max": max}
"""Of integers."""


def planned_extent(extent: Extent) -> int:
    """The integer to plan with: the extent itself, or the hint of a symbolic one."""
    return extent.hint if isinstance(extent, SymbolicExtent) else extent


def least_extent(extent: Extent) -> int:
    """The extent itself, or the lowest value of a symbolic one."""
    return extent.low if isinstance(extent, SymbolicExtent) else extent


def largest_extent(extent: Extent) -> int:
    """The extent itself, or the highest value of a symbolic one: what must hold for every call may rely on it."""
    return extent.high if isinstance(extent, SymbolicExtent) else extent


def dimensions_of(extents: Iterable[Extent]) -> dict[str, SymbolicExtent]:
    """The dimensions that the values of extents follow from, by name.

    >>> s, t = SymbolicExtent("s", 1, 8, 8), SymbolicExtent("t", 1, 8, 8)
    >>> list(dimensions_of([plus(times(s, t), 1), 3]))
    ['s', 't']
    """
    found: dict[str, SymbolicExtent] = {}
    for extent in extents:
        if isinstance(extent, SymbolicExtent):
            found |= {extent.name: extent} if extent.formula is None else dimensions_of(_parts(extent.formula))
    return found


def value_of(extent: Extent, dimensions: Mapping[str, int]) -> int:
    """The integer, for values of the dimensions by name.

    >>> s = SymbolicExtent("s", 1, 8, 8)
    >>> value_of(minimum(times(s, 3), 10), {"s": 2}), value_of(quotient(s, 2), {"s": 5})
    (6, 2)
    """
    if isinstance(extent, int):
        return extent
    match extent.formula:
        case None:
            return dimensions[extent.name]
        case Sum(terms):
            return sum(coefficient * prod(value_of(f, dimensions) for f in factors) for coefficient, factors in terms)
        case Operation(function, first, second):
            return OPERATIONS[function](value_of(first, dimensions), value_of(second, dimensions))
        case _:
            assert_never(extent.formula)


def plus(*extents: Extent) -> Extent:
    """The sum.

    >>> s = SymbolicExtent("s0", 5, 16, 16)
    >>> str(plus(s, 1)), plus(s, 1).high, plus(plus(s, 1), -1) == s
    ('s0 + 1', 17, True)
    """
    terms: Counter[Factors] = Counter()
    for extent in extents:
        for coefficient, factors in _terms(extent):
            terms[factors] += coefficient
    return _sum(terms)


def minus(minuend: Extent, subtrahend: Extent) -> Extent:
    """The difference, which may be negative.

    >>> s = SymbolicExtent("s0", 5, 16, 16)
    >>> minus(plus(s, 1), s), str(minus(s, 4))
    (1, 's0 - 4')
    """
    return plus(minuend, times(subtrahend, -1))


def times(*extents: Extent) -> Extent:
    """The product.

    >>> s = SymbolicExtent("s", 1, 16, 16)
    >>> str(times(plus(s, 1), s, 8)), times(s, 0)
    ('8*s*s + 8*s', 0)
    """
    result: Extent = 1
    for extent in extents:
        terms: Counter[Factors] = Counter()
        for (left, left_factors), (right, right_factors) in product(_terms(result), _terms(extent)):
            terms[tuple(sorted((*left_factors, *right_factors), key=lambda factor: factor.name))] += left * right
        result = _sum(terms)
    return result


def quotient(dividend: Extent, divisor: Extent) -> Extent:
    """`floor(dividend / divisor)`. Raises `Undecided` for a divisor that may be less than 1.

    >>> s = SymbolicExtent("s", 1, 16, 16)
    >>> str(quotient(plus(times(s, 8), 3), 8)), str(quotient(plus(s, 1), 2)), quotient(times(s, 12), s)
    ('s', '(s + 1)//2', 12)
    >>> str(quotient(plus(quotient(s, 2), 1), 2))
    '(s + 2)//4'
    """
    if least_extent(divisor) < 1:
        message = f"a division by {divisor}, which may be {least_extent(divisor)}"
        raise Undecided(message).with_cuts(cuts_between(divisor, 0, "<="))
    whole, rest = _divided(dividend, divisor)
    if least_extent(rest) >= 0 and is_less(rest, divisor):
        return whole
    inner, inner_divisor = _as_quotient(rest)
    if inner_divisor != 1:
        return plus(whole, quotient(inner, times(inner_divisor, divisor)))
    if isinstance(rest, int) and isinstance(divisor, int):
        return plus(whole, rest // divisor)
    (low, high), (least, most) = range_of(rest), range_of(divisor)
    ends = [end // by for end in (low, high) for by in (least, most)]
    text = f"{_in_brackets(rest)}//{_in_brackets(divisor)}"
    return plus(whole, _atom(text, min(ends), max(ends), Operation("//", rest, divisor)))


def _as_quotient(extent: Extent) -> tuple[Extent, Extent]:
    """`(dividend, divisor)` of an extent that is a quotient plus an integer; others by 1."""
    match _terms(extent):
        case [(1, (SymbolicExtent(formula=Operation("//", first, second)),))]:
            return first, second
        case [(1, (SymbolicExtent(formula=Operation("//", first, second)),)), (added, ())]:
            return plus(first, times(second, added)), second
    return extent, 1


def ceil_quotient(dividend: Extent, divisor: Extent) -> Extent:
    """`ceil(dividend / divisor)`, which is `floor((dividend + divisor - 1) / divisor)` for a divisor of at least 1.

    >>> str(ceil_quotient(SymbolicExtent("s", 1, 16, 16), 2))
    '(s + 1)//2'
    """
    return quotient(plus(dividend, divisor, -1), divisor)


def exact_quotient(dividend: Extent, divisor: Extent) -> Extent | None:
    """What times the divisor is the dividend for all values, even where both are 0; None where that is not proved.

    >>> s, t = SymbolicExtent("s", 1, 16, 16), SymbolicExtent("t", 1, 16, 16)
    >>> str(exact_quotient(times(s, t, 12), times(t, 4))), exact_quotient(s, 4)
    ('3*s', None)
    """
    if divisor == 0:
        return 0 if dividend == 0 else None
    whole, rest = _divided(dividend, divisor)
    return whole if rest == 0 else None


def remainder(dividend: Extent, divisor: Extent) -> Extent:
    """`dividend - divisor * floor(dividend / divisor)`."""
    return minus(dividend, times(divisor, quotient(dividend, divisor)))


def minimum(first: Extent, second: Extent) -> Extent:
    """The smaller one.

    >>> s = SymbolicExtent("s", 1, 16, 16)
    >>> str(minimum(s, 4)), minimum(s, 16) == s, minimum(plus(s, 1), s) == s
    ('min(4, s)', True, True)
    """
    low, high = range_of(minus(second, first))
    return (first if low >= 0 else second) if low >= 0 or high <= 0 else _extreme("min", first, second)


def maximum(first: Extent, second: Extent) -> Extent:
    """The larger one.

    >>> str(maximum(SymbolicExtent("s", 0, 16, 16), 1))
    'max(1, s)'
    """
    low, high = range_of(minus(second, first))
    return (second if low >= 0 else first) if low >= 0 or high <= 0 else _extreme("max", first, second)


def _extreme(function: str, first: Extent, second: Extent) -> Extent:
    first, second = sorted((first, second), key=str)
    low, high = (OPERATIONS[function](*ends) for ends in zip(range_of(first), range_of(second), strict=True))
    return _atom(f"{function}({first}, {second})", low, high, Operation(function, first, second))


def range_of(extent: Extent) -> tuple[int, int]:
    """The least and the largest value."""
    return least_extent(extent), largest_extent(extent)


def is_less(left: Extent, right: Extent) -> bool:
    """Whether the left one is the smaller one for all values; False where that is not so or not known."""
    return least_extent(minus(right, left)) > 0


def compared(left: Extent, right: Extent) -> int | None:
    """The sign of `left - right` if it is the same for all values; None where it is not known to be.

    >>> s = SymbolicExtent("s", 2, 16, 16)
    >>> compared(s, 1), compared(s, plus(s, 1)), compared(s, 2)
    (1, -1, None)
    """
    low, high = range_of(minus(left, right))
    return 1 if low > 0 else -1 if high < 0 else 0 if low == high else None


def cuts_between(left: Extent, right: Extent, question: str = "") -> tuple[tuple[str, int], ...]:
    """The values of a dimension from which on the sign of `left - right` is another one; none where it has several dimensions.

    For a `question`, "<" or "<=", those from which on its answer is another one.

    They are found by bisection, for differences that only grow or only shrink. Where a difference does neither, they decide
    nothing: whoever splits a range there asks again.

    >>> s = SymbolicExtent("s", 1, 99, 9)
    >>> cuts_between(s, 5), cuts_between(minimum(s, 8), s), cuts_between(s, 5, "<=")
    ((('s', 5), ('s', 6)), (('s', 9),), (('s', 6),))
    """
    difference = minus(left, right)
    dimensions = dimensions_of([difference])
    if len(dimensions) != 1:
        return ()
    ((name, dimension),) = dimensions.items()

    def sign(value: int) -> int:
        found = value_of(difference, {name: value})
        return (found > 0) - (found < 0)

    values = range(dimension.low, dimension.high + 1)
    rising = sign(dimension.high) >= sign(dimension.low)
    bounds = {"": (0, 1), "<": (1 - rising,), "<=": (int(rising),)}[question]
    ends = (bisect_left(values, bound, key=lambda value: sign(value) if rising else -sign(value)) for bound in bounds)
    return tuple((name, values[end]) for end in dict.fromkeys(ends) if 0 < end < len(values))


# Normal form


def _terms(extent: Extent) -> tuple[tuple[int, Factors], ...]:
    """A sum of products; the integer has no factors."""
    if isinstance(extent, int):
        return ((extent, ()),) if extent else ()
    return extent.formula.terms if isinstance(extent.formula, Sum) else ((1, (extent,)),)


def _sum(terms: Mapping[Factors, int]) -> Extent:
    kept = {factors: coefficient for factors, coefficient in terms.items() if coefficient}
    if not kept.keys() - {()}:
        return kept.get((), 0)
    ordered = tuple((kept[factors], factors) for factors in sorted(kept, key=_order))
    if len(ordered) == 1 and ordered[0][0] == 1 and len(ordered[0][1]) == 1:
        return ordered[0][1][0]
    ranges = [_scaled_range(coefficient, factors) for coefficient, factors in ordered]
    low, high = (sum(ends) for ends in zip(*ranges, strict=True))
    return _atom(_sum_text(ordered), low, high, Sum(ordered))


def _order(factors: Factors) -> tuple[int, tuple[str, ...]]:
    """Products of more factors first: the leading term of a division."""
    return -len(factors), tuple(factor.name for factor in factors)


def _scaled_range(coefficient: int, factors: Factors) -> tuple[int, int]:
    low = high = coefficient
    for factor in factors:
        ends = [end * by for end in (low, high) for by in range_of(factor)]
        low, high = min(ends), max(ends)
    return low, high


def _divided(dividend: Extent, divisor: Extent) -> tuple[Extent, Extent]:
    """`(whole, rest)` with dividend = divisor * whole + rest.

    By a single product every divisible term is divided; by a sum it is long division, of which only a rest of 0 is of use.
    """
    leading = _terms(divisor)[0]
    if len(_terms(divisor)) == 1:
        whole = plus(*(_term_quotient(term, leading) for term in _terms(dividend)))
        return whole, minus(dividend, times(whole, divisor))
    whole, rest = 0, dividend
    for _ in range(len(_terms(dividend)) + 1):
        if rest == 0:
            return whole, 0
        part = _term_quotient(_terms(rest)[0], leading)
        if part == 0:
            break
        whole, rest = plus(whole, part), minus(rest, times(part, divisor))
    return 0, dividend


def _term_quotient(term: tuple[int, Factors], divisor: tuple[int, Factors]) -> Extent:
    """The whole quotient of a product by a product; of integers rounded down; 0 where factors are missing."""
    held, wanted = Counter(term[1]), Counter(divisor[1])
    if not wanted <= held or (term[0] % divisor[0] and term[1]):
        return 0
    return times(term[0] // divisor[0], *(held - wanted).elements())


def _atom(text: str, low: int, high: int, formula: Formula) -> Extent:
    """An expression; an integer if its range has one value."""
    if low == high:
        return low
    hints = {name: dimension.hint for name, dimension in dimensions_of(_parts(formula)).items()}
    unplanned = SymbolicExtent(text, low, high, low, formula)
    return SymbolicExtent(text, low, high, value_of(unplanned, hints), formula)


def _parts(formula: Formula) -> Iterator[Extent]:
    match formula:
        case Sum(terms):
            yield from (factor for _, factors in terms for factor in factors)
        case Operation(_, first, second):
            yield from (first, second)
        case _:
            assert_never(formula)


def _sum_text(terms: Iterable[tuple[int, Factors]]) -> str:
    text = ""
    for coefficient, factors in terms:
        shown = [f"({factor})" if _is_quotient(factor) else str(factor) for factor in factors]
        words = [str(abs(coefficient)), *shown] if abs(coefficient) != 1 or not factors else shown
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        text += sign + "*".join(words)
    return text


def _is_quotient(extent: SymbolicExtent) -> bool:
    return isinstance(extent.formula, Operation) and extent.formula.function == "//"


def _in_brackets(extent: Extent) -> str:
    is_open = isinstance(extent, SymbolicExtent) and (isinstance(extent.formula, Sum) or _is_quotient(extent))
    return f"({extent})" if is_open else str(extent)
