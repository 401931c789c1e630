"""How far float32 results of the scalar functions are from the exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special

from tests.support.guarded import Floats

LIMITS = np.finfo(np.float32)
SPACING = float(LIMITS.smallest_subnormal)
OVERFLOWS = float(LIMITS.max) * (1 + 2.0**-25)
"""Results from here on round to infinity."""


def _gelu_tanh(x: Any) -> Any:
    return x * scipy.special.expit(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


EXACT: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": scipy.special.erf,
    "sigmoid": scipy.special.expit,
    "silu": lambda x: x * scipy.special.expit(x),
    "gelu": lambda x: x * scipy.special.ndtr(x),
    "gelu_tanh": _gelu_tanh,
}
"""Of float64."""
BOUND = 1e-6
"""Of the relative error of every function."""


def exact(function: str, x: Floats) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The function in float64."""
    with np.errstate(all="ignore"):
        result: np.ndarray[Any, np.dtype[np.float64]] = EXACT[function](x.astype(np.float64))
    return result


def largest_error(result: Floats, expected: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The largest relative error; of denormal results what exceeds their rounding (half of their spacing).

    An infinity where the result is representable, or a number where it is not, counts as infinite, and so do NaN that are in one
    of the two only; next to the largest float an error of 2e-7 may decide between the two.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(expected)
        error = np.abs(result - expected)
        error -= np.where(size < LIMITS.tiny, SPACING / 2, 0)
        relative = np.where(size > 1e-60, error / np.maximum(size, 1e-60), np.where(result == 0, 0, np.inf))
        overflowed, near = size >= OVERFLOWS, np.abs(size / OVERFLOWS - 1) <= 2e-7
        infinite = np.isinf(result) & (np.sign(result) == np.sign(expected))
    relative = np.where(overflowed, np.where(infinite | near, 0, np.inf), relative)
    relative = np.where(near & infinite, 0, relative)
    relative = np.where(np.isnan(expected), np.where(np.isnan(result), 0, np.inf), np.where(np.isnan(result), np.inf, relative))
    return float(relative.max(initial=0))
