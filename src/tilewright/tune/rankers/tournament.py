"""PolyDL's ranker: a network says which of two variants is faster, everyone plays everyone, wins are counted (section 3.2).

Features are scaled to between 0 and 1 over the variants that the ranker learns from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import MinMaxScaler
from torch import nn

from tilewright.tune.one_thread import one_thread
from tilewright.tune.rankers.ranker import Learner, Rows, Variant, by_problem, feature_rows

THRESHOLD = 0.7
"""An output above it says that its variant wins; where neither is, the game is a draw."""
WIDTHS = (64, 32, 16)
"""Neurons of the first three of four dense layers; the fourth has two."""
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
        rows = self._scaled(variants)
        times = np.array([variant.measured_s for variant in variants])
        labels = torch.from_numpy((times[right] < times[left]).astype(np.int64))
        with one_thread(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            self._network = _network(rows.shape[1])
            _fit(self._network, torch.cat([rows[left], rows[right]], dim=1), labels)

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
        """The network's first output for every ordered pair."""
        rows = self._scaled(variants)
        count = len(rows)
        pairs = torch.cat([rows.repeat_interleave(count, 0), rows.repeat(count, 1)], dim=1)
        with torch.no_grad():
            outputs = torch.softmax(self._network(pairs), dim=1)[:, 0]
        found: Rows = outputs.reshape(count, count).numpy().astype(np.float64)
        return found

    def _scaled(self, variants: Sequence[Variant]) -> torch.Tensor:
        """One row per variant, features between 0 and 1."""
        return torch.from_numpy(self._scaling.transform(feature_rows(variants)).astype(np.float32))


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


def _network(features: int) -> nn.Sequential:
    """Four dense layers from the features of two variants to two outputs, of which softmax makes chances."""
    widths = (2 * features, *WIDTHS)
    hidden = [layer for at in range(len(WIDTHS)) for layer in (nn.Linear(widths[at], widths[at + 1]), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(WIDTHS[-1], 2))


def _fit(network: nn.Sequential, pairs: torch.Tensor, labels: torch.Tensor) -> None:
    optimiser = torch.optim.Adam(network.parameters(), STEP)
    loss = nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(pairs)).split(BATCH):
            optimiser.zero_grad()
            loss(network(pairs[batch]), labels[batch]).backward()
            optimiser.step()
