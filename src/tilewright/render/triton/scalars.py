"""Scalar bodies as text of a kernel, on values whose texts are spread over the same dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Previous, Scalar, State
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.render.triton.functions import FLOATS, HELPERS, INTEGERS, WHOLE_HELPERS, call_of
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.tiles import type_text

OF_LITERALS = ("int32", "float32")
Helper: TypeAlias = tuple[str, bool]
"""A scalar function whose text is a function of the module, and whether it is that of integers."""


@dataclass(slots=True)
class Values:
    """What the leaves of an expression are: texts, by read, by state and by axis."""

    loads: Sequence[tuple[str, bool]]
    """Text, and whether it is a condition, of every read."""
    positions: Callable[[str], str]
    dtype: str = "float32"
    point: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    previous: Mapping[str, str] = field(default_factory=dict)
    helpers: set[Helper] = field(default_factory=set)
    """The functions of the module that were called."""

    @property
    def is_whole(self) -> bool:
        """Whether numbers are integers."""
        return not is_float(self.dtype)


def is_float(dtype: str) -> bool:
    """Whether a type has numbers with a fraction."""
    return dtype.startswith(("float", "bfloat"))


def number(value: float, *, is_whole: bool = False) -> str:
    """A number as text.

    >>> number(0.5), number(float("-inf")), number(3.0, is_whole=True)
    ('0.5', "float('-inf')", '3')
    """
    if math.isinf(value) or math.isnan(value):
        return f"float('{value}')"
    return str(int(value)) if is_whole else repr(float(value))


def scalar_text(scalar: Scalar, values: Values) -> str:
    """An expression as a number. Raises `UnsupportedOperation` for functions without a text."""
    text = _text(scalar, values)
    if not is_condition(scalar, values):
        return text
    one, zero = ("1", "0") if values.is_whole else ("1.0", "0.0")
    return chosen(f"tl.where({text}, {one}, {zero})", values.dtype)


def chosen(text: str, dtype: str) -> str:
    """A choice between numbers in the type that is computed in: Triton takes two literals for numbers of 32 bits."""
    return text if dtype in OF_LITERALS else f"{text}.to({type_text(dtype)})"


def condition_text(scalar: Scalar, values: Values) -> str:
    """An expression as a truth value."""
    text = _text(scalar, values)
    return text if is_condition(scalar, values) else f"({text} != 0)"


def is_condition(scalar: Scalar, values: Values) -> bool:
    """Whether the text of an expression is a truth value."""
    match scalar:
        case Load(read):
            return values.loads[read][1]
        case Apply("where", (_, this, that)):
            return is_condition(this, values) and is_condition(that, values)
        case Apply(function):
            return FUNCTIONS[function].is_condition
    return False


def _text(scalar: Scalar, values: Values) -> str:
    match scalar:
        case Literal(value):
            return number(value, is_whole=values.is_whole)
        case Load(read):
            return values.loads[read][0]
        case Point():
            return values.point
        case State(name):
            return values.states[name]
        case Previous(name):
            return values.previous[name]
        case AxisValue(axis):
            return values.positions(axis) if values.is_whole else f"({values.positions(axis)} + 0.0)"
        case Parameter(name):
            raise refused(f"the value of {name}", "its kernels have literals for sizes")
        case Apply(function, operands):
            return _applied(function, operands, values)
    raise refused(f"a {type(scalar).__name__}", "it is no expression of a body")


def _applied(function: str, operands: Sequence[Scalar], values: Values) -> str:
    takes = list(FUNCTIONS[function].takes_conditions)
    if function == "where" and all(is_condition(operand, values) for operand in operands[1:]):
        takes = [True, True, True]
    texts = [condition_text(x, values) if wants else scalar_text(x, values) for x, wants in zip(operands, takes, strict=True)]
    table = INTEGERS if values.is_whole else FLOATS
    if function in table:
        text = table[function].format(*texts)
        return chosen(text, values.dtype) if function == "where" and not all(takes) else text
    if function not in (WHOLE_HELPERS if values.is_whole else HELPERS):
        raise refused(f"the function {function} of {values.dtype}", "render/triton/functions.py has no text for it")
    values.helpers.add((function, values.is_whole))
    return f"{call_of(function, is_whole=values.is_whole)}({', '.join(texts)})"
