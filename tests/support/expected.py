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
    scores = inputs["A"].astype("f8") @ inputs["B"].astype("f8")
    if middle == "softmax":
        scores = softmax64(scores)
    if middle == "relu":
        scores = np.maximum(scores, 0)
    return scores @ inputs["D"].astype("f8")


def gemm_chain_bound(inputs: Mapping[str, np.ndarray], middle: str = "") -> np.ndarray:
    """An upper bound of the float32 error of E, from the accumulation lengths K and L.

    A sum of n products is off by at most (n + 2) eps times the sum of magnitudes (Higham, Accuracy and Stability of Numerical
    Algorithms, section 3.1). The error of a score shifts a softmax weight by that factor, relative; exp adds 4 eps.
    """
    a, b, d = (np.abs(inputs[name].astype("f8")) for name in "ABD")
    depth, length = a.shape[-1], b.shape[-1]
    magnitude = a @ b
    if middle == "softmax":
        weights = softmax64(inputs["A"].astype("f8") @ inputs["B"].astype("f8"))
        slack = 2 * (depth + 2) * EPS * magnitude.max(-1, keepdims=True, initial=0) + (length + 12) * EPS
        return (weights * slack) @ d + (length + 2) * EPS * (weights @ d) + EPS
    return (depth + length + 4) * EPS * (magnitude @ d) + EPS
