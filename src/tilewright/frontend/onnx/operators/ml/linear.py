"""Linear models, weighted sums of features, and support vector machines; scores of classifiers and regressors of ai.onnx.ml.

Scores are transformed, and give the labels of the best ones.

Source: C.-C. Chang, C.-J. Lin, "LIBSVM: A Library for Support Vector Machines", ACM TIST 2 (2011), sections 2 and 7; their
probabilities: T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling",
JMLR 5 (2004), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.activation.activations import Softmax
from tilewright.graph.expressions.scalar_functions import FUNCTIONS

_sigmoid = FUNCTIONS["sigmoid"].numpy

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
        return _sigmoid(scores)
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


@onnx_function("LinearRegressor", domain=DOMAIN)
def linear_regressor(x: Any, *, coefficients: Any, intercepts: Any, post_transform: Any, targets: Any) -> Any:
    """x W^T + b of [N, F] for W [targets, F]; float32."""
    scores = linear(x, coefficients, intercepts, targets, "LinearRegressor")
    return transformed(scores, post_transform).astype(np.float32)


@onnx_operator("LinearClassifier", domain=DOMAIN)
class LinearClassifier(SchemaAttributes):
    """The best label of every row and its scores [N, E]. There are as many rows of coefficients as intercepts."""

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


@onnx_operator("SVMRegressor", domain=DOMAIN)
class SVMRegressor(SchemaAttributes):
    """sum_i c_i K(s_i, x) + rho as [N, 1]; its sign for a one-class machine. Without support vectors it is linear."""

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


@onnx_operator("SVMClassifier", domain=DOMAIN)
class SVMClassifier(SchemaAttributes):
    """The label that most pairs of classes vote for, and the scores: of every pair, or probabilities of every class."""

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
    against = [(parts[i], weights[j - 1, parts[i]], parts[j], weights[i, parts[j]]) for i, j in pairs]
    scores = [kernel[:, one] @ of_one + kernel[:, other] @ of_other for one, of_one, other, of_other in against]
    return np.stack(scores, axis=1) + np.asarray(rho[: len(pairs)])


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
        pairwise[:, i, j] = np.clip(_sigmoid(-(scores[:, number] * prob_a[number] + prob_b[number])), 1e-7, 1 - 1e-7)
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
