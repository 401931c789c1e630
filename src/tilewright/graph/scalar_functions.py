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


def _as_float16(x: Any) -> Any:
    return rounded_once(x, "float16").astype(np.asarray(x).dtype)


def _as_bfloat16(x: Any) -> Any:
    return rounded_once(x, "bfloat16").astype(np.asarray(x).dtype)


def _reciprocal(x: Any) -> Any:
    return np.divide(1.0, x)


def _identity(x: Any) -> Any:
    return x


_STRICT = (
    ("add", 2, np.add),
    ("subtract", 2, np.subtract),
    ("multiply", 2, np.multiply),
    ("negative", 1, np.negative),
    ("square", 1, np.square),
    ("abs", 1, np.abs),
    ("floor", 1, np.floor),
    ("ceil", 1, np.ceil),
    ("round", 1, np.round),
    ("trunc", 1, np.trunc),
    ("sign", 1, np.sign),
    ("mod", 2, np.remainder),
    ("fmod", 2, np.fmod),
    ("floor_divide", 2, np.floor_divide),
    (AS_STORED["float16"], 1, _as_float16),
    (AS_STORED["bfloat16"], 1, _as_bfloat16),
    (REPORT_NOT_FINITE, 1, _identity),
    (ROUNDED, 1, _identity),
)
_REAL = (
    ("divide", 2, np.divide),
    ("reciprocal", 1, _reciprocal),
    ("sqrt", 1, np.sqrt),
    ("exp", 1, np.exp),
    ("log", 1, np.log),
    ("tanh", 1, np.tanh),
    ("erf", 1, special_functions.erf),
    ("sigmoid", 1, special_functions.sigmoid),
    ("silu", 1, special_functions.silu),
    ("gelu", 1, special_functions.gelu),
    ("gelu_tanh", 1, special_functions.gelu_tanh),
    ("expm1", 1, np.expm1),
    ("log1p", 1, np.log1p),
    ("sin", 1, np.sin),
    ("cos", 1, np.cos),
    ("tan", 1, np.tan),
    ("asin", 1, np.arcsin),
    ("acos", 1, np.arccos),
    ("atan", 1, np.arctan),
    ("sinh", 1, np.sinh),
    ("cosh", 1, np.cosh),
    ("asinh", 1, np.arcsinh),
    ("acosh", 1, np.arccosh),
    ("atanh", 1, np.arctanh),
)
"""These are strict, too."""
_CHOICES = (
    ("maximum", 2, np.maximum),
    ("minimum", 2, np.minimum),
    ("where", 3, np.where),
    ("pow", 2, special_functions.power),
    ("bitwise_and", 2, np.bitwise_and),
    ("bitwise_or", 2, np.bitwise_or),
    ("bitwise_xor", 2, np.bitwise_xor),
    ("bitwise_not", 1, np.invert),
    ("left_shift", 2, np.left_shift),
    ("right_shift", 2, np.right_shift),
)
"""Not strict; those of bits are for integers alone."""
_CONDITIONS = (
    ("less", 2, np.less),
    ("less_equal", 2, np.less_equal),
    ("greater", 2, np.greater),
    ("greater_equal", 2, np.greater_equal),
    ("equal", 2, np.equal),
    ("not_equal", 2, np.not_equal),
    ("isnan", 1, np.isnan),
    ("isinf", 1, np.isinf),
)
_CONNECTIVES = (
    ("logical_and", 2, np.logical_and),
    ("logical_or", 2, np.logical_or),
    ("logical_xor", 2, np.logical_xor),
    ("logical_not", 1, np.logical_not),
)

FUNCTIONS: Mapping[str, ScalarFunction] = MappingProxyType(
    {name: ScalarFunction(name, arity, reference, is_strict=True) for name, arity, reference in _STRICT}
    | {name: ScalarFunction(name, arity, reference, is_strict=True, is_real=True) for name, arity, reference in _REAL}
    | {name: ScalarFunction(name, arity, reference) for name, arity, reference in _CHOICES}
    | {
        name: ScalarFunction(name, arity, reference, is_condition=True)
        for name, arity, reference in (*_CONDITIONS, *_CONNECTIVES)
    }
)
"""Every scalar function by its name. `maximum` and `minimum` hand a NaN on. The first operand of `where`, and those of
`logical_*`, are conditions: a number in their place is true if it is not 0."""

COMBINATIONS: Mapping[str, np.ufunc] = MappingProxyType(
    {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
)
"""The associative functions through which a reduction's state may take in contributions."""

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
"""The functions of two numbers that are conditions."""
OF_BITS = frozenset(name for name in FUNCTIONS if name.startswith("bitwise_") or name.endswith("_shift"))
"""The functions that integers alone have."""
