"""The traced functions that are applied element by element, of one operand or of two with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.frontend.tracing.location import unsupported
from tilewright.frontend.tracing.promotion import kind_of, map_type, power_type
from tilewright.frontend.tracing.recorder import current_recorder
from tilewright.frontend.tracing.recording import apply_map, record_map, traceable
from tilewright.graph.builders import elementwise as map_operator
from tilewright.graph.builders.elementwise import has_simple_power, power_body


def _plain(function: str) -> Callable[..., Any]:
    return map_operator.numpy_reference(function)


# Functions of one operand


def _unary(name: str, formula: str, reference: Callable[..., Any] | str = "") -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return apply_map(name, x)

    return traceable(reference or name, name, f"{formula}, element by element; the shape stays.")(function)


exp = _unary("exp", "The exponential function")
log = _unary("log", "The natural logarithm, relative error below 1e-6; -inf for 0, NaN below")
tanh = _unary("tanh", "The hyperbolic tangent, relative error below 1e-6")
erf = _unary("erf", "The error function, relative error below 1e-6", _plain("erf"))
sqrt = _unary("sqrt", "The square root; NaN for negative numbers")
abs = _unary("abs", "The absolute value")
negative = _unary("negative", "-x")
positive = _unary("positive", "+x")
square = _unary("square", "x * x")
reciprocal = _unary("reciprocal", "1 / x", _plain("reciprocal"))
floor = _unary("floor", "The largest integer <= x")
relu = _unary("relu", "max(x, 0)", _plain("relu"))
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)), relative error below 1e-6, in the left tail, too", _plain("sigmoid"))
silu = _unary("silu", "x / (1 + exp(-x)), relative error below 1e-6, in the left tail, too; NaN at -inf", _plain("silu"))
logical_not = _unary("logical_not", "Whether x is false")


def _numpy_gelu(x: Any, approximate: str = "none") -> Any:
    return _plain(_form_of_gelu(approximate))(x)


@traceable(_numpy_gelu)
def gelu(x: Any, approximate: str = "none") -> Any:
    """The Gaussian error linear unit, element by element; relative error below 1e-6, in the left tail, too; NaN at -inf.

    `approximate="none"` is x (1 + erf(x / sqrt(2))) / 2, "tanh" is x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 (Hendrycks
    and Gimpel, "Gaussian Error Linear Units", 2016). Raises `UnsupportedOperation` for other forms.

    >>> import numpy as np
    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4).tolist(), gelu(np.array([1.0]), approximate="tanh").round(4).tolist()
    ([-0.1587, 0.0, 0.8413], [0.8412])
    """
    return apply_map(_form_of_gelu(approximate), x)


def _form_of_gelu(approximate: str) -> str:
    forms = {"none": "gelu", "tanh": "gelu_tanh"}
    if approximate not in forms:
        raise unsupported(f"gelu with approximate={approximate!r}", (), 'choose from "none" and "tanh"')
    return forms[approximate]


# Functions of several operands, with broadcasting


def _binary(name: str, formula: str, recorded: str = "") -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        return apply_map(recorded or name, x, y)

    text = f"{formula}, element by element with broadcasting; numbers take the type of the arrays."
    return traceable(name, name, text)(function)


add = _binary("add", "x + y")
subtract = _binary("subtract", "x - y")
multiply = _binary("multiply", "x * y")
divide = _binary("divide", "x / y")
floor_divide = _binary("floor_divide", "The largest integer <= x / y, of the exact quotient")
remainder = _binary("remainder", "x - floor_divide(x, y) * y, exactly; of the sign of y", "mod")
maximum = _binary("maximum", "The larger of x and y; NaN if one of them is")
minimum = _binary("minimum", "The smaller of x and y; NaN if one of them is")
less = _binary("less", "Whether x < y")
less_equal = _binary("less_equal", "Whether x <= y")
greater = _binary("greater", "Whether x > y")
greater_equal = _binary("greater_equal", "Whether x >= y")
equal = _binary("equal", "Whether x == y")
not_equal = _binary("not_equal", "Whether x != y")
logical_and = _binary("logical_and", "Whether x and y are true")
logical_or = _binary("logical_or", "Whether x or y is true")


@traceable("power")
def pow(x: Any, exponent: Any) -> Any:
    """`x ** exponent` for an exponent that is an integer in -16..16, or a half of one: products, a square root, a quotient.

    >>> import numpy as np
    >>> pow(np.array([2.0]), 3).tolist()
    [8.0]
    """
    if not isinstance(exponent, int | float | np.generic) or not has_simple_power(float(exponent)):
        why = "an exponent must be a number that is a multiple of 1/2 in -16..16"
        hint = "whole and half exponents are products and square roots"
        raise unsupported(f"pow with the exponent {exponent!r}", (), why, hint)
    number = exponent if isinstance(exponent, int) else float(exponent)
    return record_map("pow", power_body(float(exponent)), (x,), dtype=power_type(x, number))


def _numpy_where(condition: Any, x: Any, y: Any) -> Any:
    """NumPy's choice; while a function is traced, in the type that a traced condition gives."""
    chosen = np.where(condition, x, y)
    return chosen if current_recorder() is None else chosen.astype(map_type("where", (True, x, y)), copy=False)


@traceable(_numpy_where)
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, with broadcasting; numbers take the type of the array beside them.

    The array API (2024.12) asks for an array among `x` and `y`. Between two numbers, a traced function chooses float32 or int64
    elements, whether or not it knows the condition; outside of traced functions NumPy chooses.

    >>> import numpy as np
    >>> where(np.array([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """
    is_true = condition if kind_of(condition) == np.bool_ else not_equal(condition, 0)
    if kind_of(x) == kind_of(y) == np.bool_:
        return record_map("where", map_operator.CHOSEN_TRUTH, (is_true, x, y), dtype="bool")
    return apply_map("where", is_true, x, y)


@traceable("clip")
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """`minimum(maximum(x, min), max)`; None leaves a side open."""
    if min is not None and max is not None:
        return apply_map("clip", x, min, max)
    if min is None and max is None:
        return positive(x)
    return maximum(x, min) if max is None else minimum(x, max)
