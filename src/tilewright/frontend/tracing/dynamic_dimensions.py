"""Run-time extents as the user's function sees them: whole numbers that Python code computes with and asks about.

Sums, products and quotients of extents are extents; other arithmetic gives numbers that a kernel computes (`RunTimeNumber`). A
question is answered where all values in the range agree, and refused where they do not: a function is traced once for all values,
and a branch that only some of them take would be lost without a word. The refusal says from which value on the answer is another.

Axes, extents and positions that the function gives are whole numbers, or symbolic extents of the shapes it was shown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.frontend.tracing.location import user_location
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.expressions import extents as arithmetic
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, minus, plus, quotient, remainder, times
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply, rewrite, scalar_of
from tilewright.graph.shapes import Shape


class NeedsValue(UnsupportedOperation):
    """Python asked for the value of an extent that is known at run time only, as it does to slice an array of NumPy."""


def _operator(function: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """The methods of an operator: with a number of this module on its left, and on its right."""

    def method(self: Any, other: Any) -> Any:
        return _computed(function, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return _computed(function, other, self)

    return method, reflected


class _Arithmetic:
    """Operators of numbers, whose results are extents where `_exact` has a function of them and all operands are whole."""

    __slots__ = ()

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("mod")

    def __neg__(self) -> Any:
        return _computed("subtract", 0, self)

    def __pos__(self) -> Any:
        return self

    def __pow__(self, exponent: Any) -> Any:
        return _power(self, exponent)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc.__name__ == "sqrt":
            return _power(self, 0.5)
        if ufunc.__name__ == "power" and inputs[0] is self:
            return _power(*inputs)
        name = {"remainder": "mod"}.get(ufunc.__name__, ufunc.__name__)
        return _computed(name, *inputs) if name in _EXACT or name == "divide" else NotImplemented

    def __float__(self) -> NoReturn:
        raise _no_value(self, "float()", "n ** 0.5, and n beside arrays, need no value")

    def __int__(self) -> NoReturn:
        raise _no_value(self, "int()", "n // 2 and other arithmetic need no value")

    def __index__(self) -> NoReturn:
        hint = "loops and lists need values: use tw.arange(n); arrays that are sliced may be arguments, or named by the function"
        raise _no_value(self, "a Python integer", hint, NeedsValue)


class RunTimeNumber(_Arithmetic):
    """A number that follows from run-time extents, and that kernels compute: weakly typed, as Python's numbers."""

    __slots__ = ("scalar",)

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar

    def __bool__(self) -> NoReturn:
        raise _no_value(self, "a truth value")

    def __lt__(self, other: Any) -> NoReturn:
        raise _no_value(self, "a comparison")

    __le__ = __gt__ = __ge__ = __lt__

    def __repr__(self) -> str:
        return "a number made of run-time extents"


class Length(_Arithmetic, SymbolicExtent):
    """A symbolic extent that Python computes with and compares.

    >>> s = Length("s", 5, 16, 16)
    >>> s == 1, s > 1, s == SymbolicExtent("s", 5, 16, 16)
    (False, True, True)
    >>> str(2 * s + 1), type(s**0.5).__name__
    ('2*s + 1', 'RunTimeNumber')
    """

    __slots__ = ()
    __hash__ = SymbolicExtent.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymbolicExtent) and other.name == self.name:
            return True
        if not isinstance(other, Real | SymbolicExtent):
            return False
        low, high = _difference(self, other)
        return False if high < 0 or low > 0 else True if low == high else self._undecided("==", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        low, high = _difference(self, other)
        return True if high < 0 else False if low >= 0 else self._undecided("<", other)

    def __le__(self, other: Any) -> bool:
        low, high = _difference(self, other)
        return True if high <= 0 else False if low > 0 else self._undecided("<=", other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    def _undecided(self, comparison: str, compared: object) -> NoReturn:
        bound = extent_of(compared) if isinstance(compared, SymbolicExtent) else int(np.floor(float(compared)))  # type: ignore[arg-type]
        text = f"whether {self} {comparison} {compared} is not known while the function is traced"
        why, hint = f"{self} may be {self.low} to {self.high}", "give tw.jit dynamic=False, or the Dim a range that decides it"
        cuts = arithmetic.cuts_between(extent_of(self), bound, comparison.strip("=") and comparison)
        raise Undecided(text, where=user_location(), why=why, hint=hint).with_cuts(cuts)


def lengths(shape: Shape) -> Shape:
    """A shape for the user's eyes."""
    return tuple([_length(extent) for extent in shape])


def extent_of(value: SymbolicExtent) -> SymbolicExtent:
    """A symbolic extent for the graph, where comparisons are about identity.

    >>> type(extent_of(Length("s", 5, 16, 16))).__name__
    'SymbolicExtent'
    """
    return SymbolicExtent(value.name, value.low, value.high, value.hint, value.formula)


def run_time_scalar(value: Any) -> Scalar | None:
    """The scalar of a number that is known at run time only; None for other values."""
    if isinstance(value, RunTimeNumber):
        return value.scalar
    return scalar_of(extent_of(value)) if isinstance(value, SymbolicExtent) else None


def _length(extent: Extent) -> Extent:
    return extent if isinstance(extent, int) else Length(extent.name, extent.low, extent.high, extent.hint, extent.formula)


_EXACT: Mapping[str, Callable[[Extent, Extent], Extent]] = MappingProxyType(
    {"add": plus, "subtract": minus, "multiply": times, "floor_divide": quotient, "mod": remainder}
)
"""Of whole numbers, a whole number."""


def _computed(function: str, left: Any, right: Any) -> Any:
    """A function of two numbers of which one is known at run time; NotImplemented where one of them is no number."""
    if function in _EXACT and _is_whole(left) and _is_whole(right):
        return _length(_EXACT[function](_exact(left), _exact(right)))
    scalars = [_scalar(operand) for operand in (left, right)]
    if None in scalars:
        return NotImplemented
    return RunTimeNumber(apply(function, *(scalar for scalar in scalars if scalar is not None)))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, Length) and _is_whole(exponent) and not isinstance(exponent, SymbolicExtent) and exponent >= 0:
        return _length(times(*[extent_of(base)] * int(exponent)))
    scalar = _scalar(base)
    if scalar is None or not isinstance(exponent, int | float | np.generic) or not has_simple_power(float(exponent)):
        return NotImplemented
    return RunTimeNumber(rewrite(power_body(float(exponent)), lambda node: scalar if node == Load(0) else None))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer | SymbolicExtent) and not isinstance(value, bool)


def _exact(value: Any) -> Extent:
    return extent_of(value) if isinstance(value, SymbolicExtent) else int(value)


def _scalar(value: Any) -> Scalar | None:
    """A number as a scalar; None for what is none."""
    if isinstance(value, int | float | np.floating | np.integer):
        return Literal(float(value))
    return run_time_scalar(value)


def _difference(left: SymbolicExtent, right: Any) -> tuple[float, float]:
    """The least and the largest difference of an extent and a number."""
    if _is_whole(right):
        return arithmetic.range_of(minus(extent_of(left), _exact(right)))
    return left.low - float(right), left.high - float(right)


def _no_value(
    number: Any, use: str, hint: str = "", kind: type[UnsupportedOperation] = UnsupportedOperation
) -> UnsupportedOperation:
    why = "an extent that differs from call to call has no value while a function is traced"
    return kind(f"{use} of {number}", where=user_location(), why=why, hint=hint)


def whole(value: Any) -> Any:
    """A whole number as an int, a symbolic extent as it is. Raises `ShapeError`; traced values say that they have no value.

    >>> import numpy as np
    >>> whole(np.int64(3))
    3
    """
    if isinstance(value, SymbolicExtent):
        return extent_of(value)
    try:
        return operator.index(value)
    except TypeError as problem:
        hint = "axes, extents and positions are ints"
        raise ShapeError(f"{value!r} is not an integer", where=user_location(), hint=hint) from problem


def wholes(values: Iterable[Any]) -> tuple[Any, ...]:
    """The same of several."""
    return tuple(map(whole, values))
