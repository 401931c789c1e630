"""The fit of the price's coefficients to measured kernels.

An operator's price is the larger of its computing and its traffic into each level, plus a share of all traffic, plus what is
paid in any case. Given which of these is the largest, it is linear in the coefficients: so both are found in turns, the
coefficients by non-negative least squares on relative errors, until nothing changes. Residuals beyond a tenth count by their
size, not by its square: kernels that hit an effect outside the model do not bend it. Coefficients that few kernels depend on
stay near the values that the fit starts from. Every case is also predicted by a fit without the networks that it is of, and these
errors are quoted: layers of one network are too alike to test each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.plan.model.coefficients import DEFAULT, Coefficients
from tilewright.tune.fit.kernels import NAMES, FloatArray, Kernel, prices, table

TURNS = 15
TOLERANCE = 1e-10
"""Of gradients, and of unknowns that count as 0."""
ROBUST = 0.1
"""Relative residuals beyond this count by their size."""
PRIOR = 0.02
"""Weight of the values that a fit starts from, in kernels: as if so large a share of all kernels had measured them exactly."""
LEAST_ERROR = 0.25
"""Of the default value: such a start holds no more strictly. The cost of a page was 1 cycle where caches held all operands of an
earlier fit, and is 27 where they come from memory."""


def fit(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The coefficients that explain these kernels best, from `start`, towards which they are held."""
    values, measured = start, np.array([kernel.measured_s for kernel in kernels])
    scale = np.sqrt(PRIOR * len(kernels)) / np.maximum(start, LEAST_ERROR * values_of(DEFAULT))
    rows = table(kernels)
    for _ in range(TURNS):
        units, constant = rows.linear(values)
        matrix, target = units / measured[:, None], 1 - (constant + call_s) / measured
        weights = np.sqrt(ROBUST / np.maximum(np.abs(matrix @ values - target), ROBUST))
        stacked = np.vstack([matrix * weights[:, None], np.diag(scale * ROBUST)])
        found = non_negative(stacked, np.concatenate([target * weights, scale * start * ROBUST]))
        if np.allclose(found, values, rtol=1e-4, atol=1e-9):
            break
        values = 0.5 * (values + found)
    return values


def crosswise(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The price of every kernel by a fit to the kernels that share no network with it."""
    predicted = np.zeros(len(kernels))
    for origin in dict.fromkeys(kernel.origin for kernel in kernels):
        own = np.array([kernel.origin == origin for kernel in kernels])
        values = fit([kernel for kernel in kernels if not kernel.origin & origin], start, call_s)
        predicted[own] = prices([kernel for kernel in kernels if kernel.origin == origin], values, call_s)
    return predicted


def values_of(own: Coefficients) -> FloatArray:
    """The fitted coefficients in the order of `NAMES`."""
    functions = {f"{name}_cycles": cycles for name, cycles in own.function_cycles_per_vector}
    return np.array([functions[name] if name in functions else getattr(own, name) for name in NAMES])


def non_negative(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """The x >= 0 that minimises the length of `matrix @ x - target` (Lawson and Hanson, Solving Least Squares Problems, ch. 23).

    `matrix` has a row per observation and a column per unknown. Columns are scaled to length 1 while solving.

    >>> non_negative(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths == 0] = 1.0
    scaled = matrix / lengths
    x, free = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], dtype=bool)
    for _ in range(3 * matrix.shape[1]):
        gradient = np.where(free, -np.inf, scaled.T @ (target - scaled @ x))
        if not np.any(gradient > TOLERANCE * np.linalg.norm(target)):
            break
        free[np.argmax(gradient)] = True
        x, free = _inside(scaled, target, x, free)
    found: FloatArray = x / lengths
    return found


def _inside(matrix: FloatArray, target: FloatArray, x: FloatArray, free: Any) -> tuple[FloatArray, Any]:
    """The least squares over the free unknowns, with those fixed at 0 that would become negative on the way there."""
    free = free.copy()
    while True:
        wanted = np.zeros_like(x)
        wanted[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        negative = free & (wanted <= 0)
        if not negative.any():
            return wanted, free
        step = np.min(x[negative] / (x[negative] - wanted[negative]))
        x = x + step * (wanted - x)
        free &= x > TOLERANCE
        x[~free] = 0.0
