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

import numpy as np

from tilewright.plan.model.coefficients import DEFAULT, Coefficients
from tilewright.tune.fit.kernels import NAMES, Kernel, prices, table
from tilewright.tune.fit.least_squares import FloatArray, non_negative

TURNS = 15
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
