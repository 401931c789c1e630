"""Rankers: a variant as they see it, what each can do, and those that learn nothing, by the planner's price and at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol, TypeAlias

import numpy as np

State = dict[str, Any]
"""What JSON can hold."""
Rows: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Variant:
    """One schedule of a problem."""

    problem: str
    features: tuple[float, ...]
    """Bytes of working sets by the fastest level that holds them, memory last: `tune.working_sets.features`."""
    predicted_s: float
    """The planner's price; infinite where it refuses the schedule."""
    measured_s: float = float("nan")
    """NaN where it was not measured."""


class Ranker(Protocol):
    """Learns from measured variants of some problems, and orders those of another problem."""

    @property
    def name(self) -> str:
        """In tables and files."""
        ...

    @property
    def uses_features(self) -> bool:
        """Whether variants need features: working sets take 10 ms a variant."""
        ...

    def train(self, variants: Sequence[Variant]) -> None:
        """Learn from measured variants. Rankers that learn nothing ignore them."""
        ...

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """The positions of variants of one problem, those expected to be fastest first. Deterministic."""
        ...

    def state(self) -> State:
        """What was learned."""
        ...

    def restore(self, state: State) -> None:
        """Take over what was learned."""
        ...


def kept(order: Sequence[int], share: float = 0.1) -> list[int]:
    """The first positions of an order; at least one. The paper keeps a tenth.

    >>> kept([3, 0, 2, 1], 0.5)
    [3, 0]
    """
    return list(order[: max(1, ceil(share * len(order)))])


def by_problem(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """Variants of each problem."""
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.problem, []).append(variant)
    return found


def feature_rows(variants: Sequence[Variant]) -> Rows:
    """One row per variant."""
    return np.array([variant.features for variant in variants], np.float64)


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
