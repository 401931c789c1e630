"""Scores of the classifiers and regressors of ai.onnx.ml: transforms, and labels of the best scores."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.operators.activation.softmax import Softmax
from tilewright.graph.scalar_functions import sigmoid

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_NEARLY_ZERO = 1e-7


def transformed(scores: Any, transform: str) -> Any:
    """Scores [N, E] as shares of a row, as probabilities, or as they are.

    SOFTMAX_ZERO leaves scores that are 0 out of the sum and at 0; PROBIT is the inverse of the normal distribution function.
    """
    if transform not in TRANSFORMS:
        raise UnsupportedOperation(f"post_transform {transform!r}", hint=f"choose from {', '.join(TRANSFORMS)}")
    if transform == "SOFTMAX":
        return Softmax().reference(scores)
    if transform == "LOGISTIC":
        return sigmoid(scores)
    if transform == "PROBIT":
        return _probit(scores)
    return _softmax_of_others(scores) if transform == "SOFTMAX_ZERO" else scores


def labels_of(ints: Sequence[int], strings: Sequence[str], where: str) -> Any:
    """The class labels: int64 or strings. Raises `ShapeError` unless exactly one kind is there."""
    if bool(len(ints)) == bool(len(strings)):
        raise ShapeError("class labels are either integers or strings", where=where)
    return np.array(list(strings), object) if len(strings) else np.array(ints, np.int64)


def classified(scores: Any, labels: Any, transform: str, threshold: float = 0.0, complement: float = 0.0) -> Any:
    """The label of the best score of every row, and the transformed scores (float32).

    With two labels and one score, that is the second label's: it wins above the threshold, and the first one's score is
    `complement` less it (0 less it under LOGISTIC, which makes a complement of its own).
    """
    if scores.shape[1] == 1 and len(labels) == 2:
        best = (scores[:, 0] > threshold).astype(np.int64)
        if transform != "PROBIT":
            whole = 0.0 if transform == "LOGISTIC" else complement
            scores = np.concatenate([whole - scores, scores], axis=1)
    elif scores.shape[1] == len(labels):
        best = scores.argmax(axis=1)
    else:
        raise ShapeError(f"{scores.shape[1]} scores for {len(labels)} labels", where=DOMAIN)
    return labels[best], transformed(scores, transform).astype(np.float32)


def matrix(x: Any, where: str) -> Any:
    """[N, F] in float64; a vector is one row. Raises `ShapeError` for others."""
    rows = np.asarray(x, np.float64)
    rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise ShapeError(f"features of shape {np.shape(x)}", where=where, why="[N, F] is wanted")
    return rows


def coefficient_rows(values: Sequence[float], rows: int, where: str) -> Any:
    """A flat list as `rows` rows."""
    if rows < 1 or len(values) % rows or not len(values):
        raise ShapeError(f"{len(values)} numbers in {rows} rows", where=where)
    return np.array(values, np.float64).reshape(rows, -1)


def _softmax_of_others(scores: Any) -> Any:
    counts = np.abs(scores) > _NEARLY_ZERO
    powers = np.where(counts, np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)), 0.0)
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)


def _probit(shares: Any) -> Any:
    inverse = NormalDist().inv_cdf
    return np.vectorize(lambda p: inverse(p) if 0 < p < 1 else np.copysign(np.inf, p - 0.5), otypes=[np.float64])(shares)
