"""Quasi-affine index expressions: integer combinations of axes, of floor divisions and of remainders by constants.

Constraints of guards may also have extents that are known at run time in them: where a dimension ends.

Expressions are simplified when they are built, so that equal maps compare equal in the common cases. The laws, for positive
divisors m and n:

- floor((m q + r) / m) = q + floor(r / m), (m q + r) mod m = r mod m, and floor(floor(x / m) / n) = floor(x / (m n)) hold for all
  integers, negative ones included: Python's `//` and `%`, not those of C;
- floor(r / m) = 0 and r mod m = r need 0 <= r < m: then the caller passes the `extents` from which the bounds of r follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, TypeAlias

from tilewright.graph.expressions.extents import Extent, SymbolicExtent, range_of
from tilewright.records import record


@record
class FloorDiv:
    """`floor(dividend / divisor)` for a positive constant divisor."""

    dividend: Index
    divisor: int

    def __str__(self) -> str:
        return f"({self.dividend})//{self.divisor}"


@record
class Mod:
    """`dividend mod divisor` in 0..divisor-1 for a positive constant divisor."""

    dividend: Index
    divisor: int

    def __str__(self) -> str:
        return f"({self.dividend})%{self.divisor}"


Atom: TypeAlias = str | FloorDiv | Mod | SymbolicExtent
"""What an index is linear in: an axis by its name, a floor division, a remainder, or an extent known at run time."""


DIVISIONS = (FloorDiv, Mod)


@record
class Index:
    """`constant + sum(coefficient * atom)`; the terms are sorted, their coefficients are not zero.

    >>> str(axis("m") * 2 + 3)
    '2*m + 3'
    """

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0
    _axes: frozenset[str] = field(init=False, repr=False, compare=False)
    _is_affine: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        axes = frozenset([atom for atom, _ in self.terms if isinstance(atom, str)])
        is_affine = len(axes) == len(self.terms)
        if not is_affine:
            divided = [atom.dividend.axes() for atom, _ in self.terms if isinstance(atom, DIVISIONS)]
            axes, is_affine = axes.union(*divided), not divided
        object.__setattr__(self, "_axes", axes)
        object.__setattr__(self, "_is_affine", is_affine)

    def __add__(self, other: Index | int) -> Index:
        other = constant(other) if isinstance(other, int) else other
        if not self.terms and not self.constant:
            return other
        sums = dict(self.terms)
        for atom, coefficient in other.terms:
            sums[atom] = sums.get(atom, 0) + coefficient
        return _build(sums, self.constant + other.constant)

    def __sub__(self, other: Index | int) -> Index:
        return self + other * -1

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        return _build({atom: coefficient * factor for atom, coefficient in self.terms}, self.constant * factor)

    def axes(self) -> frozenset[str]:
        """The names of all axes in it, those inside divisions included."""
        return self._axes

    def is_affine(self) -> bool:
        """Whether no division or remainder is left in it."""
        return self._is_affine

    def is_axis(self) -> bool:
        """Whether it is one axis and nothing else."""
        return self.constant == 0 and len(self.terms) == 1 and isinstance(self.terms[0][0], str) and self.terms[0][1] == 1

    def coefficient(self, name: str) -> int:
        """The factor of an axis outside divisions and remainders."""
        return next((coefficient for atom, coefficient in self.terms if atom == name), 0)

    def substitute(self, values: Mapping[str, Index], extents: Mapping[str, int] | None = None) -> Index:
        """Replace axes by expressions; `extents` belong to the axes of the result."""
        result = constant(self.constant)
        for atom, coefficient in self.terms:
            match atom:
                case str():
                    result = result + values.get(atom, axis(atom)) * coefficient
                case SymbolicExtent():
                    result = result + Index(((atom, coefficient),))
                case FloorDiv(dividend, divisor):
                    result = result + floordiv(dividend.substitute(values, extents), divisor, extents) * coefficient
                case Mod(dividend, divisor):
                    result = result + mod(dividend.substitute(values, extents), divisor, extents) * coefficient
        return result

    def renamed(self, names: Mapping[str, str]) -> Index:
        """The same expression of axes with other names, no two of which are the same."""
        if self.is_axis():
            return axis(names[str(self.terms[0][0])])
        if all(names.get(name) == name for name in self._axes):
            return self
        if not self._is_affine:
            return self.substitute({old: axis(new) for old, new in names.items()})
        terms = {names[atom] if isinstance(atom, str) else atom: coefficient for atom, coefficient in self.terms}
        return _build(terms, self.constant)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value for integers or integer arrays in place of the axes."""
        result: Any = self.constant
        for atom, coefficient in self.terms:
            match atom:
                case str():
                    result = result + values[atom] * coefficient
                case SymbolicExtent():
                    raise AssertionError(f"{atom} has no value: `with_extents` knows it")
                case FloorDiv(dividend, divisor):
                    result = result + dividend.evaluate(values) // divisor * coefficient
                case Mod(dividend, divisor):
                    result = result + dividend.evaluate(values) % divisor * coefficient
        return result

    def extents(self) -> tuple[SymbolicExtent, ...]:
        """The extents in it that are known at run time."""
        return tuple(atom for atom, _ in self.terms if isinstance(atom, SymbolicExtent))

    def with_extents(self, value: Callable[[SymbolicExtent], int]) -> Index:
        """The same expression with the values of extents known at run time.

        >>> str((of_extent(SymbolicExtent("s", 1, 9, 9)) - axis("i")).with_extents(lambda extent: 5))
        '-1*i + 5'
        """
        if not self.extents():
            return self
        rest = tuple(term for term in self.terms if not isinstance(term[0], SymbolicExtent))
        total = sum(coefficient * value(atom) for atom, coefficient in self.terms if isinstance(atom, SymbolicExtent))
        return Index(rest, self.constant + total)

    def bounds(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """Smallest and largest value (inclusive) over axes that run from 0 to extent - 1."""
        low = high = self.constant
        for atom, coefficient in self.terms:
            ends = [end * coefficient for end in _atom_bounds(atom, extents)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __str__(self) -> str:
        parts = [str(atom) if factor == 1 else f"{factor}*{atom}" for atom, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


@lru_cache(4096)
def axis(name: str) -> Index:
    """The index that is an axis."""
    return Index(((name, 1),))


@lru_cache(4096)
def constant(value: int) -> Index:
    """The index that is always `value`."""
    return Index((), value)


def of_extent(extent: Extent) -> Index:
    """The index that is always this extent.

    >>> str(of_extent(SymbolicExtent("s", 1, 9, 9)) - 1), str(of_extent(4))
    ('s + -1', '4')
    """
    return constant(extent) if isinstance(extent, int) else Index(((extent, 1),))


def number_of(digits: Sequence[tuple[Index, int]]) -> Index:
    """The number of these digits, the last one changing fastest, each with how many values it has.

    >>> str(number_of([(axis("h"), 3), (axis("w"), 4)]))
    '4*h + w'
    """
    number = constant(0)
    for digit, count in digits:
        number = number * count + digit
    return number


def floordiv(dividend: Index, divisor: int, extents: Mapping[str, int] | None = None) -> Index:
    """`floor(dividend / divisor)`, simplified as far as the extents of the axes allow.

    >>> str(floordiv(axis("h") * 64 + axis("d"), 64, {"h": 12, "d": 64}))
    'h'
    >>> str(floordiv(axis("h") * 64 + axis("d"), 256, {"h": 12, "d": 64}))
    '(h)//4'
    """
    quotient, rest = _split(dividend, divisor)
    if _within(rest, divisor, extents):
        return quotient
    match rest:
        case Index(((FloorDiv(inner, own), 1),), 0):
            return quotient + Index(((FloorDiv(inner, own * divisor), 1),))
    if (digits := _digits(rest, divisor, extents)) is not None:
        high, _, step = digits
        return quotient + floordiv(high, divisor // step, extents)
    return quotient + Index(((FloorDiv(rest, divisor), 1),))


def mod(dividend: Index, divisor: int, extents: Mapping[str, int] | None = None) -> Index:
    """`dividend mod divisor`, simplified as far as the extents of the axes allow.

    >>> str(mod(axis("h") * 64 + axis("d"), 64, {"h": 12, "d": 64}))
    'd'
    >>> str(mod(axis("h") * 64 + axis("d"), 256, {"h": 12, "d": 64}))
    '64*(h)%4 + d'
    """
    _, rest = _split(dividend, divisor)
    if _within(rest, divisor, extents):
        return rest
    if (digits := _digits(rest, divisor, extents)) is not None:
        high, low, step = digits
        return mod(high, divisor // step, extents) * step + low
    return Index(((Mod(rest, divisor), 1),))


def with_natural_dividends(index: Index, extents: Mapping[str, int]) -> Index:
    """The same values without a quotient or a remainder of anything negative, so that rounding toward zero is rounding down.

    floor(x / m) = floor((x + k m) / m) - k and x mod m = (x + k m) mod m for all integers; k follows from the lower bound of x.

    >>> str(with_natural_dividends(floordiv(axis("p") * -1, 4), {"p": 10}))
    '(-1*p + 12)//4 + -3'
    """
    if index.is_affine():
        return index
    total = constant(index.constant)
    for atom, coefficient in index.terms:
        match atom:
            case str() | SymbolicExtent():
                same = Index(((atom, 1),))
            case FloorDiv(dividend, divisor):
                lifted, turns = _lifted(dividend, divisor, extents)
                same = Index(((FloorDiv(lifted, divisor), 1),), -turns)
            case Mod(dividend, divisor):
                lifted, _ = _lifted(dividend, divisor, extents)
                same = Index(((Mod(lifted, divisor), 1),))
        total = total + same * coefficient
    return total


def _lifted(dividend: Index, divisor: int, extents: Mapping[str, int]) -> tuple[Index, int]:
    """A dividend plus so many times its divisor that it is nowhere negative."""
    inner = with_natural_dividends(dividend, extents)
    low, _ = inner.bounds(extents)
    turns = max(0, -(low // divisor))
    return inner + turns * divisor, turns


def _build(sums: Mapping[Atom, int], offset: int) -> Index:
    terms = [(atom, coefficient) for atom, coefficient in sums.items() if coefficient]
    if len(terms) > 1:
        terms.sort(key=lambda term: str(term[0]))
    elif not offset and (not terms or (terms[0][1] == 1 and isinstance(terms[0][0], str))):
        return axis(terms[0][0]) if terms else _ZERO
    return Index(tuple(terms), offset)


_ZERO = Index()


def _split(dividend: Index, divisor: int) -> tuple[Index, Index]:
    """`(quotient, rest)` with dividend = divisor * quotient + rest, the rest holding what is not divisible term by term."""
    whole = {atom: factor // divisor for atom, factor in dividend.terms if factor % divisor == 0}
    rest = {atom: factor for atom, factor in dividend.terms if factor % divisor}
    return _build(whole, dividend.constant // divisor), _build(rest, dividend.constant % divisor)


def _digits(rest: Index, divisor: int, extents: Mapping[str, int] | None) -> tuple[Index, Index, int] | None:
    """(high, low, step) of a sum high * step + low with 0 <= low < step, where the step divides the divisor; None without one."""
    if extents is None or len(rest.terms) < 2:
        return None
    for step in sorted({factor for _, factor in rest.terms if 1 < factor < divisor and divisor % factor == 0}, reverse=True):
        high, low = _split(rest, step)
        if high.terms and _within(low, step, extents):
            return high, low, step
    return None


def _within(rest: Index, divisor: int, extents: Mapping[str, int] | None) -> bool:
    if not rest.terms:
        return 0 <= rest.constant < divisor
    if extents is None or not rest.axes() <= extents.keys():
        return False
    low, high = rest.bounds(extents)
    return low >= 0 and high < divisor


def _atom_bounds(atom: Atom, extents: Mapping[str, int]) -> tuple[int, int]:
    match atom:
        case str():
            return 0, max(extents[atom] - 1, 0)
        case SymbolicExtent():
            return range_of(atom)
        case FloorDiv(dividend, divisor):
            low, high = dividend.bounds(extents)
            return low // divisor, high // divisor
        case Mod(dividend, divisor):
            low, high = dividend.bounds(extents)
            return (low, high) if low >= 0 and high < divisor else (0, divisor - 1)
