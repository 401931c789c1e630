"""Gradient boosting on the logarithm of times relative to the best of each problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from tilewright.tune.rankers.ranker import Learner, Rows, Variant, by_problem, feature_rows

STAGES = 200


class Boosting(Learner):
    """Trees that predict how much slower than the best of its problem each variant is."""

    name = "boosting"

    def _fit(self, variants: Sequence[Variant]) -> None:
        best = {name: min(variant.measured_s for variant in own) for name, own in by_problem(variants).items()}
        slower = np.log([variant.measured_s / best[variant.problem] for variant in variants])
        self._trees = HistGradientBoostingRegressor(max_iter=STAGES, random_state=self._seed).fit(_rows(variants), slower)

    def _order(self, variants: Sequence[Variant]) -> list[int]:
        """Least expected slowness first."""
        expected = self._trees.predict(_rows(variants))
        return sorted(range(len(variants)), key=lambda at: float(expected[at]))


def _rows(variants: Sequence[Variant]) -> Rows:
    """Working sets as logarithms and as shares of all of them: problems differ in size."""
    sizes = feature_rows(variants)
    rows: Rows = np.hstack([np.log1p(sizes), sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)])
    return rows
