"""Rankers that learn nothing: by the planner's price, at random, and by measurement itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.tune.rankers.ranker import State, Variant


class _Stateless:
    uses_features = False

    def train(self, variants: Sequence[Variant]) -> None:
        """Nothing to learn."""

    def state(self) -> State:
        """Nothing was learned."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing was learned."""


@dataclass(frozen=True, slots=True)
class ByPrice(_Stateless):
    """The calibrated analytical price.

    >>> ByPrice().order([Variant("p", (), 2.0), Variant("p", (), 1.0)])
    [1, 0]
    """

    name: str = "price"

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """Cheapest first."""
        return sorted(range(len(variants)), key=lambda at: variants[at].predicted_s)


@dataclass(frozen=True, slots=True)
class AtRandom(_Stateless):
    """Any order, the same for a seed."""

    seed: int = 0
    name: str = "random"

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """A permutation."""
        return random.Random(self.seed).sample(range(len(variants)), len(variants))


@dataclass(frozen=True, slots=True)
class ByMeasurement(_Stateless):
    """What measuring every variant finds: the bound of all rankers."""

    name: str = "exhaustive"

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """Fastest first."""
        return sorted(range(len(variants)), key=lambda at: variants[at].measured_s)
