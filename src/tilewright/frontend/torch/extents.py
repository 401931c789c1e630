"""Extents that torch's compiler knows as expressions of symbols (`torch.SymInt`) become extents of dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import Any

import torch

from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions import extents
from tilewright.graph.expressions.extents import Extent, Sum, SymbolicExtent, dimensions_of, least_extent
from tilewright.graph.expressions.scalar import Literal, Parameter, Scalar, apply, fold, scalar_of, subexpressions

LARGEST = 1 << 20
"""Of dimensions of which torch knows no smaller bound."""

_stand_ins: ContextVar[Mapping[str, Extent]] = ContextVar("stand_ins", default={})  # noqa: B039  # nobody changes it


@contextmanager
def standing_in(extents_by_name: Mapping[str, Extent]) -> Iterator[None]:
    """Inside, dimensions of these names are these extents."""
    token = _stand_ins.set(extents_by_name)
    try:
        yield
    finally:
        _stand_ins.reset(token)


class EqualExtents(Exception):
    """A call needs extents to be equal that torch has not compared: its graph is recorded with one in another's place."""

    def __init__(self, name: str, extent: Extent) -> None:
        super().__init__(f"{name} is {extent}")
        self.name, self.extent = name, extent


def make_equal(first: Extent, second: Extent) -> None:
    """Raise `EqualExtents` for extents that some dimension can make equal; others are what they are.

    >>> s, t = SymbolicExtent("s", 2, 9, 9), SymbolicExtent("t", 2, 9, 9)
    >>> make_equal(t, extents.plus(s, 1))
    Traceback (most recent call last):
    tilewright.frontend.torch.extents.EqualExtents: s is t - 1
    >>> make_equal(t, 4)
    Traceback (most recent call last):
    tilewright.frontend.torch.extents.EqualExtents: t is 4
    """
    difference = extents.minus(first, second)
    if not isinstance(difference, SymbolicExtent) or not isinstance(difference.formula, Sum):
        return
    for factor, dimensions in difference.formula.terms:
        if abs(factor) == 1 and len(dimensions) == 1 and dimensions[0].formula is None:
            rest = extents.times(extents.minus(difference, extents.times(factor, dimensions[0])), -factor)
            if least_extent(rest) >= 0:
                raise EqualExtents(dimensions[0].name, rest)


def extent_of(extent: Any) -> Extent:
    """The extent that an int or a `SymInt` is. Raises `UnsupportedOperation` for expressions that extents cannot be.

    >>> extent_of(3)
    3
    """
    if isinstance(extent, torch.SymInt):
        environment = extent.node.shape_env
        return _of_expression(environment.replace(extent.node.expr), environment)
    return int(extent)


def number_of(number: torch.SymFloat) -> Scalar:
    """A number with a fraction that follows from extents, to compute in float64. Raises `UnsupportedOperation` for others."""
    environment = number.node.shape_env
    return _number(environment.replace(number.node.expr), environment)


def dimensions_in(number: Scalar) -> Iterator[str]:
    """The names of the dimensions that a number follows from."""
    for node in subexpressions(number):
        if isinstance(node, Parameter):
            yield from [node.name] if node.extent is None else dimensions_of([node.extent])


def _number(expression: Any, environment: Any) -> Scalar:
    if expression.is_Integer or expression.is_Float:
        return Literal(float(expression))
    kind = type(expression).__name__
    if kind in ("ToFloat", "IntTrueDiv"):
        return fold("divide", [scalar_of(_of_expression(argument, environment)) for argument in expression.args])
    if (kind == "FloatPow" and expression.args[1] == 0.5) or kind == "OpaqueUnaryFn_sqrt":
        return apply("sqrt", _number(expression.args[0], environment))
    if kind not in _ARITHMETIC:
        raise UnsupportedOperation(f"the number {expression}", why=f"it is computed by {kind}")
    return fold(_ARITHMETIC[kind], [_number(argument, environment) for argument in expression.args])


_ARITHMETIC = {"Add": "add", "Mul": "multiply", "FloatTrueDiv": "divide"}


def dimension_named(value: Any) -> str | None:
    """The name of the dimension that an extent is; None for numbers, and for what follows from dimensions.

    >>> print(dimension_named(3))
    None
    """
    if not isinstance(value, torch.SymInt):
        return None
    try:
        extent = extent_of(value)
    except UnsupportedOperation:
        return None
    return extent.name if isinstance(extent, SymbolicExtent) and extent.formula is None else None


def shape_of(value: Any) -> tuple[Extent, ...]:
    """The extents of a tensor of torch's compiler."""
    return tuple(map(extent_of, value.shape))


def _of_expression(expression: Any, environment: Any) -> Extent:
    """An expression of SymPy, over symbols whose ranges the environment knows."""
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol:
        return _dimension(expression, environment)
    operation = _operation(expression)
    if operation is None:
        raise UnsupportedOperation(f"an extent of {expression}", why=f"extents have no {type(expression).__name__}")
    found: Extent = operation(*(_of_expression(argument, environment) for argument in expression.args))
    return found


def _operation(expression: Any) -> Any:
    """The function of extents that computes an expression from its arguments; None where there is none."""
    if expression.is_Pow:
        exponent = expression.args[1]
        is_power = exponent.is_Integer and exponent > 0
        return (lambda base, _: extents.times(*[base] * int(exponent))) if is_power else None
    return _OPERATIONS.get(type(expression).__name__)


_OPERATIONS = {
    "Add": extents.plus,
    "Mul": extents.times,
    "FloorDiv": extents.quotient,
    "CleanDiv": extents.quotient,
    "Mod": extents.remainder,
    "PythonMod": extents.remainder,
    "Min": lambda *given: reduce(extents.minimum, given),
    "Max": lambda *given: reduce(extents.maximum, given),
}


def _dimension(symbol: Any, environment: Any) -> Extent:
    if str(symbol) in _stand_ins.get():
        return _stand_ins.get()[str(symbol)]
    _guard(symbol, environment)
    bounds = environment.var_to_range[symbol]
    low = max(int(bounds.lower), 0) if bounds.lower.is_Integer else 0
    high = min(int(bounds.upper), LARGEST) if bounds.upper.is_Integer else LARGEST
    if low == high:
        return low
    hint = int(environment.backed_var_to_val.get(symbol, low))
    return SymbolicExtent(str(symbol), low, max(low, high), min(max(hint, low), high))


def conditions(extent: Any) -> list[str]:
    """What torch has assumed of extents of run time where it recorded one, beyond their ranges and which are equal."""
    if not isinstance(extent, torch.SymInt):
        return []
    environment = extent.node.shape_env
    expressions = [environment.replace(guard.expr) for guard in environment.guards]
    return [str(expression) for expression in expressions if not _is_implied(expression, environment)]


def _is_implied(expression: Any, environment: Any) -> bool:
    """Whether it follows from the ranges of its symbols."""
    return bool(environment.bound_sympy(expression).lower)


def _guard(symbol: Any, environment: Any) -> None:
    """Let torch compile again for what kernels do not take: numbers below 0, and lengths beyond the largest.

    Raises `UnsupportedOperation` where the example is one of these, and for what only kernels of torch could tell.
    """
    example, bounds = environment.backed_var_to_val.get(symbol), environment.var_to_range[symbol]
    is_told = example is None or environment.frozen  # what is exported is guarded no more: kernels raise beyond the largest
    if bool(bounds.lower >= 0) and (is_told or bool(bounds.upper <= LARGEST)):
        return
    if is_told or not 0 <= example <= LARGEST:
        raise UnsupportedOperation(f"an extent of {symbol}", why=f"it may lie outside of 0..{LARGEST}")
    environment.evaluate_expr(symbol >= 0)
    environment.evaluate_expr(symbol <= LARGEST)
