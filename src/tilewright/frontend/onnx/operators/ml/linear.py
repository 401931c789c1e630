"""LinearRegressor and LinearClassifier: weighted sums of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
    classified,
    coefficient_rows,
    labels_of,
    matrix,
    transformed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRegressor:
    """x W^T + b of [N, F] for W [targets, F]; float32."""

    coefficients: Sequence[float] = ()
    intercepts: Sequence[float] = ()
    post_transform: str = "NONE"
    targets: int = 1

    def reference(self, x: Any) -> Any:
        scores = linear(x, self.coefficients, self.intercepts, self.targets, "LinearRegressor")
        return transformed(scores, self.post_transform).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearClassifier:
    """The best label of every row and its scores [N, E]. There are as many rows of coefficients as intercepts."""

    classlabels_ints: Sequence[int] = ()
    classlabels_strings: Sequence[str] = ()
    coefficients: Sequence[float]
    intercepts: Sequence[float] = ()
    multi_class: int = 0
    post_transform: str = "NONE"

    def reference(self, x: Any) -> Any:
        labels = labels_of(self.classlabels_ints, self.classlabels_strings, "LinearClassifier")
        scores = linear(x, self.coefficients, self.intercepts, len(self.intercepts) or len(labels), "LinearClassifier")
        return classified(scores, labels, self.post_transform, complement=1.0)


def linear(x: Any, weights: Sequence[float], intercepts: Sequence[float], rows: int, where: str) -> Any:
    """x W^T + b for a flat list of `rows` rows of weights. Raises `ShapeError` where these do not fit x [N, F]."""
    features, matrix_ = matrix(x, where), coefficient_rows(weights, rows, where)
    if features.shape[1] != matrix_.shape[1] or len(intercepts) not in (0, rows):
        raise ShapeError(f"features {features.shape}, coefficients {matrix_.shape}, {len(intercepts)} intercepts", where=where)
    return features @ matrix_.T + (np.array(intercepts, np.float64) if len(intercepts) else 0.0)


define("LinearRegressor", LinearRegressor, domain=DOMAIN)
define("LinearClassifier", LinearClassifier, domain=DOMAIN)
