"""Linear models, weighted sums of features, and support vector machines.

Source: C.-C. Chang, C.-J. Lin, "LIBSVM: A Library for Support Vector Machines", ACM TIST 2 (2011), sections 2 and 7; their
probabilities: T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling",
JMLR 5 (2004), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import DOMAIN, classified, coefficient_rows, labels_of, matrix, transformed
from tilewright.graph.scalar_functions import sigmoid


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


KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
_COUPLING_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SVMRegressor:
    """sum_i c_i K(s_i, x) + rho as [N, 1]; its sign for a one-class machine. Without support vectors it is linear."""

    coefficients: Sequence[float] = ()
    kernel_params: Sequence[float] = ()
    kernel_type: str = "LINEAR"
    n_supports: int = 0
    one_class: int = 0
    post_transform: str = "NONE"
    rho: Sequence[float] = ()
    support_vectors: Sequence[float] = ()

    def reference(self, x: Any) -> Any:
        features = matrix(x, "SVMRegressor")
        weights = np.array(self.coefficients, np.float64)
        vectors, kind = np.eye(features.shape[1]), "LINEAR"
        if self.n_supports:
            vectors, kind = coefficient_rows(self.support_vectors, self.n_supports, "SVMRegressor"), self.kernel_type
        kernel = _kernel(features, vectors, kind, self.kernel_params)
        if kernel.shape[1] != len(weights) or not len(self.rho):
            raise ShapeError(f"{len(weights)} coefficients, {kernel.shape[1]} support vectors", where="SVMRegressor")
        scores = (kernel @ weights + self.rho[0])[:, None]
        return transformed(np.where(scores > 0, 1.0, -1.0) if self.one_class else scores, self.post_transform).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SVMClassifier:
    """The label that most pairs of classes vote for, and the scores: of every pair, or probabilities of every class."""

    classlabels_ints: Sequence[int] = ()
    classlabels_strings: Sequence[str] = ()
    coefficients: Sequence[float] = ()
    kernel_params: Sequence[float] = ()
    kernel_type: str = "LINEAR"
    post_transform: str = "NONE"
    prob_a: Sequence[float] = ()
    prob_b: Sequence[float] = ()
    rho: Sequence[float] = ()
    support_vectors: Sequence[float] = ()
    vectors_per_class: Sequence[int] = ()

    def reference(self, x: Any) -> Any:
        labels = labels_of(self.classlabels_ints, self.classlabels_strings, "SVMClassifier")
        if not self.vectors_per_class:
            scores = linear(x, self.coefficients, [self.rho[0] if self.rho else 0.0] * len(labels), len(labels), "SVMClassifier")
            return classified(scores, labels, self.post_transform)
        counts = list(self.vectors_per_class)
        vectors = coefficient_rows(self.support_vectors, sum(counts), "SVMClassifier")
        kernel = _kernel(matrix(x, "SVMClassifier"), vectors, self.kernel_type, self.kernel_params)
        scores = _pairs(kernel, coefficient_rows(self.coefficients, len(counts) - 1, "SVMClassifier"), self.rho, counts)
        best = _votes(scores, len(counts)).argmax(axis=1)
        if self.prob_a:
            scores = _coupled(scores, self.prob_a, self.prob_b, len(counts))
        elif len(counts) == 2:
            scores = np.concatenate([-scores, scores], axis=1)
        return labels[best], transformed(scores, self.post_transform).astype(np.float32)


def _kernel(x: Any, vectors: Any, kind: str, parameters: Sequence[float]) -> Any:
    """K(x_n, s_i) [N, vectors] with gamma, coef0 and degree."""
    if kind not in KERNELS:
        raise UnsupportedOperation(f"kernel_type {kind!r}", hint=f"choose from {', '.join(KERNELS)}")
    if x.shape[1] != vectors.shape[1]:
        raise ShapeError(f"{x.shape[1]} features, but support vectors of {vectors.shape[1]}", where=DOMAIN)
    gamma, first, degree = (*parameters, 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        return np.exp(-gamma * np.square(x[:, None] - vectors).sum(axis=-1))
    products = x @ vectors.T
    if kind == "POLY":
        return (gamma * products + first) ** degree
    return np.tanh(gamma * products + first) if kind == "SIGMOID" else products


def _pairs(kernel: Any, weights: Any, rho: Sequence[float], counts: Sequence[int]) -> Any:
    """The score of class i against class j for all i < j: positive votes for i."""
    pairs = list(combinations(range(len(counts)), 2))
    if len(rho) < len(pairs) or weights.shape[1] != kernel.shape[1]:
        raise ShapeError(f"{len(rho)} rho and {weights.shape[1]} coefficients do not fit", where="SVMClassifier")
    edges = np.cumsum([0, *counts])
    parts = [slice(start, end) for start, end in pairwise(edges)]
    scores = [
        kernel[:, parts[i]] @ weights[j - 1, parts[i]] + kernel[:, parts[j]] @ weights[i, parts[j]] + rho[number]
        for number, (i, j) in enumerate(pairs)
    ]
    return np.stack(scores, axis=1)


def _votes(scores: Any, classes: int) -> Any:
    votes = np.zeros((len(scores), classes))
    for number, (i, j) in enumerate(combinations(range(classes), 2)):
        votes[:, i] += scores[:, number] > 0
        votes[:, j] += scores[:, number] <= 0
    return votes


def _coupled(scores: Any, prob_a: Sequence[float], prob_b: Sequence[float], classes: int) -> Any:
    """Probabilities of all classes from those of the pairs, 1 / (1 + exp(a score + b)): Wu, Lin, Weng, algorithm 2."""
    pairwise = np.zeros((len(scores), classes, classes))
    for number, (i, j) in enumerate(combinations(range(classes), 2)):
        pairwise[:, i, j] = np.clip(sigmoid(-(scores[:, number] * prob_a[number] + prob_b[number])), 1e-7, 1 - 1e-7)
        pairwise[:, j, i] = 1 - pairwise[:, i, j]
    return np.stack([_coupled_sample(probabilities) for probabilities in pairwise]) if len(scores) else np.zeros((0, classes))


def _coupled_sample(r: Any) -> Any:
    """The p with sum 1 that minimises sum_ij (r_ji p_i - r_ij p_j)^2, by the fixed-point iteration."""
    q = -r.T * r
    np.fill_diagonal(q, np.square(r).sum(axis=0))
    p = np.full(len(r), 1 / len(r))
    for _ in range(max(_COUPLING_STEPS, len(r))):
        if np.abs(q @ p - p @ q @ p).max() < 0.005 / len(r):
            break
        for t in range(len(p)):
            p[t] += (p @ q @ p - q[t] @ p) / q[t, t]
            p /= p.sum()
    return p


define("LinearRegressor", LinearRegressor, domain=DOMAIN)
define("LinearClassifier", LinearClassifier, domain=DOMAIN)
define("SVMRegressor", SVMRegressor, domain=DOMAIN)
define("SVMClassifier", SVMClassifier, domain=DOMAIN)
