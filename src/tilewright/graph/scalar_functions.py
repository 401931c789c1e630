"""The scalar functions that bodies and reductions may apply: their number of operands and their NumPy reference.

Code generation emits C for exactly these names; everything else (relu, clip, ...) is composed of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph import special_functions
from tilewright.graph.numpy_types import rounded_once


@dataclass(frozen=True, slots=True)
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
_REAL = (
    *("divide", "reciprocal", "sqrt", "exp", "log", "tanh", "erf", "sigmoid", "silu", "gelu", "gelu_tanh", "expm1", "log1p"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
)
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
    "erf": special_functions.erf,
    "sigmoid": special_functions.sigmoid,
    "silu": special_functions.silu,
    "gelu": special_functions.gelu,
    "gelu_tanh": special_functions.gelu_tanh,
    "pow": special_functions.power,
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
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
    | {name: _function(name) for name in ("maximum", "minimum", "where", "pow", *_BITS)}
    | {name: _function(name, is_condition=True) for name in _CONDITIONS}
)
"""Every scalar function by its name. `maximum` and `minimum` hand a NaN on. The first operand of `where`, and those of
`logical_*`, are conditions: a number in their place is true if it is not 0."""

COMBINATIONS: Mapping[str, np.ufunc] = MappingProxyType(
    {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
)
"""The associative functions through which a reduction's state may take in contributions."""

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
"""The functions of two numbers that are conditions."""
OF_BITS = frozenset(_BITS)
"""The functions that integers alone have."""
