"""Gradient boosting on the logarithm of times relative to the best of each problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from tilewright.errors import TilewrightError
from tilewright.tune.rankers.ranker import Rows, State, Variant, by_problem, feature_rows

STAGES = 200


@dataclass(slots=True)
class Boosting:
    """Trees. They are made again from the variants that were learned from: the same variants and seed give the same trees."""

    seed: int = 0
    name: str = "boosting"
    uses_features: bool = True
    _learned: list[Variant] = field(default_factory=list, repr=False)
    _trees: Any = field(default=None, repr=False)

    def train(self, variants: Sequence[Variant]) -> None:
        """Learn how much slower than the best of its problem each variant is."""
        self._learned = list(variants)
        best = {name: min(variant.measured_s for variant in own) for name, own in by_problem(variants).items()}
        slower = np.log([variant.measured_s / best[variant.problem] for variant in variants])
        self._trees = HistGradientBoostingRegressor(max_iter=STAGES, random_state=self.seed).fit(_rows(variants), slower)

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """Least expected slowness first."""
        if self._trees is None:
            raise TilewrightError("this ranker has learned nothing", hint="call train or restore before order")
        expected = self._trees.predict(_rows(variants))
        return sorted(range(len(variants)), key=lambda at: float(expected[at]))

    def state(self) -> State:
        """The variants that were learned from."""
        return {"variants": [[v.problem, list(v.features), v.predicted_s, v.measured_s] for v in self._learned]}

    def restore(self, state: State) -> None:
        """Learn from the same variants."""
        self.train([Variant(name, tuple(features), *times) for name, features, *times in state["variants"]])


def _rows(variants: Sequence[Variant]) -> Rows:
    """Working sets as logarithms and as shares of all of them: problems differ in size."""
    sizes = feature_rows(variants)
    rows: Rows = np.hstack([np.log1p(sizes), sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)])
    return rows
