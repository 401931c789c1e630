"""Float64 results of the small chains, and how far float32 may be from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

EPS = float(np.finfo(np.float32).eps)


def softmax64(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Softmax along an axis, in float64."""
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def gemm_chain64(inputs: Mapping[str, np.ndarray], middle: str = "") -> np.ndarray:
    """E of `support.chains.gemm_chain`."""
    return gemm_chain_with_bound(inputs, middle)[0]


def gemm_chain_with_bound(inputs: Mapping[str, np.ndarray], middle: str = "") -> tuple[np.ndarray, np.ndarray]:
    """E, and an upper bound of its float32 error, from the accumulation lengths K and L.

    A sum of n products is off by at most (n + 2) eps times the sum of magnitudes (Higham, Accuracy and Stability of Numerical
    Algorithms, section 3.1). The error of a score shifts a softmax weight by that factor, relative; exp adds 4 eps.
    """
    a, b, d = (inputs[name].astype("f8") for name in "ABD")
    depth, length = a.shape[-1], b.shape[-1]
    scores, magnitude = a @ b, np.abs(a) @ np.abs(b)
    if middle == "softmax":
        weights = softmax64(scores)
        slack = 2 * (depth + 2) * EPS * magnitude.max(-1, keepdims=True, initial=0) + (2 * length + 14) * EPS
        return weights @ d, slack * (weights @ np.abs(d)) + EPS
    if middle == "relu":
        scores = np.maximum(scores, 0)
    return scores @ d, (depth + length + 4) * EPS * (magnitude @ np.abs(d)) + EPS
