"""PolyDL's ranker: a network says which of two variants is faster, everyone plays everyone, wins are counted (section 3.2).

Features are scaled to between 0 and 1 over the variants that the ranker learns from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler

from tilewright.errors import TilewrightError
from tilewright.tune.rankers.ranker import Learner, Rows, Variant, by_problem, feature_rows

THRESHOLD = 0.7
"""A chance above it says that its variant wins; where neither is, the game is a draw."""
WIDTHS = (64, 32, 16)
"""Neurons of the first three of four dense layers; the fourth has one, the chance that the first variant wins."""
PAIRS_PER_PROBLEM = 1000
EPOCHS = 40
BATCH = 256
STEP = 2e-3
ALIKE = 0.01
"""Pairs whose times differ by less teach nothing."""


class Tournament(Learner):
    """The network with what scales its features."""

    name = "network"

    def _fit(self, variants: Sequence[Variant]) -> None:
        """Learn from pairs of variants of the same problem."""
        self._scaling = MinMaxScaler().fit(feature_rows(variants))
        left, right = _pairs(variants, np.random.default_rng(self._seed))
        if not left.size:
            raise TilewrightError("the network ranker has no two plans of one chain to compare", hint="measure more of them")
        rows, times = self._scaled(variants), np.array([variant.measured_s for variant in variants])
        pairs, first_wins = np.hstack([rows[left], rows[right]]), times[left] < times[right]
        batch = min(BATCH, len(pairs))
        self._network = MLPClassifier(WIDTHS, alpha=0, batch_size=batch, learning_rate_init=STEP, random_state=self._seed)
        for _ in range(EPOCHS):
            self._network.partial_fit(pairs, first_wins, classes=[False, True])

    def _order(self, variants: Sequence[Variant]) -> list[int]:
        """By wins over all others, ties as they came."""
        wins = (self.games(variants) > 0).sum(axis=1)
        return sorted(range(len(variants)), key=lambda at: -int(wins[at]))

    def games(self, variants: Sequence[Variant]) -> Rows:
        """1 where the variant of the row beats that of the column, -1 where it loses, 0 for a draw.

        Both orders of a pair are asked and the outputs averaged, so that the result never depends on who comes first.
        """
        first = self._first_wins(variants)
        chance: Rows = (first + 1 - first.T) / 2
        return np.where(chance > THRESHOLD, 1.0, np.where(1 - chance > THRESHOLD, -1.0, 0.0))

    def _first_wins(self, variants: Sequence[Variant]) -> Rows:
        """The chance that the first variant wins, for every ordered pair."""
        rows = self._scaled(variants)
        count = len(rows)
        pairs = np.hstack([rows.repeat(count, axis=0), np.tile(rows, (count, 1))])
        found: Rows = self._network.predict_proba(pairs)[:, 1].reshape(count, count).astype(np.float64)
        return found

    def _scaled(self, variants: Sequence[Variant]) -> Any:
        """One row per variant, features between 0 and 1."""
        return self._scaling.transform(feature_rows(variants)).astype(np.float32)


def _pairs(variants: Sequence[Variant], source: np.random.Generator) -> tuple[Any, Any]:
    """Positions of both variants of some pairs of every problem, in both orders."""
    chosen = np.array(list(_all_pairs(variants, source)), np.int64).reshape(-1, 2)
    both = np.concatenate([chosen, chosen[:, ::-1]])
    return both[:, 0], both[:, 1]


def _all_pairs(variants: Sequence[Variant], source: np.random.Generator) -> Iterator[tuple[int, int]]:
    positions = {id(variant): at for at, variant in enumerate(variants)}
    for of_problem in by_problem(variants).values():
        found = [(positions[id(a)], positions[id(b)]) for a, b in combinations(of_problem, 2) if _differ(a, b)]
        picked = source.permutation(len(found))[:PAIRS_PER_PROBLEM]
        yield from (found[at] for at in picked)


def _differ(a: Variant, b: Variant) -> bool:
    return abs(a.measured_s - b.measured_s) > ALIKE * min(a.measured_s, b.measured_s)
