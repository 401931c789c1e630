"""What functions of floats are, in long double, and how far `tile/functions` may be off: shared by the study and by tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Reference: TypeAlias = Callable[..., Array]
Long = np.longdouble


def _long(value: Any) -> Any:
    """A long double next to a number of mpmath's."""
    if abs(value) < mp.mpf(2) ** -1100:
        return Long(0)
    high = float(value)
    return Long(high) + Long(float(value - mp.mpf(high))) if math.isfinite(high) else Long(high)


def by_mpmath(function: Callable[[Any], Any], limit: float | None = 1000.0) -> Reference:
    """Value for value, in at least 100 bits; beyond a limit as there."""

    def evaluate(x: Array) -> Array:
        given = x.ravel() if limit is None else np.clip(x.ravel(), -limit, limit)
        with mp.workprec(max(100, mp.mp.prec)):
            found = [_long(function(mp.mpf(float(one)))) for one in given]
        whole: Array = np.array(found, Long).reshape(x.shape)
        return whole

    return evaluate


def odd(function: Reference) -> Reference:
    """With the sign of a 0."""

    def evaluate(x: Array) -> Array:
        return np.copysign(function(x), x)

    return evaluate


def sigmoid(x: Array) -> Array:
    """1 / (1 + e**-x)."""
    power = np.exp(-np.abs(x))
    whole: Array = np.where(x < 0, power, 1) / (1 + power)
    return whole


def softplus(x: Array) -> Array:
    """log(1 + e**x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x: Array) -> Array:
    """x tanh(softplus(x))."""
    return x * np.tanh(softplus(x))


def elu(x: Array, alpha: Any = 1) -> Array:
    """alpha (e**x - 1) of negative numbers."""
    whole: Array = np.where(x > 0, x, alpha * np.expm1(x))
    return whole


def hardswish(x: Array) -> Array:
    """x (x + 3) / 6, with x + 3 between 0 and 6."""
    inside: Array = np.minimum(np.maximum(x + 3, 0), 6)
    whole: Array = x * inside / 6
    return whole


SELU_SCALE, SELU_ALPHA = Long("1.0507009873554804934193349852946"), Long("1.6732632423543772848170429916717")
SQRT_2 = np.sqrt(Long(2))
SLOPE = 2 * np.sqrt(2 / Long("3.14159265358979323846264338327950288"))
erf, erfc = odd(by_mpmath(mp.erf)), by_mpmath(mp.erfc)
SAME_NAMES = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")
ARC = ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")
REFERENCES: Mapping[str, Reference] = {
    **{name: getattr(np, name) for name in SAME_NAMES},
    **{name: getattr(np, f"arc{name[1:]}") for name in ARC},
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": erf,
    "erfc": erfc,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x * erfc(-x / SQRT_2) / 2,
    "gelu_tanh": lambda x: x * sigmoid(SLOPE * (x + Long("0.044715") * x**3)),
    "softplus": softplus,
    "mish": mish,
    "elu": elu,
    "selu": lambda x: SELU_SCALE * elu(x, SELU_ALPHA),
    "hardswish": hardswish,
}
"""Of one operand, but for `atan2` and `pow`."""
OF_TWO = frozenset(("atan2", "pow"))
SLOW = frozenset(("erf", "erfc", "gelu"))
"""By mpmath."""
_EXACT = ("sin", "cos", "pow")
_TWO = ("exp", "exp2", "expm1", "log", "log2", "log10", "atan", "asin", "acos", "sqrt", "rsqrt", "tanh", "erf")
LIMITS: Mapping[str, float] = dict.fromkeys(_EXACT, 1.1) | dict.fromkeys(_TWO, 2.0)
"""The largest error in units in the last place; of functions that are not here `OTHERS`."""
OTHERS = 4.0
OF_INPUT = frozenset(("silu", "gelu", "gelu_tanh", "mish", "hardswish", "elu", "selu", "softplus"))
"""Functions whose error may also be one unit in the last place of the operand."""


def limit(name: str) -> float:
    """The largest error in units in the last place."""
    return LIMITS.get(name, OTHERS)


def errors(name: str, found: Array, exact: Array, operand: Array) -> tuple[Array, Array]:
    """In units in the last place of the result, where both are finite; and whether each is right where they are not.

    A function of `OF_INPUT` that is within one unit of its operand counts as within its limit.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        finite = np.isfinite(rounded) & np.isfinite(found)
        error = np.abs(found.astype(Long) - exact)
        units = error / np.spacing(np.abs(rounded)).astype(Long)
        if name in OF_INPUT:
            is_near = error <= np.spacing(np.abs(operand)).astype(Long)
            units = np.where(is_near, np.minimum(units, limit(name)), units)
    right = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(finite, units, 0), finite | right
