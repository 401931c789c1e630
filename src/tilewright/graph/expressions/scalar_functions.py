"""The scalar functions that bodies and reductions may apply: their number of operands and their NumPy reference.

Code is generated for exactly these names; everything else (relu, clip, ...) is composed of them. Functions of floats are declared
in `tile/functions/`. Expressions have a value, too, where some leaves are known and all others are finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isinf, isnan
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph.expressions.scalar import Apply, Literal, Scalar
from tilewright.graph.numpy_types import rounded_once
from tilewright.records import record
from tilewright.tile.functions.registry import DECLARED


def power(x: Any, y: Any) -> Any:
    """x to the power y; of integers with negative exponents the whole part of the quotient, 0 for 0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        return np.power(x, y)
    inverse = np.where(np.abs(x) == 1, np.where(y % 2 == 0, 1, x), 0)
    both = np.result_type(x, y)
    both = both if both.kind in "iu" else x.dtype  # of uint64 and a signed exponent, which have no common integers
    return np.where(y < 0, inverse, np.power(x.astype(both), np.maximum(y, 0).astype(both))).astype(both)[()]


@record
class ScalarFunction:
    """A function of `arity` scalars; `numpy` applies it to arrays element by element."""

    name: str
    arity: int
    numpy: Callable[..., Any]
    is_condition: bool = False
    """Whether the value is true or false instead of a number."""
    is_real: bool = False
    """Whether the value is a floating-point number whatever the operands are."""
    is_strict: bool = False
    """Whether the value is NaN wherever an operand is."""

    @property
    def takes_conditions(self) -> tuple[bool, ...]:
        """Of every operand, whether it is a condition."""
        connects = self.name.startswith("logical_")
        return tuple(connects or (self.name == "where" and number == 0) for number in range(self.arity))


REPORT_NOT_FINITE = "report_not_finite"
"""The identity. Generated code says to its caller that it met a NaN or an infinity: results may be wrong then where they would
be finite, and the caller computes all of them again by other algorithms (`Licence.CHECKED`)."""
ROUNDED = "rounded"
"""The identity. A product in it is rounded before it is added to something, and a row is divided by what is in it."""


AS_STORED: Mapping[str, str] = MappingProxyType({"float16": "as_float16", "bfloat16": "as_bfloat16"})
"""By type, the function that rounds a number to the nearest one of the type: what storing and reading it makes of it."""

_STRICT = (
    *("add", "subtract", "multiply", "negative", "square", "abs", "floor", "ceil", "round", "trunc", "sign", "mod", "fmod"),
    *("floor_divide", *AS_STORED.values(), REPORT_NOT_FINITE, ROUNDED),
)
_REAL = ("divide", "reciprocal", "sqrt")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift")
_CONDITIONS = (
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan", "isinf"),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
)
_OTHERS: Mapping[str, Callable[..., Any]] = {
    AS_STORED["float16"]: lambda x: rounded_once(x, "float16").astype(np.asarray(x).dtype),
    AS_STORED["bfloat16"]: lambda x: rounded_once(x, "bfloat16").astype(np.asarray(x).dtype),
    REPORT_NOT_FINITE: lambda x: x,
    ROUNDED: lambda x: x,
    "reciprocal": lambda x: np.divide(1.0, x),
    "pow": power,
}
"""The functions that are not those of NumPy by the same name, or not in NumPy 1."""
_ARITIES = {"where": 3, "pow": 2}
"""Of functions that are no ufuncs; all others of these have one operand."""


def _function(name: str, *, is_condition: bool = False, is_real: bool = False, is_strict: bool = False) -> ScalarFunction:
    function = _OTHERS.get(name) or getattr(np, name)
    return ScalarFunction(name, getattr(function, "nin", _ARITIES.get(name, 1)), function, is_condition, is_real, is_strict)


FUNCTIONS: Mapping[str, ScalarFunction] = MappingProxyType(
    {name: _function(name, is_strict=True) for name in _STRICT}
    | {name: _function(name, is_strict=True, is_real=True) for name in _REAL}
    | {one.name: ScalarFunction(one.name, one.arity, one.numpy, is_real=True, is_strict=True) for one in DECLARED.values()}
    | {name: _function(name) for name in ("maximum", "minimum", "where", "pow", *_BITS)}
    | {name: _function(name, is_condition=True) for name in _CONDITIONS}
)
"""Every scalar function by its name. `maximum` and `minimum` hand a NaN on. The first operand of `where`, and those of
`logical_*`, are conditions: a number in their place is true if it is not 0."""

COMBINATIONS: Mapping[str, np.ufunc] = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
"""The associative functions through which a reduction's state may take in contributions."""

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
"""The functions of two numbers that are conditions."""
OF_BITS = frozenset(_BITS)
"""The functions that integers alone have."""


def known_value(scalar: Scalar, known: Mapping[Scalar, float]) -> float | None:
    """The value of an expression if it is the same whatever finite numbers the other leaves are; None if not, or if it is NaN.

    >>> from tilewright.graph.expressions.scalar import Point, State, apply
    >>> known_value(apply("exp", apply("subtract", Point(), State("max"))), {Point(): float("-inf")})
    0.0
    """
    if scalar in known:
        return known[scalar]
    if isinstance(scalar, Literal):
        return scalar.value
    if not isinstance(scalar, Apply):
        return None
    operands = [known_value(operand, known) for operand in scalar.operands]
    found = [operand for operand in operands if operand is not None]
    if len(found) == len(operands):
        with np.errstate(all="ignore"):
            value: float | None = float(FUNCTIONS[scalar.function].numpy(*found))
    else:
        value = _partly_known(scalar.function, operands)
    return None if value is None or isnan(value) else value


def _partly_known(function: str, operands: list[float | None]) -> float | None:
    """The value of a function of some known operands and some finite ones that are not known."""
    match function, operands:
        case "where", (None, this, that):
            return this if this == that else None
        case "where", (condition, this, that):
            return this if condition else that
        case (("add" | "subtract"), (left, right)):
            beside = right if right is None or function == "add" else -right
            return next((bound for bound in (left, beside) if bound is not None and isinf(bound)), None)
        case "multiply", (left, right):
            return 0.0 if 0.0 in (left, right) else None
        case "divide", (left, right):
            return 0.0 if left == 0.0 or (right is not None and isinf(right)) else None
        case (("maximum" | "minimum"), (left, right)):
            strongest = float("inf") if function == "maximum" else float("-inf")
            return strongest if strongest in (left, right) else None
        case _:
            return None
