"""Non-negative least squares, by active sets."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = 1e-10


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
