"""How far float32 exponentials are from the exact ones."""

from __future__ import annotations

import numpy as np

from tests.support.guarded import Floats

LIMITS = np.finfo(np.float32)
SPACING = float(LIMITS.smallest_subnormal)
OVERFLOWS = float(LIMITS.max) * (1 + 2.0**-25)
"""Results from here on round to infinity."""


def largest_error(result: Floats, x: Floats) -> float:
    """The largest relative error; of denormal results what exceeds their rounding (half of their spacing).

    An infinity where the result is representable, or a number where it is not, counts as infinite; next to the largest float
    an error of 2e-7 may decide between the two.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.exp(x.astype(np.float64))
        error = np.abs(result - exact)
        error -= np.where(exact < LIMITS.tiny, SPACING / 2, 0)
        relative = np.where(exact > 1e-60, error / np.maximum(exact, 1e-60), np.where(result == 0, 0, np.inf))
    overflowed = exact >= OVERFLOWS
    near = np.abs(exact / OVERFLOWS - 1) <= 2e-7
    relative = np.where(overflowed, np.where(np.isinf(result) | near, 0, np.inf), relative)
    relative = np.where(near & np.isinf(result), 0, relative)
    return float(relative[~np.isnan(x)].max(initial=0))
