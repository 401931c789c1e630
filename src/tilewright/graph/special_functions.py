"""Reference of the scalar functions that NumPy lacks: computed in float64, by formulas that lose no digits in the tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_ERF, _ERFC = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715
"""Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2: of the tanh form."""


def _in_float64(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function with results of the operand's floating-point type (float64 for integers)."""

    def evaluate(x: Any) -> Any:
        x = np.asarray(x)
        dtype = x.dtype if np.issubdtype(x.dtype, np.floating) else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(function(x.astype(np.float64)), np.float64).astype(dtype)[()]

    return evaluate


def _sigmoid(x: Any) -> Any:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def power(x: Any, y: Any) -> Any:
    """x to the power y; of integers with negative exponents the whole part of the quotient, 0 for 0."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        return np.power(x, y)
    inverse = np.where(np.abs(x) == 1, np.where(y % 2 == 0, 1, x), 0)
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(np.result_type(x, y))[()]


erf = _in_float64(_ERF)
sigmoid = _in_float64(_sigmoid)
silu = _in_float64(lambda x: x * _sigmoid(x))
gelu = _in_float64(lambda x: x * (np.asarray(_ERFC(-x / math.sqrt(2)), np.float64) / 2))
gelu_tanh = _in_float64(lambda x: x * _sigmoid(2 * SQRT_2_OVER_PI * (x + CUBIC * x**3)))
